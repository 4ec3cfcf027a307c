"""Transition scores that depend on the attributes of a token."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.ragged import joined_ranges
from ..structures import ScoreGradient, Scores, TokenTransitions
from .weights import Weights

__all__ = ["EdgeDesign", "edge_columns"]


class EdgeDesign(NamedTuple):
    """The different combinations of attributes in a batch, on which transitions depend.

    Parameters
    ----------
    row : ndarray of shape (n_tokens,), int64
        Which combination each token has; -1 for the first token of a sequence.
    combinations : CSR of shape (n_rows, n_edge_attributes)
    none : TokenTransitions
        Those of the tokens if transitions do not depend on them.
    """

    row: np.ndarray
    combinations: sp.csr_array
    none: TokenTransitions

    @classmethod
    def of(
        cls, attributes: sp.csr_array, start: int, stop: int, offsets: np.ndarray
    ) -> "EdgeDesign":
        """Find the different rows from start to stop, which are the tokens of a batch."""
        none = TokenTransitions.none(stop - start)
        if attributes.shape[1] == 0:
            return cls(none.row, attributes, none)
        attributes = sp.csr_array(attributes[start:stop])
        attributes.sum_duplicates()
        n_entries = np.diff(attributes.indptr)
        token = np.repeat(np.arange(stop - start), n_entries)
        entry = joined_ranges(np.zeros(stop - start, dtype=np.int64), n_entries)
        table = np.zeros((2, stop - start, entry.max(initial=0) + 1))
        table[:, token, entry] = attributes.indices + 1, attributes.data
        both = np.concatenate(table, axis=1)
        _, example, row = np.unique(both, axis=0, return_index=True, return_inverse=True)
        row = row.reshape(-1).astype(np.int64)
        row[offsets[:-1][np.diff(offsets) > 0]] = -1
        return cls(row, attributes[example], none)

    def added_to(self, scores: Scores, weights: Weights) -> Scores:
        """Scores with the transition scores of all tokens that have one before them."""
        if self.combinations.shape[1] == 0:
            return scores
        n_rows, n = self.combinations.shape[0], len(scores.transition)
        gains = self._gains(weights)
        of_pairs = _by_current(scores.transition + gains)
        lowest = scores.transition + np.minimum(gains.min(axis=0, initial=0.0), 0.0)
        labels, indptr = np.arange(n, dtype=np.int32), np.arange(n_rows + 1, dtype=np.int64) * n * n
        previous, current = np.tile(labels, n_rows * n), np.tile(np.repeat(labels, n), n_rows)
        edges = TokenTransitions(self.row, indptr, previous, current, of_pairs)
        return scores._replace(transition=lowest, edges=edges)

    def scores(self, weights: Weights) -> np.ndarray:
        """The scores of all edges, in the order in which Scores has them."""
        if self.combinations.shape[1] == 0:
            return np.empty(0)
        return _by_current(weights.transition + self._gains(weights))

    def _gains(self, weights: Weights) -> np.ndarray:
        n = len(weights.transition)
        return (self.combinations @ weights.edges.reshape(-1, n * n)).reshape(-1, n, n)

    def add_gradient(self, counts: ScoreGradient, out: Weights) -> None:
        """Add the derivatives by the weights of transitions and edges."""
        out.transition[:] += counts.transition
        n_attributes, n = self.combinations.shape[1], len(out.transition)
        if n_attributes:
            pairs = counts.edges.reshape(-1, n, n).transpose(0, 2, 1)
            out.transition[:] += pairs.sum(axis=0)
            by_attribute = self.combinations.T @ pairs.reshape(-1, n * n)
            out.edges[:] += by_attribute.reshape(n_attributes, n, n)


def _by_current(scores: np.ndarray) -> np.ndarray:
    """Scores of all pairs of labels, in the order of the current label."""
    return scores.transpose(0, 2, 1).reshape(-1)


def edge_columns(X: sp.csr_array | np.ndarray, columns: np.ndarray) -> sp.csr_array:
    """Some of the attributes of all tokens, on which transitions depend."""
    if len(columns) == 0:
        return sp.csr_array((X.shape[0], 0))
    return sp.csr_array(X[:, columns])
