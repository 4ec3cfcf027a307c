"""Semi-Markov chains: chains of segments, which have scores of their own."""

import numpy as np

from ..._kernels.chain.scores import BatchCounts, BatchScores
from ..._kernels.segments import sums as kernels
from ..._kernels.segments.batch import BatchSegments, segment_maxima
from ...data.ragged import joined_ranges
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .capabilities import PositionCapabilities
from .costs import SegmentCosts
from .positions import Positions

__all__ = ["SemiMarkovChain"]


class SemiMarkovChain(PositionCapabilities):
    """Sequences of segments, each with a score besides the scores of its labels [1]_.

    A labelling in the scheme IOB2 or IOBES spells one segmentation, and its score is the score of a
    :class:`Chain` plus, for each segment, the score of its type and length, and of its type and
    tokens if these are one of the ``spans``. Segments longer than ``max_length`` have one common
    score of their length for each type, so that no segment is too long. Labellings that spell no
    segmentation are impossible.

    The scores of segments are in ``Scores.own``, in the order of ``layout``.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    roles : Roles
        Which labels begin, continue and end segments.
    max_length : int
        The longest length that has a score of its own.
    spans : Spans, optional
        Runs of at most ``max_length`` tokens.

    References
    ----------
    .. [1] Sarawagi, Cohen, "Semi-Markov Conditional Random Fields for Information Extraction",
       NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.labels import roles_of
    >>> from sklearn_crcrf.structures import Scores, SemiMarkovChain
    >>> chain = SemiMarkovChain(np.array([0, 3]), roles_of(["B-X", "I-X", "O"], "IOB2"), 2)
    >>> scores = Scores.of(np.zeros((3, 3)), np.zeros((3, 3)))
    >>> np.exp(chain.log_partition(scores)[0]).round()  # the segmentations of three tokens
    array([13.])
    >>> of_length_two = scores._replace(own=np.array([0.0, 1.0, 0.0]))
    >>> chain.maximum(of_length_two)
    (array([1.]), array([0, 1, 0], dtype=int32))
    """

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        y = np.asarray(y, dtype=np.int64)
        value, pull_chain = self.chain.score(scores, y)
        start, stop, kind, span = self.segments(y)
        length = np.minimum(stop - start, self.max_length + 1) - 1
        has_span = span >= 0
        by_length, by_span = self.layout.split(scores.own)
        of_segments = by_length[kind, length]
        of_segments[has_span] += by_span[span[has_span], kind[has_span]]
        unit = np.searchsorted(self.offsets, start, side="right") - 1
        value = value + np.bincount(unit, of_segments, self.n_units)
        wrong = np.flatnonzero(~self.is_segmentation(y))
        value[np.searchsorted(self.offsets, wrong, side="right") - 1] = -np.inf

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = pull_chain(weight, out)
            if gradient.own.size:
                of_lengths, of_spans = self.layout.split(gradient.own)
                weight = np.asarray(weight)[unit]
                np.add.at(of_lengths, (kind, length), weight)
                np.add.at(of_spans, (span[has_span], kind[has_span]), weight[has_span])
            return gradient

        return value, pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        value, _ = self.log_partition_and_gradient(scores, np.zeros(self.n_units))

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return self.log_partition_and_gradient(scores, weight, out)[1]

        return value, pullback

    def log_partition_and_gradient(
        self, scores: Scores, weight: np.ndarray, out: AddTo = None
    ) -> tuple[np.ndarray, ScoreGradient]:
        gradient = ScoreGradient.of(out, scores)
        lengths, order = np.diff(self.offsets), self.chain.longest_first
        log_z = np.where(lengths > 0, np.nan, 0.0)
        order = order[(lengths > 0)[order]]
        by_length, by_span = self.layout.split(scores.own)
        of_lengths, of_spans = np.zeros(by_length.shape), np.zeros(by_span.shape)
        with np.errstate(over="ignore"):
            factors = np.exp(by_length), np.exp(by_span)
        kernels.segment_sums(
            BatchScores(self.offsets, scores),
            BatchSegments(self.roles, self.spans, *factors),
            order,
            scores.state,
            np.asarray(weight, dtype=float),
            log_z,
            gradient.state,
            BatchCounts(gradient),
            of_lengths,
            of_spans,
        )
        if gradient.own.size:
            gradient.own[:] += self.layout.join(of_lengths, of_spans)
        inexact = np.flatnonzero(np.isnan(log_z))
        if len(inexact):
            log_z[inexact] = self._add_again(inexact, scores, weight, gradient)
        return log_z, gradient

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        value, y = np.empty(self.n_units), np.empty(self.n_tokens, dtype=np.int32)
        segments = BatchSegments(self.roles, self.spans, *self.layout.split(scores.own))
        segment_maxima(BatchScores(self.offsets, scores), segments, scores.state, y, value)
        return value, y

    def segment_costs(self, scores: Scores, y: np.ndarray, cost: float) -> SegmentCosts:
        return SegmentCosts(self, scores, y, cost)

    def _add_again(
        self, units: np.ndarray, scores: Scores, weight: np.ndarray, out: ScoreGradient
    ) -> np.ndarray:
        """The log-partitions of some sequences, whose counts are added to a score gradient.

        In double precision after single precision, and then in logarithms.
        """
        structure, lengths = self.take(units), np.diff(self.offsets)[units]
        tokens = joined_ranges(self.offsets[units], lengths)
        spans = joined_ranges(self.spans.indptr[tokens], np.diff(self.spans.indptr)[tokens])
        own = scores.own
        if own.size:
            by_length, by_span = self.layout.split(own)
            own = self.layout.join(by_length, by_span[spans])
        given, weight = scores.tokens(tokens)._replace(own=own), np.asarray(weight, float)[units]
        if given.state.dtype == np.float32:
            given = given._replace(state=given.state.astype(float))
            log_z, found = structure.log_partition_and_gradient(given, weight)
        else:
            positions = Positions(structure, structure.states, given)
            log_z, pullback = structure.chain.log_partition(positions.scores)
            found = positions.pulled(pullback)(weight)
        np.add.at(out.state, tokens, found.state)
        for total, part in zip(out[1:5], found[1:5], strict=True):
            total += part
        if out.own.size:
            of_lengths, of_spans = self.layout.split(out.own)
            more_lengths, more_spans = structure.layout.split(found.own)
            of_lengths += more_lengths
            of_spans[spans] += more_spans
        return log_z
