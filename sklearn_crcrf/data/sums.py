"""Products of sparse and dense matrices, as weighted sums of the rows of the dense matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse import row_sums
from .._kernels.sparse.weights import add_product
from .csr import csr_arrays
from .ones import are_ones, shared_ones


class RowSums:
    """A sparse matrix to be multiplied, slice by slice of its rows, with dense matrices.

    Parameters
    ----------
    matrix : CSR of shape (n_rows, n_columns)
    skip_empty : bool
        Whether to keep only the rows that have entries.
    """

    def __init__(self, matrix: sp.csr_array, skip_empty: bool = False):
        indptr, indices, data = csr_arrays(matrix)
        rows = np.arange(matrix.shape[0])
        self._skips = skip_empty
        if skip_empty:
            rows = np.flatnonzero(indptr[1:] > indptr[:-1])
            indptr = np.append(indptr[rows], indptr[-1])
        if are_ones(data):
            data = shared_ones(len(data), data.dtype)
        self._arrays = indptr, indices, data, rows.astype(np.int32)

    def product(self, dense: np.ndarray, start: int, stop: int) -> np.ndarray:
        """matrix[start:stop] @ dense"""
        if not self._skips:
            return _product(*self._arrays[:3], dense, start, stop)
        out = np.zeros((stop - start, dense.shape[1]), dtype=dense.dtype)
        self.add_slice(dense, out, start, stop)
        return out

    def add_slice(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
        """out += matrix[start:stop] @ dense"""
        self.add(dense, out, *self._kept(start, stop), start)

    def add(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int, origin: int = 0):
        """out[r - origin] += matrix[r] @ dense, for the kept rows r of numbers start to stop."""
        row_sums.add_row_sums(*self._arrays, dense, out, start, stop, origin)

    def add_transposed(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
        """out += matrix[start:stop].T @ dense"""
        row_sums.add_outer_products(*self._arrays, dense, out, *self._kept(start, stop), start)

    def cut(self, share: int, n_shares: int) -> tuple[int, int]:
        """Find one of ``n_shares`` slices of the kept rows, with about equal numbers of entries."""
        indptr = self._arrays[0]
        wanted = indptr[-1] * np.array([share, share + 1]) // n_shares
        start, stop = np.searchsorted(indptr[:-1], wanted)
        return int(start), int(stop)

    def _kept(self, start: int, stop: int) -> tuple[int, int]:
        """Return the rows ``start`` to ``stop``, as a slice of the kept rows."""
        if self._skips:
            rows = self._arrays[-1]
            start, stop = np.searchsorted(rows, np.array([start, stop], dtype=rows.dtype))
        return int(start), int(stop)


def state_scores(X: Any, coef: Any, start: int, stop: int) -> np.ndarray:
    """``X[start:stop] @ coef``, for dense or sparse matrices.

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
    coef, rows = coef.astype(X.dtype, copy=False), csr_arrays(X, start, stop)
    if not sp.issparse(coef):
        return _product(*rows, coef, 0, stop - start)
    scores = np.zeros((stop - start, coef.shape[1]), dtype=X.dtype)
    add_product(*rows, *csr_arrays(coef), 0, scores)
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
