"""Semi-Markov chains: chains of segments, which have scores of their own."""

from functools import cached_property

import numpy as np

from .._kernels._batch_scores import BatchCounts, BatchScores
from .._kernels._segment_maxima import segment_maxima
from .._kernels._segments import BatchSegments
from .._kernels.vectorized import segments as kernels
from ..data.ragged import joined_ranges
from ..segments.roles import Roles
from .base import Pullback, Structure
from .chain import Chain
from .scores import AddTo, ScoreGradient, Scores
from .segment_costs import SegmentCosts
from .segment_positions import Positions, PositionStates
from .segment_spans import SegmentLayout, Spans
from .spans import check_spans

__all__ = ["SemiMarkovChain"]


class SemiMarkovChain(Structure):
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
    >>> from sklearn_crcrf.segments import roles_of
    >>> from sklearn_crcrf.structures import Scores, SemiMarkovChain
    >>> chain = SemiMarkovChain(np.array([0, 3]), roles_of(["B-X", "I-X", "O"], "IOB2"), 2)
    >>> scores = Scores.of(np.zeros((3, 3)), np.zeros((3, 3)))
    >>> np.exp(chain.log_partition(scores)[0]).round()  # the segmentations of three tokens
    array([13.])
    >>> of_length_two = scores._replace(own=np.array([0.0, 1.0, 0.0]))
    >>> chain.maximum(of_length_two)
    (array([1.]), array([0, 1, 0], dtype=int32))
    """

    own_scores = True

    def __init__(
        self, offsets: np.ndarray, roles: Roles, max_length: int, spans: Spans | None = None
    ):
        super().__init__(offsets)
        self.roles, self.max_length = roles, max_length
        self.spans = Spans.none(self.n_tokens) if spans is None else spans
        self.chain = Chain(self.offsets)

    @property
    def layout(self) -> SegmentLayout:
        """Where the scores of segments are in ``Scores.own``."""
        return SegmentLayout(len(self.roles.types), self.max_length + 1, len(self.spans.length))

    @cached_property
    def states(self) -> PositionStates:
        """The labels of the chain of positions."""
        return PositionStates(self)

    def take(self, units: slice | np.ndarray) -> "SemiMarkovChain":
        offsets = self.chain.take(units).offsets
        if isinstance(units, slice):
            start, stop, _ = units.indices(self.n_units)
            spans = self.spans.between(self.offsets[start], self.offsets[stop])
        else:
            starts = self.offsets[units]
            spans = self.spans.take(starts, self.offsets[units + 1] - starts)
        return SemiMarkovChain(offsets, self.roles, self.max_length, spans)

    def with_spans(self, spans: Spans) -> "SemiMarkovChain":
        """The same sequences, with scores of other spans."""
        return SemiMarkovChain(self.offsets, self.roles, self.max_length, spans)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self.chain.links()

    def cuts(self, y: np.ndarray) -> np.ndarray:
        """Whether a segment, or a token between segments, ends before each token.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,)
            Label ids.

        Returns
        -------
        bool ndarray of shape (n_tokens + 1,)
        """
        cuts = np.ones(len(y) + 1, dtype=bool)
        cuts[1:-1] = ~self.roles.continues()[y[:-1], y[1:]]
        cuts[self.offsets] = True
        return cuts

    def is_segmentation(self, y: np.ndarray) -> np.ndarray:
        """Whether the label of each token fits its place in the labelling of a sequence."""
        cuts = self.cuts(y)
        begins, ends = self.roles.begins()[y], self.roles.ends()[y]
        return (begins | ~cuts[:-1]) & (ends | ~cuts[1:])

    def segments(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The segments of labellings.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,)
            Label ids.

        Returns
        -------
        start, stop, kind, span : ndarray of shape (n_segments,)
            Each segment has the tokens from ``start`` to ``stop - 1`` and the type number
            ``kind``; ``span`` is its number among the spans, -1 for none.
        """
        cuts = np.flatnonzero(self.cuts(y))
        start, stop = cuts[:-1], cuts[1:]
        kind = self.roles.kind[y[start]]
        start, stop, kind = start[kind >= 0], stop[kind >= 0], kind[kind >= 0]
        return start, stop, kind, self.spans.find(start, stop)

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
        order = order[(lengths > 0)[order] & ~self._with_token_transitions(scores)[order]]
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
        if self._with_token_transitions(scores).any():
            positions = Positions(self, scores)
            value, paths = self.chain.maximum(positions.scores)
            return value, positions.labels(paths)
        value, y = np.empty(self.n_units), np.empty(self.n_tokens, dtype=np.int32)
        segments = BatchSegments(self.roles, self.spans, *self.layout.split(scores.own))
        segment_maxima(BatchScores(self.offsets, scores), segments, scores.state, y, value)
        return value, y

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        positions = Positions(self, scores)
        value, paths = self.chain.best_excluding(positions.scores, self.states.paths(self, y))
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, positions.labels(paths), y).astype(np.int32)

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        positions = Positions(self, scores)
        paths = self.states.paths(self, y)
        value, pullback = self.chain.log_partition_excluding(positions.scores, paths)
        return value, positions.pulled(pullback)

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        positions = Positions(self, scores)
        mean, pullback = self.chain.covariance(positions.scores, positions.along(direction))
        return mean, positions.pulled(pullback)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        positions = Positions(self, scores)
        value, pull_states = self.chain.token_marginals(positions.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_states = np.take(np.asarray(weight, dtype=float), self.states.label, axis=1)
            return positions.pulled(pull_states)(of_states, out)

        return positions.of_labels(value), pullback

    def segment_costs(self, scores: Scores, y: np.ndarray, cost: float) -> SegmentCosts:
        return SegmentCosts(self, scores, y, cost)

    def entropy(self, scores: Scores) -> np.ndarray:
        return self.chain.entropy(Positions(self, scores).scores)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        positions = Positions(self, scores)
        found = self.chain.k_best(positions.scores, k)
        return [(values, positions.labels(paths)) for values, paths in found]

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        positions = Positions(self, scores)
        return positions.labels(self.chain.sample(positions.scores, n_samples, rng))

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        """As :meth:`Capabilities.span_log_probability`.

        A span of labels becomes a span of positions for each position at which it can begin, and
        for both ways to go on after it.
        """
        start, stop, path = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
        check_spans(self.offsets, start, stop, path, scores.state.shape[1])
        if len(start) == 0:
            return np.empty(0)
        positions = Positions(self, scores)
        ways = self.states.ways(self, stop - start, path)
        n = len(ways)
        given = [
            None if allowed is None else np.tile(self._of_states(allowed, len(start)), (n, 1))
            for allowed in (following, preceding)
        ]
        spans = np.tile(start, n), np.tile(stop, n), np.maximum(ways, 0).ravel()
        value = self.chain.span_log_probability(positions.scores, *spans, *given)
        begins = np.cumsum(stop - start) - (stop - start)
        possible = np.logical_and.reduceat(ways >= 0, begins, axis=1)
        value = value.reshape(n, -1)
        total = np.logaddexp.reduce(np.where(possible | np.isnan(value), value, -np.inf), axis=0)
        return np.minimum(total, 0.0)

    def span_margin(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.span_margin`, of spans that consist of whole segments.

        Raises
        ------
        ValueError
            Also if segments could begin before a span or end after it, as far as its labels and
            the allowed neighbours say.
        """
        start, stop, path = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
        sequence = check_spans(self.offsets, start, stop, path, scores.state.shape[1])
        n_spans, bounds = len(start), np.append(0, np.cumsum(stop - start))
        pieces = SemiMarkovChain(bounds, self.roles, self.max_length)
        continues = self.roles.continues()
        before, after = continues.T[path[bounds[:-1]]], continues[path[bounds[1:] - 1]]
        for allowed, neighbours in ((preceding, before), (following, after)):
            if allowed is not None:
                neighbours &= np.broadcast_to(allowed, neighbours.shape)
        wrong = (start > self.offsets[sequence]) & before.any(axis=1)
        wrong |= (stop < self.offsets[sequence + 1]) & after.any(axis=1)
        wrong |= np.logical_or.reduceat(~pieces.is_segmentation(path), bounds[:-1])
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"span {i}, from {start[i]} to {stop[i]}, may be a part of a segment; the margins "
                f"of {self.title} are of whole segments"
            )
        positions = Positions(self, scores)
        spans = start, stop, self.states.paths(pieces, path)
        given = [
            None if allowed is None else self._of_states(allowed, n_spans)
            for allowed in (following, preceding)
        ]
        value, pullback = self.chain.span_margin(positions.scores, *spans, *given)
        return value, positions.pulled(pullback)

    def _of_states(self, allowed: np.ndarray, n_spans: int) -> np.ndarray:
        """Which states are allowed, given which labels are; of shape (n_spans, n_states)."""
        allowed = np.broadcast_to(allowed, (n_spans, len(self.roles.kind)))
        return np.take(allowed, self.states.label, axis=1)

    def _with_token_transitions(self, scores: Scores) -> np.ndarray:
        """Which sequences have tokens with transition scores of their own."""
        tokens = np.flatnonzero(scores.token_transitions.row >= 0)
        found = np.zeros(self.n_units, dtype=bool)
        found[np.searchsorted(self.offsets, tokens, side="right") - 1] = True
        return found

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
            positions = Positions(structure, given)
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
