"""The linear chain: paths, their best, their sum and their marginals."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels._forward_backward import forward_backward
from .._kernels._viterbi import k_best, viterbi

__all__ = ["Chain", "Edges", "Parts"]


class Edges(NamedTuple):
    """Transition scores of single tokens, where they lie above the common ones.

    Token ``t`` has the entries of row ``row[t]``, or none if that is -1.

    Parameters
    ----------
    row : ndarray of shape (n_tokens,), int64
    indptr : ndarray of shape (n_rows + 1,), int64
    previous, current : ndarray of shape (n_entries,), int32
        The labels before and at the token; the pairs of a row are different, and in the order
        of the current label, then of the previous one.
    score : ndarray of shape (n_entries,)
        Not below ``transition[previous, current]``.
    """

    row: np.ndarray
    indptr: np.ndarray
    previous: np.ndarray
    current: np.ndarray
    score: np.ndarray

    @classmethod
    def none(cls, n_tokens: int) -> "Edges":
        """No token has transition scores of its own."""
        ids = np.empty(0, dtype=np.int32)
        return cls(np.full(n_tokens, -1), np.zeros(1, dtype=np.int64), ids, ids, np.empty(0))

    @classmethod
    def from_gains(cls, row: np.ndarray, gains: sp.csr_array, transition: np.ndarray) -> "Edges":
        """From what is added to the common scores.

        Parameters
        ----------
        row : ndarray of shape (n_tokens,)
        gains : CSR of shape (n_rows, n_labels ** 2), not negative
            Column ``j * n_labels + i`` is the transition from label i to label j.
        transition : ndarray of shape (n_labels, n_labels)

        Returns
        -------
        Edges
        """
        gains.sort_indices()
        current, previous = np.divmod(gains.indices, len(transition))
        return cls(
            np.ascontiguousarray(row, dtype=np.int64),
            gains.indptr.astype(np.int64),
            previous.astype(np.int32),
            current.astype(np.int32),
            transition[previous, current] + gains.data,
        )


class Parts(NamedTuple):
    """All scores of a batch of sequences.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
    transition : ndarray of shape (n_labels, n_labels), row = previous label
    begin, end : ndarray of shape (n_labels,)
        Added at the first and at the last token of each sequence.
    edges : Edges
    """

    state: np.ndarray
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    edges: Edges


class Chain:
    """Linear chains of labels over the sequences of a batch.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Edges, Parts
    >>> zeros = np.zeros(2)
    >>> parts = Parts(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2), zeros, zeros, Edges.none(2))
    >>> chain = Chain(np.array([0, 2]))
    >>> chain.maximum(parts)
    (array([2.]), array([0, 0], dtype=int32))
    >>> log_z, marginals = chain.marginals(parts)
    >>> np.round(marginals, 3)
    array([[0.684, 0.316],
           [0.483, 0.517]])
    """

    def __init__(self, offsets: np.ndarray):
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)

    def path_score(self, parts: Parts, y: np.ndarray) -> np.ndarray:
        """Scores of the paths ``y`` (n_tokens,), float64 of shape (n_sequences,)."""
        first, last, into = self.positions()
        score = parts.state[np.arange(len(y)), y]
        score[first] += parts.begin[y[first]]
        score[last] += parts.end[y[last]]
        score[into] += self.transition_scores(parts, into, y[into - 1], y[into])
        return np.diff(np.append(0.0, np.cumsum(score))[self.offsets])

    def path_counts(self, parts: Parts, y: np.ndarray) -> "PartCounts":
        """How often the paths ``y`` use every part."""
        _, _, into = self.positions()
        state, transition = np.zeros(parts.state.shape), np.zeros(parts.transition.shape)
        state[np.arange(len(y)), y] = 1.0
        np.add.at(transition, (y[into - 1], y[into]), 1.0)
        _, entries = self._edge_entries(parts, into, y[into - 1], y[into])
        _, _, previous, current, score = parts.edges
        raised = score[entries] - parts.transition[previous[entries], current[entries]]
        return PartCounts(state, transition, float(raised.sum()))

    def maximum(self, parts: Parts) -> tuple[np.ndarray, np.ndarray]:
        """The best path of each sequence; of equals the one with the lowest labels at its end.

        Returns
        -------
        value : ndarray of shape (n_sequences,)
            Its score, -inf where no path is possible, 0 for an empty sequence.
        y : ndarray of shape (n_tokens,), int32
        """
        y = np.zeros(len(parts.state), dtype=np.int32)
        value = np.empty(len(self.offsets) - 1)
        viterbi(self.offsets, parts.state.copy(), *parts[1:4], *parts.edges, y, value)
        return value, y

    def marginals(self, parts: Parts) -> tuple[np.ndarray, np.ndarray]:
        """Log-partition and token marginals.

        Returns
        -------
        log_z : ndarray of shape (n_sequences,)
            -inf where no path is possible, 0 for an empty sequence.
        marginals : ndarray of shape (n_tokens, n_labels)
        """
        log_z, expected = self._expected(parts, np.empty((0, 0)))
        return log_z, expected.state

    def expectations(self, parts: Parts) -> tuple[np.ndarray, "PartCounts"]:
        """Log-partition, and how often every part is used in expectation."""
        return self._expected(parts, np.zeros(parts.transition.shape))

    def k_best(self, parts: Parts, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """The k best paths of each sequence, best first.

        Returns
        -------
        list of (values, paths)
            Arrays of shape (n_paths,) and (n_paths, length), with ``n_paths <= k`` where there
            are fewer possible paths.
        """
        return [self._k_best(parts, a, b, k) for a, b in pairwise(self.offsets)]

    def _k_best(self, parts: Parts, start: int, stop: int, k: int):
        y = np.zeros((k, stop - start), dtype=np.int32)
        value = np.full(k, -np.inf)
        if start == stop:
            value[0] = 0.0
        else:
            edges = parts.edges._replace(row=parts.edges.row[start:stop])
            k_best(parts.state[start:stop], *parts[1:4], *edges, y, value)
        possible = value > -np.inf
        return value[possible], y[possible]

    def _expected(self, parts: Parts, transition: np.ndarray) -> tuple[np.ndarray, "PartCounts"]:
        marginals = parts.state.copy()
        log_z = np.empty(len(self.offsets) - 1)
        raised = np.zeros(1)
        forward_backward(
            self.offsets, marginals, *parts[1:4], *parts.edges, log_z, transition, raised
        )
        return log_z, PartCounts(marginals, transition, float(raised[0]))

    def positions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First tokens, last tokens, and tokens that have one before them."""
        filled = np.diff(self.offsets) > 0
        first, last = self.offsets[:-1][filled], self.offsets[1:][filled] - 1
        return first, last, np.setdiff1d(np.arange(self.offsets[-1]), first, assume_unique=True)

    @classmethod
    def transition_scores(
        cls, parts: Parts, token: np.ndarray, previous: np.ndarray, current: np.ndarray
    ) -> np.ndarray:
        """Scores of single transitions, each into a given token; all of shape (n,)."""
        scores = parts.transition[previous, current]
        found, entries = cls._edge_entries(parts, token, previous, current)
        scores[found] = parts.edges.score[entries]
        return scores

    @staticmethod
    def _edge_entries(parts: Parts, token: np.ndarray, previous: np.ndarray, current: np.ndarray):
        """Which of these transitions are entries of the edges, and which entries they are."""
        edges, n_labels = parts.edges, len(parts.transition)
        if len(edges.score) == 0:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing

        def key(row, previous, current):
            return (row * n_labels + current) * n_labels + previous

        row_of_entry = np.repeat(np.arange(len(edges.indptr) - 1), np.diff(edges.indptr))
        keys = key(row_of_entry, edges.previous, edges.current)
        row = edges.row[token]
        wanted = key(row, previous, current)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = np.flatnonzero((row >= 0) & (keys[at] == wanted))
        return found, at[found]


class PartCounts(NamedTuple):
    """How often parts are used, by paths or in expectation.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
    transition : ndarray of shape (n_labels, n_labels)
    raised : float
        Sum of what the edges add to the common transition scores.
    """

    state: np.ndarray
    transition: np.ndarray
    raised: float

    def __sub__(self, other: "PartCounts") -> "PartCounts":
        return PartCounts(*(a - b for a, b in zip(self, other, strict=True)))
