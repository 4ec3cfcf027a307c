"""The linear chain: best paths, sums over paths, and marginals."""

from collections.abc import Collection
from functools import cached_property
from itertools import pairwise
from math import log2

import numpy as np

from .._kernels._k_best import k_best
from .._kernels._paths import path_counts, path_scores
from .._kernels.sizes import check_number
from .._kernels.vectorized import viterbi
from ..data.ragged import longest_first
from .base import Pullback, Structure
from .conditional_scores import ConditionalScores
from .covariance import PathMeans, entropy
from .excluding import PathsExcluding
from .local import locally_normalised
from .marginals import TokenMarginals
from .messages import Messages, with_ends
from .pieces import Pieces
from .sampling import sample
from .scores import AddTo, ScoreGradient, Scores
from .span_margins import SpanMargins
from .spans import span_log_probability
from .sums import PathSums

__all__ = ["Chain"]


class Chain(Structure):
    """Linear chains of labels over the sequences of a batch.

    A chain has all capabilities. Each method is documented where it is declared, in
    :class:`~sklearn_crcrf.structures.Structure` or
    :class:`~sklearn_crcrf.structures.capabilities.Capabilities`; a labelling is called a path.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    >>> chain = Chain(np.array([0, 2]))
    >>> chain.maximum(scores)
    (array([2.]), array([0, 0], dtype=int32))
    >>> log_z, marginals = chain.marginals(scores)
    >>> np.round(marginals, 3)
    array([[0.684, 0.316],
           [0.483, 0.517]])
    """

    @cached_property
    def _longest_first(self) -> np.ndarray:
        return longest_first(self.offsets)

    def take(self, units: slice | np.ndarray) -> "Chain":
        if isinstance(units, slice):
            # The time must not depend on the other sequences: batches take a few out of millions.
            start, stop, _ = units.indices(self.n_units)
            return Chain(self.offsets[start : stop + 1] - self.offsets[start])
        lengths = self.offsets[units + 1] - self.offsets[units]
        return Chain(np.append(0, np.cumsum(lengths)))

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        current = np.delete(np.arange(self.n_tokens), self.offsets[:-1][np.diff(self.offsets) > 0])
        return current - 1, current

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        y = np.ascontiguousarray(y, dtype=np.int32)
        value = np.empty(self.n_units)
        path_scores(self.offsets, y, *scores[:4], *scores.token_transitions, value)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient = ScoreGradient.of(out, scores)
            path_counts(self.offsets, y, *scores.token_transitions, weight, *gradient)
            return gradient

        return value, pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        sums = PathSums(self.offsets, self._longest_first, scores)
        return sums.sum_forward(), sums.pullback

    def log_partition_and_gradient(
        self, scores: Scores, weight: np.ndarray, out: AddTo = None
    ) -> tuple[np.ndarray, ScoreGradient]:
        sums = PathSums(self.offsets, self._longest_first, scores)
        gradient = sums.counts(weight, out)
        return sums.log_z, gradient

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; of ties, the path with the lowest labels at its end."""
        y = np.zeros(len(scores.state), dtype=np.int32)
        value = np.empty(self.n_units)
        order = self._longest_first
        viterbi.viterbi(self.offsets, order, *scores[:4], *scores.token_transitions, None, y, value)
        return value, y

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        others = PathsExcluding(self.offsets, scores, y)
        value, path = self.maximum(others.scores)
        value[np.diff(self.offsets) == 0] = -np.inf
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, others.labels(path), y).astype(np.int32)

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.log_partition_excluding`.

        It is exact even where the given path outweighs all other paths so much that
        log(Z - exp(its score)) would be lost to rounding.
        """
        others = PathsExcluding(self.offsets, scores, y)
        value, pull_others = self.log_partition(others.scores)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return others.counts(pull_others(weight), out)

        return np.where(np.diff(self.offsets) == 0, -np.inf, value), pullback

    def conditional_scores(
        self, scores: Scores, y: np.ndarray, neighbours: Collection[int] = (-1, 1)
    ) -> tuple[np.ndarray, Pullback]:
        given = ConditionalScores(self.offsets, scores, y, neighbours)
        return given.scores, given.pullback

    def locally_normalised(self, scores: Scores) -> Scores:
        return locally_normalised(self.offsets, scores)

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        return Pieces(self.offsets, scores, with_tokens, Chain)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        marginals = TokenMarginals(self.offsets, self._longest_first, scores)
        return marginals.value, marginals.pullback

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        v_state = with_ends(self.offsets, direction)
        messages = Messages(self.offsets, scores)
        means = PathMeans(messages, v_state, direction.transition, direction.token_transitions)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return means.pullback(weight, ScoreGradient.of(out, scores))

        return means.mean, pullback

    def entropy(self, scores: Scores) -> np.ndarray:
        """As :meth:`Capabilities.entropy` (Hernando et al. 2005)."""
        return entropy(self.offsets, scores)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        scores = scores.tokens(slice(None))
        transposed = np.ascontiguousarray(scores.transition.T)
        return [self._k_best(scores, transposed, a, b, k) for a, b in pairwise(self.offsets)]

    @staticmethod
    def _k_best(scores: Scores, transposed: np.ndarray, start: int, stop: int, k: int):
        n_labels, length = len(transposed), int(stop - start)
        if length * log2(n_labels) < log2(k):
            k = n_labels**length
        check_number(length * n_labels * k, f"steps of the {k} best paths of {length} tokens")
        y = np.zeros((k, length), dtype=np.int32)
        value = np.full(k, -np.inf)
        if start == stop:
            value[0] = 0.0
        else:
            edges = scores.token_transitions._replace(row=scores.token_transitions.row[start:stop])
            k_best(scores.state[start:stop], transposed, *scores[2:4], *edges, y, value)
        possible = value > -np.inf
        return value[possible], y[possible]

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        return sample(self.offsets, scores, n_samples, rng)

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        spans = start, stop, labels, following, preceding
        return span_log_probability(self.offsets, scores, *spans)

    def span_margin(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Pullback]:
        spans = start, stop, labels, following, preceding
        margins = SpanMargins(self.offsets, scores, *spans)
        return margins.value, margins.pullback
