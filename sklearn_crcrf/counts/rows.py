"""Sparse rows of counts and weights, and how to find the row of an attribute."""

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from .counts import BOUNDARY, Table

__all__ = [
    "FLOOR",
    "WEAKEST",
    "KeyIndex",
    "association",
    "label_counts",
    "pair_counts",
    "place_rows",
    "rank_rows",
    "rows_at",
    "short_ids",
    "stack_rows",
    "sum_rows",
]

FLOOR = -1e4
"""Replaces log 0 as the score of a pair of labels, so a path with fewer such pairs is better."""

WEAKEST = 1e-9
"""The least number of observations that a prior is worth, so that weights stay finite."""


class KeyIndex:
    """Finds the row of a tuple of ids in a table of tuples.

    Parameters
    ----------
    keys : ndarray of shape (n_keys, n_ids), int32
        Rows in lexicographic order; equal rows are one key.

    Examples
    --------
    >>> import numpy as np
    >>> index = KeyIndex(np.array([[0, 3], [0, 5], [2, 3]]))
    >>> index.rows([np.array([0, 2, 2]), np.array([5, 3, 5])])
    array([ 1,  2, -1], dtype=int32)
    >>> len(index), index.keys.tolist()
    (3, [[0, 3], [0, 5], [2, 3]])
    """

    def __init__(self, keys: np.ndarray):
        first, *others = keys.T
        self._first = np.full(int(first.max(initial=BOUNDARY)) - BOUNDARY + 1, -1, np.int32)
        rank = _rank(first)
        self._first[first - BOUNDARY] = rank
        # Tuples are found id by id: (rank of the ids so far, next id) is one 64-bit key.
        self._levels = []
        for ids in others:
            level = _pack(rank, ids)
            rank = _rank(level)
            self._levels.append(level[np.append(True, level[1:] != level[:-1])[: len(level)]])

    def __len__(self) -> int:
        return len(self._levels[-1]) if self._levels else int(self._first.max()) + 1

    @property
    def keys(self) -> np.ndarray:
        """The keys, int32 of shape (n_keys, n_ids), which are made each time."""
        keys = np.empty((len(self), len(self._levels) + 1), dtype=np.int32)
        rank: np.ndarray = np.arange(len(keys))
        for k in range(len(self._levels), 0, -1):
            packed = self._levels[k - 1][rank]
            rank, keys[:, k] = packed >> 32, (packed & 0xFFFFFFFF) + BOUNDARY
        keys[:, 0] = (np.flatnonzero(self._first >= 0) + BOUNDARY)[rank]
        return keys

    def rows(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Rows of the tuples ``columns[0][t], columns[1][t], ...``; -1 if not in the table."""
        first, *others = columns
        rank = self._first.take(first - BOUNDARY, mode="clip")
        rank[(first < BOUNDARY) | (first >= len(self._first) + BOUNDARY)] = -1
        for level, ids in zip(self._levels, others, strict=True):
            rank = _find(level, rank, ids)
        return rank


def _pack(rank: np.ndarray, ids: np.ndarray) -> np.ndarray:
    keys = rank.astype(np.int64)
    keys <<= 32
    keys += ids
    keys -= BOUNDARY
    return keys


def _rank(increasing: np.ndarray) -> np.ndarray:
    """Dense ranks of increasing values."""
    steps = np.append(False, increasing[1:] != increasing[:-1])[: len(increasing)]
    return np.cumsum(steps, dtype=np.int32)


def _find(level: np.ndarray, rank: np.ndarray, ids: np.ndarray) -> np.ndarray:
    if len(level) == 0:
        return np.full(len(rank), -1, dtype=np.int32)
    wanted = _pack(rank, ids)  # of no key, if rank or id is of none
    at = np.searchsorted(level, wanted)
    at[at == len(level)] = 0
    return np.where(level[at] == wanted, at, -1).astype(np.int32)


def label_counts(table: Table, n_labels: int) -> tuple[np.ndarray, sp.csr_array]:
    """Keys of the attributes of a table, and how often each occurs with each label.

    Returns
    -------
    keys : ndarray of shape (n_keys, n_symbols)
    counts : CSR of shape (n_keys, n_labels)
    """
    return _group_rows(table.events[:, :-1], table.events[:, -1], table.weights, n_labels)


def pair_counts(table: Table, n_labels: int) -> tuple[np.ndarray, sp.csr_array]:
    """Keys of the attributes of a table, and how often each occurs with each pair of labels.

    Returns
    -------
    keys : ndarray of shape (n_keys, n_symbols)
    counts : CSR of shape (n_keys, n_labels ** 2)
        Column ``j * n_labels + i`` is for label i before label j.
    """
    inner = table.events[:, -2] != BOUNDARY
    # One column after another, as this is among the largest tables.
    dtype = np.int32 if n_labels**2 <= np.iinfo(np.int32).max else np.int64
    pairs = table.events[inner, -1].astype(dtype, copy=False)
    pairs *= n_labels
    pairs += table.events[inner, -2]
    keys, counts = _group_rows(table.events[inner, :-2], pairs, table.weights[inner], n_labels**2)
    counts.sort_indices()
    return keys, counts


def _group_rows(keys, columns, values, n_columns: int) -> tuple[np.ndarray, sp.csr_array]:
    """One sparse row for each run of equal keys."""
    new = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)]
    starts = np.append(np.flatnonzero(new), len(new))
    rows = sp.csr_array((values, columns, starts), shape=(len(starts) - 1, n_columns))
    return keys[new], short_ids(rows)


def stack_rows(
    blocks: Iterable[sp.csr_array], n_entries: int | None = None
) -> tuple[sp.csr_array, np.ndarray]:
    """The matrices below each other.

    Parameters
    ----------
    blocks : iterable of CSR of shape (n_rows, n_columns)
        If it makes the matrices one by one, only one of them is in memory at a time.
    n_entries : int, optional
        The number of entries of all matrices, which an iterator needs.

    Returns
    -------
    stack : CSR
    starts : ndarray of shape (n_blocks,)
        The first row of each matrix.
    """
    if n_entries is None:
        blocks = list(blocks)
        n_entries = sum(block.nnz for block in blocks)
    data, indices = np.empty(n_entries), np.empty(n_entries, dtype=np.int32)
    dtype = np.int32 if n_entries <= np.iinfo(np.int32).max else np.int64
    ends, start, n_columns = [np.zeros(1, dtype=dtype)], 0, 0
    for block in blocks:
        n_columns, stop = block.shape[1], start + block.nnz
        data[start:stop], indices[start:stop] = block.data, block.indices
        ends.append(block.indptr[1:].astype(dtype) + dtype(start))
        start = stop
    indptr = np.concatenate(ends)
    starts = np.cumsum([0, *map(len, ends[1:-1])])
    return short_ids(sp.csr_array((data, indices, indptr), (len(indptr) - 1, n_columns))), starts


def short_ids(matrix: sp.csr_array) -> sp.csr_array:
    """The same matrix with indices of 32 bits, if they can hold its shape and size."""
    if max(*matrix.shape, matrix.nnz) > np.iinfo(np.int32).max:
        return matrix
    indices, indptr = (ids.astype(np.int32, copy=False) for ids in (matrix.indices, matrix.indptr))
    return sp.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def rank_rows(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unique rows of non-negative ids in lexicographic order.

    Returns
    -------
    unique : ndarray of shape (n_unique, n_ids)
    first : ndarray of shape (n_unique,)
        Where each occurs first.
    which : ndarray of shape (n_rows,)
        Index of each row among the unique rows.
    """
    which = np.zeros(len(keys), dtype=np.int64)
    first = np.zeros(min(len(keys), 1), dtype=np.int64)
    for ids in keys.T:
        _, first, which = np.unique(_pack(which, ids), return_index=True, return_inverse=True)
    return keys[first], first, which


def sum_rows(counts: sp.csr_array, which: np.ndarray, n_rows: int) -> sp.csr_array:
    """Sums of rows: row r of the result adds the rows k of ``counts`` with ``which[k] == r``.

    Rows with ``which[k] == -1`` are left out.
    """
    used = np.flatnonzero(which >= 0)
    ones = np.ones(len(used))
    sums = sp.csr_array((ones, (which[used], used)), shape=(n_rows, len(which))) @ counts
    sums.sort_indices()
    return sums


def rows_at(matrix: sp.csr_array, rows: np.ndarray) -> sp.csr_array:
    """The rows of a matrix with these numbers; empty rows for numbers below 0."""
    used = rows >= 0
    indptr = np.append(0, np.cumsum(used))
    which = sp.csr_array(
        (np.ones(indptr[-1]), rows[used], indptr), shape=(len(rows), matrix.shape[0])
    )
    return which @ matrix


def place_rows(matrix: sp.csr_array, ids: np.ndarray, n_rows: int) -> sp.csr_array:
    """A matrix of ``n_rows`` rows in which row ``ids[k]`` is row k; the ids increase."""
    lengths = np.zeros(n_rows, dtype=np.int64)
    lengths[ids] = np.diff(matrix.indptr)
    indptr = np.append(0, np.cumsum(lengths))
    return sp.csr_array((matrix.data, matrix.indices, indptr), shape=(n_rows, matrix.shape[1]))


def association(counts: sp.csr_array, prior: np.ndarray, strength: float) -> sp.csr_array:
    """Weights of attributes: log(1 + c / (strength * prior)) for every count c.

    The estimate (c + k q) / (n + k) with prior q and strength k is q times this ratio, up to a
    factor that all labels share; so adding the weights to log q gives the estimate, and they
    are zero for a label never seen with the attribute.

    Parameters
    ----------
    counts : CSR of shape (n_rows, n_columns)
    prior : ndarray of shape (nnz,)
        The prior probability of the column of each entry.
    strength : float
        The prior counts as much as this number of observations.

    Returns
    -------
    CSR of shape (n_rows, n_columns)
    """
    weights = max(strength, WEAKEST) * prior
    np.divide(counts.data, weights, out=weights)
    np.log1p(weights, out=weights)
    return sp.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
