"""Sparse matrices as kernels take them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.sizes import LARGEST, check_number
from .._kernels.sparse.columns import has_sound_rows


def csr_arrays(
    matrix: sp.csr_array | sp.csc_array, start: int = 0, stop: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the indptr, indices and values of a CSR or CSC matrix.

    The indptr covers the rows of a CSR, or columns of a CSC, from start to stop; by default all.
    """
    indptr = matrix.indptr[start : None if stop is None else stop + 1]
    indices = matrix.indices
    if indices.dtype != np.int32:
        n_rows, n_columns = matrix.shape
        check_number(n_columns if matrix.format == "csr" else n_rows, "rows or columns")
        indices = indices.astype(np.int32)
    return indptr.astype(np.int64), indices, matrix.data


def csr_of(arrays: tuple[np.ndarray, ...], shape: tuple[int, int]) -> sp.csr_array:
    """Return a CSR matrix of the values, indices and indptr that a kernel returns.

    The indptr has 64 bits. If it fits, it gets 32 bits: else scipy would copy the indices to 64
    bits, too.

    Examples
    --------
    >>> arrays = np.ones(1), np.zeros(1, dtype=np.int32), np.array([0, 1])
    >>> sp.csr_array(arrays, (1, 1)).indices.dtype, csr_of(arrays, (1, 1)).indices.dtype
    (dtype('int64'), dtype('int32'))
    """
    values, indices, indptr = arrays
    if indptr[-1] <= LARGEST:
        indptr = indptr.astype(np.int32)
    return sp.csr_array((values, indices, indptr), shape)


def with_values(matrix: Any, values: np.ndarray) -> Any:
    """Return a matrix with other values at the places of a CSR matrix, which both share."""
    return type(matrix)((values, matrix.indices, matrix.indptr), matrix.shape)


def sound_csr(matrix: Any, name: str, where: Callable[[int], str]) -> Any:
    """Return a CSR matrix whose rows have increasing column indices, each only once.

    If the arrays of a matrix contradict each other, C code reads and writes outside of them. So a
    matrix from outside is checked before any use, even before its format is changed.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_columns), of any format
        It is not changed.
    name : str
        Name of the matrix in error messages.
    where : callable
        Returns the name of a row in error messages, given its number.

    Returns
    -------
    CSR of shape (n_rows, n_columns)
        The matrix itself, if its rows are sound. Else a copy with sorted columns, in which
        entries of a row with the same column are summed.

    Raises
    ------
    ValueError
        If the arrays of the matrix do not agree, or a column index is out of range.

    Examples
    --------
    >>> matrix = sp.csr_array(([1.0, 2.0, 3.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    >>> sound_csr(matrix, "X", "X, row {}".format).toarray()
    array([[2., 4.]])
    >>> matrix.indices[1] = 7
    >>> sound_csr(matrix, "X", "X, row {}".format)
    Traceback (most recent call last):
        ...
    ValueError: X, row 0: column 7 is not one of 2 columns
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, but its shape is {matrix.shape}")
    if matrix.shape[1] > LARGEST:
        raise ValueError(f"{name} has {matrix.shape[1]} columns, but at most {LARGEST} can be used")
    if matrix.format == "csr":
        return _sound_rows(matrix, name, where)
    if matrix.format == "csc":
        columns = _sound_rows(matrix.T, name, lambda j: f"{name}, column {j}", "row")
        return columns.T.tocsr()
    entries = matrix.tocoo()
    _check_coordinates(entries, name, where)
    return entries.tocsr()


def stackable(matrix: Any, name: str) -> Any:
    """Return a sparse matrix as a CSR that can be stacked; its entries may be checked afterwards.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_columns), of any format
        It is not changed.
    name : str
        Name of the matrix in error messages.

    Returns
    -------
    CSR of shape (n_rows, n_columns)

    Raises
    ------
    ValueError
        As in :func:`sound_csr`; but the entries of a CSR are not checked yet.
    """
    if matrix.format == "csr":
        _check_arrays(matrix, name)
        return matrix
    return sound_csr(matrix, name, lambda row: f"{name}, position {row}")


def stacked(matrices: Sequence[Any]) -> Any:
    """Stack sparse matrices below each other.

    ``scipy.sparse.vstack`` does the same, but Ctrl-C is lost while it asks each matrix for its
    length.

    Parameters
    ----------
    matrices : sequence of CSR of shape (n_rows, n_columns)
        At least one matrix. Entries need not be sound.

    Returns
    -------
    CSR of shape (n_rows, n_columns)
        A sparse array if any of the matrices is, else a sparse matrix.

    Raises
    ------
    ValueError
        If the numbers of columns differ.

    Examples
    --------
    >>> above, below = sp.csr_array([[0, 1], [2, 0]]), sp.csr_array([[0, 3]])
    >>> stacked([above, below]).toarray()
    array([[0, 1],
           [2, 0],
           [0, 3]])
    """
    n_columns = sorted({matrix.shape[1] for matrix in matrices})
    if len(n_columns) > 1:
        raise ValueError(f"rows of {n_columns[0]} and of {n_columns[1]} columns cannot be stacked")
    n_rows = [matrix.shape[0] for matrix in matrices]
    n_entries = [int(matrix.indptr[-1]) for matrix in matrices]
    before = np.append(0, np.cumsum(n_entries[:-1], dtype=np.int64))
    ends = np.concatenate([matrix.indptr[1:] for matrix in matrices]) + np.repeat(before, n_rows)
    values, indices = (
        np.concatenate([getattr(m, name)[:n] for m, n in zip(matrices, n_entries, strict=True)])
        for name in ("data", "indices")
    )
    index_type = np.int64 if sum(n_entries) > LARGEST else indices.dtype
    places = (array.astype(index_type, copy=False) for array in (indices, np.append(0, ends)))
    is_array = any(isinstance(matrix, sp.sparray) for matrix in matrices)
    kind = sp.csr_array if is_array else sp.csr_matrix
    return kind((values, *places), shape=(len(ends), n_columns[0]))


def _sound_rows(matrix: Any, name: str, where: Callable, noun: str = "column") -> Any:
    """Return a CSR matrix with sound rows; ``noun`` says what its indices number, for messages."""
    _check_arrays(matrix, name)
    given = matrix.data, matrix.indices, matrix.indptr
    values, indices, indptr = map(np.ascontiguousarray, given)
    if indptr[-1] < len(indices):
        values, indices = values[: indptr[-1]], indices[: indptr[-1]]
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    arrays = values, indices, indptr
    if has_sound_rows(indptr, indices, matrix.shape[1]):
        is_same = all(a is b for a, b in zip(arrays, given, strict=True))
        return matrix if is_same else type(matrix)(arrays, shape=matrix.shape)
    _check_rows(indptr, indices, matrix.shape[1], where, noun)
    sound = type(matrix)(arrays, shape=matrix.shape, copy=True)
    sound.sum_duplicates()
    return sound


def _check_arrays(matrix: Any, name: str) -> None:
    """Raise ValueError unless the arrays agree on the numbers of entries and rows."""
    values, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if not all(isinstance(a, np.ndarray) and a.ndim == 1 for a in (values, indices, indptr)):
        raise ValueError(f"{name}: data, indices and indptr must be one-dimensional arrays")
    for array, what in ((indices, "indices"), (indptr, "indptr")):
        if array.dtype not in (np.int32, np.int64):
            raise ValueError(f"{name}: {what} must be int32 or int64, not {array.dtype}")
    if len(indptr) != matrix.shape[0] + 1:
        raise ValueError(f"{name}: indptr has {len(indptr)} entries for {matrix.shape[0]} rows")
    if len(values) != len(indices):
        raise ValueError(f"{name}: there are {len(indices)} indices, but {len(values)} values")
    if indptr[0] != 0 or not 0 <= indptr[-1] <= len(indices):
        raise ValueError(
            f"{name}: indptr runs from {indptr[0]} to {indptr[-1]}, but there are "
            f"{len(indices)} indices"
        )


def _check_rows(
    indptr: np.ndarray, indices: np.ndarray, n_columns: int, where: Callable, noun: str
) -> None:
    """Raise ValueError if indptr decreases, or if a column index is out of range."""
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        row = int(falls[0])
        raise ValueError(f"{where(row)}: indptr falls from {indptr[row]} to {indptr[row + 1]}")
    outside = np.flatnonzero((indices < 0) | (indices >= n_columns))
    if len(outside):
        row = int(np.searchsorted(indptr, outside[0], side="right")) - 1
        _raise_outside(where(row), indices[outside[0]], n_columns, noun)


def _check_coordinates(entries: sp.coo_array, name: str, where: Callable) -> None:
    """Raise ValueError unless all entries lie in the matrix."""
    if not len(entries.row) == len(entries.col) == len(entries.data):
        raise ValueError(
            f"{name}: there are {len(entries.row)} rows, {len(entries.col)} columns and "
            f"{len(entries.data)} values"
        )
    for n, ids, noun in zip(entries.shape, entries.coords, ("row", "column"), strict=True):
        outside = np.flatnonzero((ids < 0) | (ids >= n))
        if len(outside):
            at = outside[0]
            place = f"{name}, entry {at}" if noun == "row" else where(int(entries.row[at]))
            _raise_outside(place, ids[at], n, noun)


def _raise_outside(where: str, index: int, n: int, noun: str) -> None:
    raise ValueError(f"{where}: {noun} {index} is not one of {n} {noun}s")
