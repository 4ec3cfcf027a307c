"""Sparse matrices without zeros, and of ones, which need not hold a one for each entry."""

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .._kernels.sparse.columns import some_entries
from .csr import csr_arrays, csr_of, with_values

_ONES: WeakValueDictionary[Any, np.ndarray] = WeakValueDictionary()


def shared_ones(n: int, dtype: Any) -> np.ndarray:
    """Return a part of an array of ones that all matrices share, as most attributes are 0 or 1."""
    dtype = np.dtype(dtype)
    ones = _ONES.get(dtype)
    if ones is None or len(ones) < n:
        _ONES[dtype] = ones = np.ones(n, dtype)
        ones.flags.writeable = False
    return ones[:n]


def are_ones(values: np.ndarray) -> bool:
    """Say whether all values are 1; no time is needed for shared ones."""
    are_shared = values.base is not None and values.base is _ONES.get(values.dtype)
    return bool(are_shared or (values == 1).all())


def on_places(function: Callable[[Any], Any], X: Any) -> Any:
    """Apply a function that moves or leaves out entries of a sparse matrix.

    Of a matrix of ones it moves only their places, and the result shares its ones.

    Parameters
    ----------
    function : callable
        From a sparse matrix to a sparse matrix; its entries may be of type int8.
    X : CSR of floats

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.data.ones import on_places
    >>> X = sp.csr_array([[1.0, 0.0], [1.0, 1.0]])
    >>> on_places(lambda X: X[[1]], X).data.flags.writeable
    False
    """
    if not are_ones(X.data):
        return function(X)
    moved = function(with_values(X, np.ones(len(X.data), np.int8)))
    moved.data = shared_ones(len(moved.data), X.dtype)
    return moved


def without_zeros(X: Any, dtype: Any) -> Any:
    """Return a sparse matrix without entries that are 0, as feature dicts have where one is False.

    Parameters
    ----------
    X : CSR of floats of type ``dtype``, or of type int8 as of :func:`with_small_values`

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.data.ones import without_zeros
    >>> without_zeros(sp.csr_array(([0.0, 2.0], [0, 1], [0, 2]), (1, 2)), float).nnz
    1
    """
    if not X.data.all():
        indptr, indices, values = csr_arrays(with_small_values(X))
        entries = some_entries(indptr, np.where(values, indices, np.int32(-1)), values)
        X = csr_of(entries, X.shape)
    return X if X.dtype == dtype else with_values(X, shared_ones(X.nnz, dtype))


def with_small_values(X: Any) -> Any:
    """Return a CSR matrix with values of type int8, if they are all 0 or 1, but not all are 1.

    Both matrices share the places of the entries.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.data.ones import with_small_values
    >>> with_small_values(sp.csr_array(([0.0, 1.0], [0, 1], [0, 2]), (1, 2))).dtype
    dtype('int8')
    """
    if are_ones(X.data) or not ((X.data == 1) | (X.data == 0)).all():
        return X
    return with_values(X, X.data.astype(np.int8))
