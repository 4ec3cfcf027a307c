"""A semi-Markov chain in which segments that are not gold have a cost."""

import numpy as np

from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .structure import SegmentStructure, Spans


class SegmentCosts:
    """A chain in which each segment that is not gold has a cost.

    The cost is part of the scores of lengths, and is taken back in the scores of gold spans.
    Segments longer than the ``max_length`` of the chain have no scores of their own, and no cost.

    Parameters
    ----------
    structure : SegmentStructure
    scores : Scores
    y : ndarray of shape (n_tokens,)
        The gold labels.
    cost : float

    Attributes
    ----------
    structure : SegmentStructure
        The spans, and the gold segments that are no spans.
    scores : Scores

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.labels import roles_of
    >>> from sklearn_crcrf.structures import Scores, SegmentCosts, SemiMarkovChain
    >>> chain = SemiMarkovChain(np.array([0, 1]), roles_of(["B-X", "O"], "IOB2"), 2)
    >>> scores, gold = Scores.of(np.zeros((1, 2)), np.zeros((2, 2))), np.array([1])
    >>> costs = SegmentCosts(chain, scores, gold, np.log(3.0))
    >>> np.exp(costs.structure.log_partition(costs.scores)[0])  # one "O", and one segment
    array([4.])
    """

    def __init__(self, structure: SegmentStructure, scores: Scores, y: np.ndarray, cost: float):
        self._given, self._layout = scores, structure.layout
        start, stop, kind, _ = structure.segments(np.asarray(y, dtype=np.int64))
        short = stop - start <= structure.max_length
        start, stop, kind = start[short], stop[short], kind[short]
        longest = structure.max_length + 1
        spans = structure.spans.last_tokens() * longest + structure.spans.length
        gold = (stop - 1) * longest + stop - start
        every = np.union1d(spans, gold)
        self._place = np.searchsorted(every, spans)
        last, length = np.divmod(every, longest)
        indptr = np.append(0, np.cumsum(np.bincount(last, minlength=structure.n_tokens)))
        self.structure = structure.with_spans(Spans(indptr, length.astype(np.int32)))
        own = self._widened(scores.own)
        by_length, by_span = self.structure.layout.split(own)
        by_length[:, :-1] += cost
        by_span[np.searchsorted(every, gold), kind] -= cost
        self.scores = scores._replace(own=own)

    def along(self, direction: ScoreGradient) -> ScoreGradient:
        """Return the direction in which the scores of this chain move."""
        return direction._replace(own=self._widened(direction.own))

    def pulled(self, pullback: Pullback) -> Pullback:
        """Return the pullback to the given scores, of a pullback to the scores of this chain."""

        def pull(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            adds = isinstance(out, ScoreGradient)
            return self.restored(pullback(weight, None if adds else out), out)

        return pull

    def restored(self, gradient: ScoreGradient, out: AddTo = None) -> ScoreGradient:
        """Return derivatives by the given scores, added to ``out`` if it is a score gradient."""
        own = self._given.own
        if own.size:
            by_length, by_span = self.structure.layout.split(gradient.own)
            own = self._layout.join(by_length, by_span[self._place])
        found = gradient._replace(own=own)
        if not isinstance(out, ScoreGradient):
            return found
        for total, part in zip(out, found, strict=True):
            total += part
        return out

    def _widened(self, own: np.ndarray) -> np.ndarray:
        """Return scores of segments, with zeros for the spans that were added."""
        by_length, by_span = self._layout.split(own)
        more = np.zeros((len(self.structure.spans.length), by_span.shape[1]))
        more[self._place] = by_span
        return self._layout.join(by_length, more)
