"""Terms of transitions that depend on attributes, of a token or of a link."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.weights import Weights
from ..structures import ScoreGradient, Scores, TokenTransitions
from .link_tables import different_rows
from .terms import Term

__all__ = ["TransitionFeature", "TransitionTables", "edge_columns", "without_columns"]


class TransitionTables(Term):
    """A weight for each attribute and each pair of labels, or each group of tied pairs.

    Links with equal attributes share a table of transition scores.

    Parameters
    ----------
    n_attributes, n_labels : int
    weight_of : ndarray of int of shape (n_labels, n_labels), optional
        The number of the weight of each pair of labels, as in
        :class:`~sklearn_crcrf.linear.terms.Term`.
    """

    def __init__(self, n_attributes: int, n_labels: int, weight_of: np.ndarray | None = None):
        self._n_labels = n_labels
        self._found: dict[tuple, tuple] = {}
        if weight_of is not None:
            first = (weight_of.max(initial=-1) + 1) * np.arange(n_attributes)[:, None, None]
            weight_of = np.where(weight_of < 0, -1, weight_of + first)
        super().__init__((n_attributes, n_labels, n_labels), weight_of)

    @abstractmethod
    def _different_rows(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        """The table of each row of ``token_transitions``, -1 for none; attributes of the tables."""

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        row, combinations = self._combinations(chunk)
        n_rows, n = combinations.shape[0], self._n_labels
        gains = self._gains(combinations, array)
        lowest = scores.transition + np.minimum(gains.min(axis=0, initial=0.0), 0.0)
        labels, starts = np.arange(n, dtype=np.int32), np.arange(n_rows + 1, dtype=np.int64) * n * n
        previous, current = np.tile(labels, n_rows * n), np.tile(np.repeat(labels, n), n_rows)
        of_pairs = _by_current(scores.transition + gains)
        transitions = TokenTransitions(row, starts, previous, current, of_pairs)
        return scores._replace(transition=lowest, token_transitions=transitions)

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        gains = self._gains(self._combinations(chunk)[1], array)
        return direction._replace(token_transitions=_by_current(direction.transition + gains))

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        _, combinations = self._combinations(chunk)
        n = self._n_labels
        pairs = gradient.token_transitions.reshape(-1, n, n).transpose(0, 2, 1)
        out += (combinations.T @ pairs.reshape(-1, n * n)).reshape(out.shape)
        return gradient._replace(transition=gradient.transition + pairs.sum(axis=0))

    def select(self, weights: Weights) -> np.ndarray:
        return weights.edges

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights._replace(edges=array)

    def _gains(self, combinations: sp.csr_array, array: np.ndarray) -> np.ndarray:
        """What attributes add to transition scores; (n_combinations, n_labels, n_labels)."""
        n = self._n_labels
        return (combinations @ array.reshape(-1, n * n)).reshape(-1, n, n)

    def _combinations(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        """The same as :meth:`_different_rows`, found once for each chunk."""
        where = chunk.start, chunk.stop
        if where not in self._found:
            self._found[where] = self._different_rows(chunk)
        return self._found[where]


class TransitionFeature(TransitionTables):
    """A weight for each pair of labels of linked tokens and each attribute of the later token.

    Parameters
    ----------
    attributes : CSR of shape (n_tokens, n_edge_attributes)
        The attributes of all tokens on which transitions depend.
    n_labels : int
    """

    def __init__(self, attributes: sp.csr_array, n_labels: int):
        super().__init__(attributes.shape[1], n_labels)
        self._attributes = attributes

    def _different_rows(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        row, combinations = different_rows(self._attributes[chunk.start : chunk.stop])
        row_of_link = np.full(chunk.structure.n_rows, -1)
        row_of_link[chunk.structure.rows_of_links()] = row[chunk.structure.links()[1]]
        return row_of_link, combinations


def _by_current(scores: np.ndarray) -> np.ndarray:
    """Scores of all pairs of labels, in the order of the current label."""
    return scores.transpose(0, 2, 1).reshape(-1)


def edge_columns(X: sp.csr_array | np.ndarray, columns: np.ndarray) -> sp.csr_array:
    """The attributes of all tokens on which transitions depend."""
    if len(columns) == 0:
        return sp.csr_array((X.shape[0], 0))
    return sp.csr_array(X[:, columns])


def without_columns(
    X: sp.csr_array | np.ndarray, columns: Sequence[int] | np.ndarray
) -> sp.csr_array | np.ndarray:
    """X with zeros in some of the columns."""
    if len(columns) == 0:
        return X
    kept = np.ones(X.shape[1], dtype=X.dtype)
    kept[columns] = 0
    if not sp.issparse(X):
        return X * kept
    X = sp.csr_array(X @ sp.diags_array(kept))
    X.eliminate_zeros()
    return X
