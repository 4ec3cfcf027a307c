"""Attributes with equal values at all tokens share one weight per label."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import inplace_csr_column_scale, inplace_csr_row_scale

from .._kernels.sparse.columns import number_by_appearance, some_entries, split_by_rows
from ..data.csr import csr_arrays, csr_of


class DuplicateColumns(NamedTuple):
    """Groups of duplicate attributes, each replaced by one attribute.

    A group of k attributes becomes one attribute of value sqrt(k). Its weight w stands for k
    weights of w / sqrt(k), so the scores and the sum of squares of the weights stay the same. So do
    the steps of a solver that uses the weights in inner products only.

    Parameters
    ----------
    group : int32 ndarray of shape (n_attributes,)
        The group of each attribute.
    first : ndarray of shape (n_groups,)
        The first attribute of each group. Frequent groups come first, and groups of about the same
        frequency are in the order of their first tokens: weights that are used together lie
        together in memory.
    scale : ndarray of shape (n_groups,)
        The square root of the number of attributes in each group.
    """

    group: np.ndarray
    first: np.ndarray
    scale: np.ndarray

    def shared(self, weights: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array | None:
        """Return the shared weights that stand for weights of shape (n_attributes, n_labels).

        None if the weights of the attributes of a group differ: no shared weight equals them.
        """
        first = weights[self.first]
        return _scale_rows(first, self.scale) if _are_same(first[self.group], weights) else None

    def single(self, weights: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
        """Return the inverse of :meth:`shared`."""
        return _scale_rows(weights[self.group], 1 / self.scale[self.group])

    def merge(self, X: sp.csr_array) -> sp.csr_array:
        """Make the attributes of the shared weights, for the X in which duplicates were found."""
        kept = np.full(len(self.group), -1, dtype=np.int32)
        kept[self.first] = np.arange(len(self.first))
        merged = csr_of(some_entries(*csr_arrays(X), kept), (X.shape[0], len(self.first)))
        inplace_csr_column_scale(merged, self.scale)
        return merged

    def attributes(self, X: Any) -> sp.csr_array:
        """Return the attributes of the shared weights, for an X in which duplicates may differ."""
        n_attributes, n_groups = len(self.group), len(self.first)
        entries = 1 / self.scale[self.group], self.group, np.arange(n_attributes + 1)
        return sp.csr_array(X @ sp.csr_array(entries, (n_attributes, n_groups)).astype(X.dtype))


def find_duplicates(
    X: sp.csr_array, apart: np.ndarray, pairs: sp.csr_array | None = None
) -> DuplicateColumns:
    """Group attributes that are 1 at the same tokens and 0 elsewhere.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    apart : ndarray of int
        Columns that are not grouped.
    pairs : CSR of shape (n_attributes, n_labels), optional
        Attributes of a group have entries for the same labels.

    Returns
    -------
    DuplicateColumns

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.linear.duplicate_columns import find_duplicates
    >>> X = sp.csr_array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> duplicates = find_duplicates(X, [])
    >>> duplicates.group
    array([1, 1, 0], dtype=int32)
    >>> duplicates.merge(X).toarray().round(3)
    array([[1.   , 1.414],
           [1.   , 0.   ]])
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    _, indices, values = csr_arrays(X)
    n_attributes = X.shape[1]
    is_apart = np.zeros(n_attributes, dtype=bool)
    is_apart[apart] = True
    is_apart[indices[values != 1]] = True
    # All attributes that may be equal are one group at first.
    group = np.where(is_apart, np.cumsum(is_apart) - (1 if is_apart.all() else 0), 0)
    group = group.astype(np.int32)
    n_groups = int(group.max(initial=-1)) + 1
    for rows in (X, *([] if pairs is None else [pairs.T.tocsr()])):
        n_groups = split_by_rows(*csr_arrays(rows)[:2], group, n_groups)
    n_entries = number_by_appearance(indices, group, n_groups)
    size = np.bincount(group, minlength=n_groups)
    _, magnitude = np.frexp(n_entries // size)
    order = np.argsort(-magnitude, kind="stable")
    rank = np.empty(n_groups, dtype=np.int32)
    rank[order] = np.arange(n_groups)
    group = rank[group]
    first = np.empty(n_groups, dtype=np.int64)
    first[group[::-1]] = np.arange(n_attributes)[::-1]
    return DuplicateColumns(group, first, np.sqrt(size[order]))


def _scale_rows(rows: np.ndarray | sp.csr_array, scale: np.ndarray) -> np.ndarray | sp.csr_array:
    """Multiply rows by numbers in place."""
    if sp.issparse(rows):
        inplace_csr_row_scale(rows, scale)
    else:
        rows *= scale[:, np.newaxis]
    return rows


def _are_same(a: np.ndarray | sp.csr_array, b: np.ndarray | sp.csr_array) -> bool:
    """Whether two matrices have the same numbers, in the same places if they are sparse."""
    if not sp.issparse(a):
        return np.array_equal(a, b)
    arrays = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
