"""State scores as sums of rows of one sparse matrix."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .._kernels._scores import add_rows, add_rows_pullback
from .storage import Storable

__all__ = ["FREQUENT", "SELDOM", "UNSEEN", "StateWeights"]

# The kinds of words, each with exponents of its own.
FREQUENT, SELDOM, UNSEEN = range(3)


class StateWeights(Storable):
    """Weights of attributes, in blocks of rows; a token has at most one row of each slot.

    Parameters
    ----------
    blocks : sequence of CSR of shape (n_rows, n_labels)
    exponents : array-like of shape (n_kinds, n_slots)
        Multiplies the rows of each slot, for each kind of word.

    Attributes
    ----------
    coef : CSR of shape (n_attributes, n_labels)
        All blocks, one below the other.
    starts : ndarray of shape (n_blocks,)
        Row of ``coef`` at which each block starts.
    """

    def __init__(self, blocks: Sequence[sp.csr_array], exponents):
        self.coef = _with_short_ids(sp.vstack(blocks, format="csr"))
        self.starts = np.cumsum([0, *(b.shape[0] for b in blocks[:-1])])
        self.exponents = np.ascontiguousarray(exponents, dtype=float)
        self._arrays = _arrays(self.coef)

    def scores(self, rows: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """State scores of tokens.

        Parameters
        ----------
        rows : int32 ndarray of shape (n_tokens, n_slots)
            Rows of ``coef``, -1 for none.
        kind : int8 ndarray of shape (n_tokens,)

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
        """
        scores = np.zeros((len(rows), self.coef.shape[1]))
        add_rows(rows, kind, self.exponents, *self._arrays, scores)
        return scores

    def pullback(self, rows: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Derivative by the exponents, given the derivative ``weight`` by the scores."""
        gradient = np.zeros(self.exponents.shape)
        add_rows_pullback(rows, kind, *self._arrays, weight, gradient)
        return gradient


def _with_short_ids(matrix: sp.csr_array) -> sp.csr_array:
    """The same matrix with 32-bit indices, if it has not too many entries for them."""
    if matrix.nnz > np.iinfo(np.int32).max:
        return matrix
    indices, indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sp.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def _arrays(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data
