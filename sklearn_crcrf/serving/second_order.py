"""Scores that reach back two labels, over the likeliest labels of each token."""

from typing import Any, NamedTuple

import numpy as np

from .._kernels._label_pairs import score_label_pairs
from .content import Content
from .sums import ChainScores, Edges

__all__ = ["LabelPairs", "Trigrams"]

MOST_CANDIDATES = 32


class LabelPairs(NamedTuple):
    """A chain whose labels are the pairs of considered labels, as in ``SecondOrderChain``.

    Parameters
    ----------
    labels : ndarray of shape (n_tokens, n)
        The considered labels. Pair ``i * n + j`` of a token is the i-th label of the token before
        and the j-th label of the token itself.
    scores : ChainScores
    """

    labels: np.ndarray
    scores: ChainScores

    def current(self, pairs: np.ndarray) -> np.ndarray:
        """The current labels of pairs."""
        return self.labels[np.arange(len(pairs)), pairs % self.labels.shape[1]]

    def marginals(self, of_pairs: np.ndarray, n_labels: int) -> np.ndarray:
        """The marginals of labels, given the marginals of pairs."""
        n = self.labels.shape[1]
        marginals = np.zeros((len(self.labels), n_labels))
        considered = of_pairs.reshape(-1, n, n).sum(axis=1)
        np.put_along_axis(marginals, self.labels, considered, axis=1)
        return marginals


class Trigrams:
    """The scores of three labels in a row; content from a file is checked.

    Parameters
    ----------
    content : Content
    n_labels : int

    Attributes
    ----------
    n_candidates : int
        Number of labels considered for each token.
    """

    def __init__(self, content: Content, n_labels: int):
        self.n_candidates = content.setting("n_candidates", int)
        if not 0 < self.n_candidates <= MOST_CANDIDATES:
            raise ValueError("the setting 'n_candidates' is not valid")
        n_pairs = n_labels**2
        starts = content.array("trigrams.starts", "ql", n_pairs + 1)
        last = content.indices("trigrams.last", "i", None, 0, n_labels)
        if starts[0] != 0 or starts[-1] != len(last) or (np.diff(starts) < 0).any():
            raise ValueError("the array 'trigrams.starts' has values out of range")
        score = content.array("trigrams.score", "d", len(last))
        self._n_labels = n_labels
        self._arrays = starts, last, score, content.array("trigrams.unseen", "d", n_pairs)

    def __call__(self, i: np.ndarray, j: np.ndarray, k: np.ndarray) -> np.ndarray:
        """The scores of labels i, j, k in a row, all of shape (n,)."""
        starts, last, score, unseen = self._arrays
        pair, found = i * self._n_labels + j, np.zeros(len(i), dtype=bool)
        keys = np.repeat(np.arange(len(unseen)), np.diff(starts)) * self._n_labels + last
        at = np.searchsorted(keys, pair * self._n_labels + k)
        inside = at < len(keys)
        found[inside] = keys[at[inside]] == (pair * self._n_labels + k)[inside]
        scores = unseen[pair]
        scores[found] = score[at[found]]
        return scores

    def pairs(self, scores: ChainScores) -> LabelPairs:
        """The chain of pairs of labels of one sequence of at least one token."""
        state = scores.state
        n_tokens, n = len(state), min(self.n_candidates, state.shape[1])
        labels = np.argpartition(-state, n - 1, axis=1)[:, :n].copy()
        labels.sort(axis=1)
        of_pairs, links = np.empty((n_tokens, n, n)), np.empty((n_tokens - 1, n, n, n))
        given = scores.token_transitions
        indptr = given.indptr if len(given.score) else np.zeros(n_tokens + 1, dtype=np.int64)
        edges = indptr, given.previous, given.current, given.score
        chain = scores.transition, scores.begin, scores.end
        score_label_pairs(labels, state, chain, edges, self._arrays, of_pairs, links)
        zeros, never = np.zeros(n * n), np.full((n * n, n * n), -np.inf)
        of_links = _edges(links, n_tokens, n)
        return LabelPairs(
            labels, ChainScores(of_pairs.reshape(-1, n * n), never, zeros, zeros, of_links)
        )


def _edges(links: np.ndarray, n_tokens: int, n: int) -> Edges:
    """The scores of links of pairs, as transition scores of single tokens."""
    j, k, i = (index.ravel() for index in np.indices((n, n, n), dtype=np.int32))
    previous: Any = np.tile(i * np.int32(n) + j, n_tokens - 1)
    current: Any = np.tile(j * np.int32(n) + k, n_tokens - 1)
    row = np.arange(-1, n_tokens - 1)
    indptr = np.arange(n_tokens, dtype=np.int64) * n**3
    return Edges(row, indptr, previous, current, links.ravel())
