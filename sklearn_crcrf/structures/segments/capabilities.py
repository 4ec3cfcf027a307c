"""What chains of segments compute through a chain whose labels are positions in segments."""

from functools import cached_property

import numpy as np

from ..scores import AddTo, Pullback, ScoreGradient, Scores
from ..spans import check_spans
from .positions import Positions, PositionStates
from .structure import SegmentStructure

__all__ = ["PositionCapabilities"]


class PositionCapabilities(SegmentStructure):
    """The capabilities of :class:`SemiMarkovChain` that have no recursion of their own."""

    @cached_property
    def states(self) -> PositionStates:
        """The labels of the chain of positions."""
        return PositionStates(self)

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        positions = Positions(self, self.states, scores)
        value, paths = self.chain.best_excluding(positions.scores, self.states.paths(self, y))
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, positions.labels(paths), y).astype(np.int32)

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        positions = Positions(self, self.states, scores)
        paths = self.states.paths(self, y)
        value, pullback = self.chain.log_partition_excluding(positions.scores, paths)
        return value, positions.pulled(pullback)

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        positions = Positions(self, self.states, scores)
        mean, pullback = self.chain.covariance(positions.scores, positions.along(direction))
        return mean, positions.pulled(pullback)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        positions = Positions(self, self.states, scores)
        value, pull_states = self.chain.token_marginals(positions.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_states = np.take(np.asarray(weight, dtype=float), self.states.label, axis=1)
            return positions.pulled(pull_states)(of_states, out)

        return positions.of_labels(value), pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        return self.chain.entropy(Positions(self, self.states, scores).scores)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        positions = Positions(self, self.states, scores)
        found = self.chain.k_best(positions.scores, k)
        return [(values, positions.labels(paths)) for values, paths in found]

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        positions = Positions(self, self.states, scores)
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
        positions = Positions(self, self.states, scores)
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
        pieces = type(self)(bounds, self.roles, self.max_length)
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
        positions = Positions(self, self.states, scores)
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
