"""Sums of rows of a matrix: products with a sparse one, of all columns at once."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._csr import csr_arrays
from .._kernels._sparse_product import add_product
from .._kernels.vectorized import row_sums

__all__ = ["RowSums", "state_scores"]


class RowSums:
    """A sparse matrix to be multiplied with dense ones, in slices of its rows."""

    def __init__(self, matrix: sp.csr_array, skip_empty: bool = False):
        indptr, indices, data = csr_arrays(matrix)
        rows = np.arange(matrix.shape[0])
        if skip_empty:
            rows = np.flatnonzero(indptr[1:] > indptr[:-1])
            indptr = np.append(indptr[rows], indptr[-1])
        self._arrays = indptr, indices, data, rows.astype(np.int32)

    def product(self, dense: np.ndarray, start: int, stop: int) -> np.ndarray:
        """matrix[start:stop] @ dense, of rows none of which is left out."""
        return _product(*self._arrays[:3], dense, start, stop)

    def add(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int, origin: int = 0):
        """out[r - origin] += matrix[r] @ dense, for r the rows from start to stop."""
        row_sums.add_row_sums(*self._arrays, dense, out, start, stop, origin)

    def add_transposed(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
        """out += matrix[start:stop].T @ dense"""
        indptr, indices, data, _ = self._arrays
        row_sums.add_outer_products(indptr, indices, data, dense, out, start, stop)

    def cut(self, share: int, n_shares: int) -> tuple[int, int]:
        """One of so many slices of rows with about as many entries."""
        indptr = self._arrays[0]
        wanted = indptr[-1] * np.array([share, share + 1]) // n_shares
        start, stop = np.searchsorted(indptr[:-1], wanted)
        return int(start), int(stop)


def state_scores(X: Any, coef: Any, start: int, stop: int) -> np.ndarray:
    """``X[start:stop] @ coef`` of any two of dense and sparse matrices.

    Parameters
    ----------
    X : CSR or ndarray of shape (n_tokens, n_attributes)
    coef : CSR or ndarray of shape (n_attributes, n_labels)
    start, stop : int

    Returns
    -------
    ndarray of shape (stop - start, n_labels)
    """
    if not sp.issparse(X):
        return np.ascontiguousarray(X[start:stop] @ coef)
    coef = coef.astype(X.dtype, copy=False)
    if not sp.issparse(coef):
        return _product(*csr_arrays(X), coef, start, stop)
    scores = np.zeros((stop - start, coef.shape[1]), dtype=X.dtype)
    add_product(*csr_arrays(X), *csr_arrays(coef), start, scores)
    return scores


def _product(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    dense: np.ndarray,
    start: int,
    stop: int,
) -> np.ndarray:
    out = np.empty((stop - start, dense.shape[1]), dtype=data.dtype)
    row_sums.write_row_sums(indptr, indices, data, dense, out, start, stop)
    return out
