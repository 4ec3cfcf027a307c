"""Groups of attributes that come together: a sparse matrix as factors with fewer entries."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import inplace_csr_column_scale

from .._kernels.sizes import LARGEST
from .._kernels.sparse.columns import column_values, find_companions, some_entries
from ..data.csr import csr_arrays, csr_of
from ..data.ones import are_ones, shared_ones

# For fewer rows than this, the sum of the weights of a group costs as much as it saves.
FEWEST = 12


class Factored(NamedTuple):
    """A matrix ``X = single + groups @ members``.

    Parameters
    ----------
    single : CSR of shape (n_rows, n_attributes)
    groups : CSR of shape (n_rows, n_groups)
    members : CSR of shape (n_groups, n_attributes)
        The values of the attributes of each group.
    """

    single: sp.csr_array
    groups: sp.csr_array
    members: sp.csr_array


def factor(X: sp.csr_array, fewest: int = FEWEST) -> Factored:
    """Replace attributes that come together by groups, each of which is one entry in a row.

    An attribute is replaced only if it has the same value in all rows that have it. Templates make
    many groups: a token with a trigram has its bigrams and unigrams, too. A product with the
    factors adds the weights of a group once, and not in every row. Ferragina et al. 2022,
    "Improving matrix-vector multiplication via lossless grammar-compressed matrices", compress
    matrices by grammars in the same way.

    Parameters
    ----------
    X : CSR of shape (n_rows, n_attributes)
    fewest : int
        Companions are looked for only for attributes of at least this number of rows.

    Returns
    -------
    Factored

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.linear.factoring import factor
    >>> rows = [[1, 1, 0], [1, 1, 1], [1, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> factored = factor(sp.csr_array(rows, dtype=float), fewest=4)
    >>> factored.members.toarray()
    array([[1., 1., 0.]])
    >>> factored.groups.toarray().ravel(), factored.single.toarray()[:, 2]
    (array([1., 1., 1., 1., 0.]), array([0., 1., 0., 0., 1.]))
    """
    if X.nnz > LARGEST:  # entries are numbered in 32 bits
        return _unfactored(X)
    where = _where(X)
    if not where.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        where = _where(X)
    indptr, indices, values = csr_arrays(X)
    n_attributes = X.shape[1]
    value, is_even = column_values(indices, values, n_attributes)
    n_rows_of = np.where(is_even, np.diff(where.indptr), 0)
    order = np.argsort(-n_rows_of, kind="stable")[: np.count_nonzero(n_rows_of >= fewest)]
    left = indices.copy()
    owners, starts, companions = find_companions(
        indptr, left, *csr_arrays(where), order.astype(np.int32), is_even, fewest
    )
    if len(owners) == 0:
        return _unfactored(X)
    del where
    group = np.full(n_attributes, -1, dtype=np.int32)
    group[owners] = np.arange(len(owners))
    single = np.where(group < 0, np.arange(n_attributes, dtype=np.int32), -1)
    members = _members(owners, starts, companions, group).astype(X.dtype)
    inplace_csr_column_scale(members, value)
    ones = np.ones(len(left), np.int8)
    groups = csr_of(some_entries(indptr, left, ones, group), (X.shape[0], len(owners)))
    groups.data = shared_ones(len(groups.data), X.dtype)
    rest = some_entries(indptr, left, ones if are_ones(values) else values, single)
    single = csr_of(rest, X.shape)
    if are_ones(values):
        single.data = shared_ones(len(single.data), X.dtype)
    return Factored(single, groups, members)


def _unfactored(X: sp.csr_array) -> Factored:
    nothing = sp.csr_array(X.shape, dtype=X.dtype)
    return Factored(X, nothing[:, :0], nothing[:0])


def _where(X: sp.csr_array) -> sp.csc_array:
    """Return the places of the entries of each column."""
    places = np.arange(X.nnz, dtype=np.int32)
    return sp.csr_array((places, X.indices, X.indptr), X.shape).tocsc()


def _members(
    owners: np.ndarray, starts: np.ndarray, companions: np.ndarray, group: np.ndarray
) -> sp.csr_array:
    """Find the members of each group: its owner, companions, and members of groups among these."""
    n, n_attributes = len(owners), len(group)
    row = np.repeat(np.arange(n), np.diff(starts))
    # A companion that owns a later group was still a single attribute when this group was made.
    is_group = (group[companions] >= 0) & (group[companions] < row)
    attributes = (
        np.concatenate([np.arange(n), row[~is_group]]),
        np.concatenate([owners, companions[~is_group]]),
    )
    groups = row[is_group], group[companions[is_group]]
    members = sp.coo_array((np.ones(len(attributes[0])), attributes), (n, n_attributes)).tocsr()
    inside = sp.coo_array((np.ones(len(groups[0])), groups), (n, n)).tocsr()
    # A group inside a group may itself contain groups.
    nested = inside @ members
    while nested.nnz:
        members, nested = members + nested, inside @ nested
    return members
