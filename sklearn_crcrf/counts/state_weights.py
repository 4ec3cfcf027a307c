"""State scores as sums of rows of one sparse matrix."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.weights import add_rows, add_rows_pullback
from .rows import stack_rows
from .storage import Storable

__all__ = ["FREQUENT", "SELDOM", "UNSEEN", "StateWeights"]

# The kinds of words; each has its own exponents.
FREQUENT, SELDOM, UNSEEN = range(3)


class StateWeights(Storable):
    """Weights of attributes, in blocks of rows; a token has at most one row per slot.

    Parameters
    ----------
    blocks : iterable of CSR or Rows of shape (n_rows, n_labels)
    exponents : array-like of shape (n_kinds, n_slots)
        Factors of the rows of each slot, for each kind of word.
    n_entries : int
        The number of entries of all blocks.

    Attributes
    ----------
    coef : CSR of shape (n_attributes, n_labels)
        All blocks, below each other.
    starts : ndarray of shape (n_blocks,)
        First row of each block in ``coef``.
    """

    def __init__(self, blocks: Iterable[Any], exponents: Any, n_entries: int):
        self.coef, self.starts = stack_rows(blocks, n_entries)
        self.exponents = np.ascontiguousarray(exponents, dtype=float)

    @classmethod
    def of_one(cls, coef: sp.csr_array, exponents: np.ndarray) -> "StateWeights":
        """One block, as it is."""
        weights = cls.__new__(cls)
        weights.coef, weights.starts, weights.exponents = coef, np.zeros(1, np.int64), exponents
        return weights

    def scores(self, rows: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """State scores of tokens.

        Parameters
        ----------
        rows : int32 ndarray of shape (n_tokens, n_slots)
            Rows of ``coef``; -1 if a token has no row in a slot.
        kind : int8 ndarray of shape (n_tokens,)

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
        """
        scores = np.zeros((len(rows), self.coef.shape[1]))
        add_rows(rows, kind, self.exponents, *self._weights(), scores)
        return scores

    def pullback(self, rows: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Gradient in the exponents, given the gradient ``weight`` in the scores."""
        gradient = np.zeros(self.exponents.shape)
        add_rows_pullback(rows, kind, *self._weights(), weight, gradient)
        return gradient

    def _weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays of the weights; indptr, one of the largest arrays of a model, is no copy."""
        coef = self.coef
        return coef.indptr, coef.indices.astype(np.int32, copy=False), coef.data
