"""Semi-Markov chains: chains of segments, which have scores of their own."""

from functools import cached_property

import numpy as np

from ..._kernels.chain.scores import BatchCounts, BatchScores
from ..._kernels.segments import sums as kernels
from ..._kernels.segments.batch import BatchSegments, segment_maxima
from ...data.ragged import joined_ranges
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from ..spans import HasSpans, check_spans
from .costs import SegmentCosts
from .positions import Positions, PositionStates
from .structure import SegmentStructure

# Tokens times the longest length of the chains that probabilities of segments are found in.
STEPS = 2**22


class SemiMarkovChain(HasSpans, SegmentStructure):
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
        unit = self.units_of(start)
        value = value + np.bincount(unit, of_segments, self.n_units)
        value[self.units_of(np.flatnonzero(~self.is_segmentation(y)))] = -np.inf

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

    def _part(
        self, units: np.ndarray, scores: Scores
    ) -> tuple["SemiMarkovChain", Scores, np.ndarray, np.ndarray]:
        """Return some of the sequences, with their scores, tokens and spans."""
        tokens = joined_ranges(self.offsets[units], np.diff(self.offsets)[units])
        spans = joined_ranges(self.spans.indptr[tokens], np.diff(self.spans.indptr)[tokens])
        given = scores.tokens(tokens)
        if given.own.size:
            by_length, by_span = self.layout.split(given.own)
            given = given._replace(own=self.layout.join(by_length, by_span[spans]))
        return self.take(units), given, tokens, spans

    def _add_again(
        self, units: np.ndarray, scores: Scores, weight: np.ndarray, out: ScoreGradient
    ) -> np.ndarray:
        """Return log-partitions in logarithms; add their counts to a score gradient."""
        structure, given, tokens, spans = self._part(units, scores)
        positions = structure.positions(given)
        log_z, pullback = structure.chain.log_partition(positions.scores)
        found = positions.pulled(pullback)(np.asarray(weight, dtype=float)[units])
        np.add.at(out.state, tokens, found.state)
        for total, part in zip(out[1:5], found[1:5], strict=True):
            total += part
        if out.own.size:
            of_lengths, of_spans = self.layout.split(out.own)
            more_lengths, more_spans = structure.layout.split(found.own)
            of_lengths += more_lengths
            of_spans[spans] += more_spans
        return log_z

    @cached_property
    def states(self) -> PositionStates:
        """The labels of the chain of positions."""
        return PositionStates(self)

    def positions(self, scores: Scores) -> Positions:
        """Return the scores of the chain of positions."""
        return Positions(self, self.states, scores)

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        positions = self.positions(scores)
        value, paths = self.chain.best_excluding(positions.scores, self.states.paths(self, y))
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, positions.labels(paths), y).astype(np.int32)

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        positions = self.positions(scores)
        paths = self.states.paths(self, y)
        value, pullback = self.chain.log_partition_excluding(positions.scores, paths)
        return value, positions.pulled(pullback)

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        positions = self.positions(scores)
        mean, pullback = self.chain.covariance(positions.scores, positions.along(direction))
        return mean, positions.pulled(pullback)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        positions = self.positions(scores)
        value, pull_states = self.chain.token_marginals(positions.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_states = np.take(np.asarray(weight, dtype=float), self.states.label, axis=1)
            return positions.pulled(pull_states)(of_states, out)

        return positions.of_labels(value), pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        return self.chain.entropy(self.positions(scores).scores)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        positions = self.positions(scores)
        found = self.chain.k_best(positions.scores, k)
        return [(values, positions.labels(paths)) for values, paths in found]

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        positions = self.positions(scores)
        return positions.labels(self.chain.sample(positions.scores, n_samples, rng))

    def part(self, units: np.ndarray, scores: Scores) -> tuple["SemiMarkovChain", Scores]:
        return self._part(units, scores)[:2]

    def long_log_probability(
        self, scores: Scores, start: np.ndarray, stop: np.ndarray, labels: np.ndarray, *neighbours
    ) -> np.ndarray:
        """As ``HasSpans.long_log_probability``; -inf also for probabilities that underflow.

        Segments become spans, whose expected number is their probability, in a chain whose longest
        length is theirs. Segments that are too long for that, other runs of tokens, and neighbours
        of other labels than those that decide where a segment ends, are summed over one by one.
        """
        value, most = np.empty(len(start)), max(self.max_length, STEPS // self.n_tokens)
        bounds = np.append(0, np.cumsum(stop - start))
        pieces = type(self)(bounds, self.roles, self.max_length)
        kind = self.roles.kind[labels[bounds[:-1]]]
        alone = (stop - start <= most) & (kind >= 0)
        alone &= np.add.reduceat(pieces.cuts(labels)[:-1], bounds[:-1]) == 1
        alone &= np.logical_and.reduceat(pieces.is_segmentation(labels), bounds[:-1])
        alone &= ~self._may_go_on(start, stop, labels, bounds, *neighbours)
        for allowed, can_be in zip(
            neighbours, (self.roles.begins(), self.roles.ends()), strict=True
        ):
            if allowed is not None:
                alone &= (allowed | ~can_be).all(axis=1)
        if not alone.all():
            value[~alone] = self._by_sums(
                scores,
                start[~alone],
                stop[~alone],
                labels[np.repeat(~alone, stop - start)],
                *(allowed if allowed is None else allowed[~alone] for allowed in neighbours),
            )
        numbers, own = np.unique(self.units_of(start[alone]), return_inverse=True)
        part, scores = self.part(numbers, scores)
        moved = part.offsets[own] - self.offsets[numbers][own]
        first, end = start[alone] + moved, stop[alone] + moved
        spans = part.spans.with_spans(first, end)
        longest = max(self.max_length, int((end - first).max(initial=0)))
        structure = type(self)(part.offsets, self.roles, longest, spans)
        by_length, by_span = part.layout.split(scores.own)
        # Longer segments have one common score, now for each length.
        same = np.minimum(np.arange(longest + 1), self.max_length)
        every = np.zeros((len(spans.length), by_span.shape[1]))
        last = part.spans.last_tokens() + 1
        every[spans.find(last - part.spans.length, last)] = by_span
        scores = scores._replace(own=structure.layout.join(by_length[:, same], every))
        log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(part.n_units))
        probability = structure.layout.split(gradient.own)[1][spans.find(first, end), kind[alone]]
        with np.errstate(divide="ignore"):
            value[alone] = np.log(np.minimum(probability, 1.0))
        value[alone] += np.where(np.isneginf(log_z), np.nan, 0.0)[own]
        return value

    def _may_go_on(
        self,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        bounds: np.ndarray,
        following: np.ndarray | None,
        preceding: np.ndarray | None,
    ) -> np.ndarray:
        """Say which runs of tokens, with the labels from ``bounds`` on, may be parts of a segment.

        Their first or last segment then goes on in a neighbour that is allowed.
        """
        unit, continues = self.units_of(start), self.roles.continues()
        before, after = continues.T[labels[bounds[:-1]]], continues[labels[bounds[1:] - 1]]
        for allowed, neighbours in ((preceding, before), (following, after)):
            if allowed is not None:
                neighbours &= np.broadcast_to(allowed, neighbours.shape)
        goes_on = (start > self.offsets[unit]) & before.any(axis=1)
        return goes_on | (stop < self.offsets[unit + 1]) & after.any(axis=1)

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
        check_spans(self.offsets, start, stop, path, scores.state.shape[1])
        bounds = np.append(0, np.cumsum(stop - start))
        pieces = type(self)(bounds, self.roles, self.max_length)
        wrong = self._may_go_on(start, stop, path, bounds, following, preceding)
        wrong |= np.logical_or.reduceat(~pieces.is_segmentation(path), bounds[:-1])
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"span {i}, from {start[i]} to {stop[i]}, may be a part of a segment; the margins "
                f"of {self.title} are of whole segments"
            )
        positions = self.positions(scores)
        spans = start, stop, self.states.paths(pieces, path)
        shape = len(start), len(self.roles.kind)
        given = [
            None
            if allowed is None
            else np.take(np.broadcast_to(allowed, shape), self.states.label, axis=1)
            for allowed in (following, preceding)
        ]
        value, pullback = self.chain.span_margin(positions.scores, *spans, *given)
        return value, positions.pulled(pullback)
