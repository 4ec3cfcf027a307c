"""A chain whose scores reach back two labels, over the likeliest labels of each token."""

from collections.abc import Callable

import numpy as np

from ..data.ragged import joined_ranges
from .chain import Chain
from .scores import Scores, TokenTransitions
from .spans import check_spans, transition_scores

__all__ = ["SecondOrderChain"]


class SecondOrderChain:
    """Linear chains in which the score of a label depends on the two labels before it.

    Only the labels with the best state scores of each token are considered. A pair of them,
    (previous, current), is one label of a first-order chain in which (i, j) can only be followed
    by some (j, k), so every recursion is that of :class:`Chain`.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    trigram_score : callable
        Takes label ids i, j, k of shape (n,) and returns what is added where they follow each
        other.
    n_candidates : int
        Number of labels considered per token.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Scores, SecondOrderChain
    >>> def alternating(i, j, k):
    ...     return np.where((i == k) & (i != j), 1.0, 0.0)
    >>> chain = SecondOrderChain(np.array([0, 4]), alternating, 2)
    >>> chain.maximum(Scores.of(np.array([[0.1, 0.0]] * 4), np.zeros((2, 2))))
    (array([2.2]), array([0, 1, 0, 1], dtype=int32))
    """

    def __init__(
        self,
        offsets: np.ndarray,
        trigram_score: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        n_candidates: int,
    ):
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self._trigram_score = trigram_score
        self._n_candidates = n_candidates

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Chain.maximum`."""
        labels, pairs = self._expand(scores)
        value, y = Chain(self.offsets).maximum(pairs)
        return value, self._current(labels, y)

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Chain.marginals`; labels that were not considered have probability 0."""
        labels, pairs = self._expand(scores)
        log_z, of_pairs = Chain(self.offsets).marginals(pairs)
        n = labels.shape[1]
        marginals = np.zeros(scores.state.shape)
        of_labels = of_pairs.reshape(-1, n, n).sum(axis=1)
        np.put_along_axis(marginals, labels, of_labels, axis=1)
        return log_z, marginals

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """As :meth:`Chain.k_best`."""
        labels, pairs = self._expand(scores)
        found = Chain(self.offsets).k_best(pairs, k)
        return [
            (values, labels[np.arange(a, b), paths % labels.shape[1]].astype(np.int32))
            for (values, paths), a, b in zip(
                found, self.offsets[:-1], self.offsets[1:], strict=True
            )
        ]

    def entropy(self, scores: Scores) -> np.ndarray:
        """As :meth:`Chain.entropy`."""
        return Chain(self.offsets).entropy(self._expand(scores)[1])

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        """As :meth:`Chain.sample`."""
        labels, pairs = self._expand(scores)
        return self._current(labels, Chain(self.offsets).sample(pairs, n_samples, rng))

    def span_log_probability(
        self,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        """As :meth:`Chain.span_log_probability`; -inf for labels that were not considered.

        A span of labels is as many spans of pairs as there are labels that can precede it.
        """
        start, stop, path = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
        check_spans(self.offsets, start, stop, path, scores.state.shape[1])
        if len(start) == 0:
            return np.empty(0)
        considered, pairs = self._expand(scores)
        n, begins = considered.shape[1], np.cumsum(stop - start) - (stop - start)
        is_label = considered[joined_ranges(start, stop - start)] == path[:, None]
        current = is_label.argmax(axis=1)
        previous = np.tile(np.roll(current, 1), (n, 1))
        previous[:, begins] = np.arange(n)[:, None]
        if following is not None:
            allowed = np.broadcast_to(following, (len(start), scores.state.shape[1]))
            after = considered[np.minimum(stop, len(considered) - 1)]
            following = np.tile(np.take_along_axis(allowed, after, axis=1), (n, n))
        value = Chain(self.offsets).span_log_probability(
            pairs, np.tile(start, n), np.tile(stop, n), (previous * n + current).ravel(), following
        )
        value = value.reshape(n, -1)
        if preceding is not None:
            allowed = np.broadcast_to(preceding, (len(start), scores.state.shape[1]))
            before = np.take_along_axis(allowed, considered[np.maximum(start - 1, 0)], axis=1)
            is_first = np.isin(start, self.offsets)
            value = np.where((before | is_first[:, None]).T | np.isnan(value), value, -np.inf)
        possible = np.logical_and.reduceat(is_label.any(axis=1), begins)
        total = np.logaddexp.reduce(value, axis=0)
        return np.where(possible | np.isnan(total), np.minimum(total, 0.0), -np.inf)

    @staticmethod
    def _current(labels: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """The labels of the later of two tokens; pairs of shape (..., n_tokens)."""
        return labels[np.arange(len(labels)), pairs % labels.shape[1]].astype(np.int32)

    def _expand(self, scores: Scores) -> tuple[np.ndarray, Scores]:
        """The labels considered (n_tokens, n), and the scores of the chain of their pairs."""
        n_tokens, n_labels = scores.state.shape
        n = min(self._n_candidates, n_labels)
        labels = np.argpartition(-scores.state, n - 1, axis=1)[:, :n]
        labels.sort(axis=1)
        first, last, into = Chain(self.offsets).positions()
        state = np.take_along_axis(scores.state, labels, axis=1)
        state[first] += scores.begin[labels[first]]
        state[last] += scores.end[labels[last]]
        pairs = np.repeat(state[:, None, :], n, axis=1)
        # Before the first token there is nothing: only one of the equal previous labels counts.
        pairs[first, 1:] = -np.inf
        zeros = np.zeros(n * n)
        edges = self._pair_edges(scores, labels, into, n_tokens)
        return labels, Scores(
            pairs.reshape(n_tokens, n * n), np.full((n * n, n * n), -np.inf), zeros, zeros, edges
        )

    def _pair_edges(
        self, scores: Scores, labels, into: np.ndarray, n_tokens: int
    ) -> TokenTransitions:
        """All transitions (i, j) -> (j, k) into these tokens, with their scores."""
        n = labels.shape[1]
        j, k, i = (index.ravel() for index in np.indices((n, n, n)))
        before, here = labels[into - 1], labels[into]
        single = transition_scores(
            scores, np.repeat(into, n * n), np.repeat(before, n), np.tile(here, n).ravel()
        )
        of_pairs = single.reshape(-1, n, n)[:, j, k]
        second = np.flatnonzero(~np.isin(into - 1, self.offsets))
        two_before = labels[into[second] - 2]
        of_pairs[second] += self._trigram_score(
            two_before[:, i].ravel(), before[second][:, j].ravel(), here[second][:, k].ravel()
        ).reshape(-1, n**3)
        row = np.full(n_tokens, -1)
        row[into] = np.arange(len(into))
        return TokenTransitions(
            row,
            np.arange(len(into) + 1, dtype=np.int64) * n**3,
            np.tile(i * n + j, len(into)).astype(np.int32),
            np.tile(j * n + k, len(into)).astype(np.int32),
            of_pairs.ravel(),
        )
