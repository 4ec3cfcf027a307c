"""Sparse rows of counts and weights, how to find the row of an attribute, and sums of rows."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.keys import index_runs
from .._kernels.sparse.weights import add_rows, add_rows_pullback
from ..utils.soundness import Array, Fact, Requirement, indices, setting_state, sparse
from .counts import BOUNDARY, Table, aggregate


class Rows(NamedTuple):
    """The arrays of a CSR matrix; to work on them costs less than on a matrix of SciPy."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Any) -> "Rows":
        """Return the arrays of a matrix, or rows as they are."""
        return cls(matrix.data, matrix.indices, matrix.indptr, matrix.shape)

    @classmethod
    def empty(cls, n_columns: int) -> "Rows":
        """No rows."""
        none = np.empty(0, dtype=np.int32)
        return cls(np.empty(0), none, np.zeros(1, dtype=np.int64), (0, n_columns))

    def csr(self) -> sp.csr_array:
        """Return the matrix, with indices of 32 bits if they can hold its shape and size."""
        indices, indptr = self.indices, self.indptr
        if max(*self.shape, len(self.data)) <= np.iinfo(np.int32).max:
            indices, indptr = (ids.astype(np.int32, copy=False) for ids in (indices, indptr))
        return sp.csr_array((self.data, indices, indptr), shape=self.shape)

    @property
    def lengths(self) -> np.ndarray:
        """The number of entries of each row."""
        return self.indptr[1:] - self.indptr[:-1]

    def repeat(self, values: np.ndarray) -> np.ndarray:
        """Return a value for each entry, given one for each row."""
        return values.repeat(self.lengths)

    def sums(self) -> np.ndarray:
        """Return the sum of each row."""
        filled = self.lengths.nonzero()[0]
        sums = np.zeros(self.shape[0])
        sums[filled] = np.add.reduceat(self.data, self.indptr[filled])
        return sums


class Storable:
    """Stores CSR matrices as their arrays.

    File formats that load only trusted types know arrays, but not always sparse matrices.

    Examples
    --------
    >>> class Weights(Storable):
    ...     pass
    >>> weights = Weights()
    >>> weights.coef = sp.csr_array([[0.0, 2.0]])
    >>> weights.__getstate__()["coef"].data
    array([2.])
    """

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self)
        return state | {k: Rows.of(v) for k, v in state.items() if isinstance(v, sp.csr_array)}

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(vars(self))
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        with setting_state(type(self).__name__):
            matrices = {k: sp.csr_array(v[:3], v[3]) for k, v in state.items() if type(v) is Rows}
            vars(self).update(state | matrices)


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
        _, self._first, self._levels = index_runs(np.asarray(keys, dtype=np.int32))

    @classmethod
    def of_runs(cls, keys: np.ndarray) -> tuple["KeyIndex", np.ndarray]:
        """Return the index of sorted keys, and where the runs of equal ones begin and end."""
        index = cls.__new__(cls)
        starts, index._first, index._levels = index_runs(keys)
        return index, starts

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

    def requirements(self, sizes: Sequence[int]) -> Iterator[Requirement]:
        """Yield the requirements; id k of a key is below ``sizes[k]``."""
        first, levels = self._first, self._levels
        yield indices("_first", first, np.shape(first)[:1], 2**31, BOUNDARY)
        known = np.flatnonzero(first >= 0)
        n_known = len(known)
        in_order = np.array_equal(first[known], np.arange(n_known)) and len(first) > 0
        yield Fact("_first", in_order, "must rise by 1 where it is not -1")
        yield indices("_first", known, (n_known,), sizes[0] - BOUNDARY)
        yield Fact("_levels", len(levels) == len(sizes) - 1, f"must be {len(sizes) - 1}")
        for level, size in zip(levels, sizes[1:], strict=True):
            yield indices("_levels", level, np.shape(level)[:1], 2**63)
            rank = level >> 32
            has_ends = (rank[0], rank[-1]) == (0, n_known - 1) if len(rank) else n_known == 0
            rises = has_ends and bool((np.diff(rank) <= 1).all() and (np.diff(level) > 0).all())
            yield Fact("_levels", rises, f"must rise, with all {n_known} tuples of the ids before")
            yield indices("_levels", level & 0xFFFFFFFF, level.shape, size - BOUNDARY)
            n_known = len(level)


def _find(level: np.ndarray, rank: np.ndarray, ids: np.ndarray) -> np.ndarray:
    if len(level) == 0:
        return np.full(len(rank), -1, dtype=np.int32)
    wanted = rank.astype(np.int64)  # then of no key, if rank or id is of none
    wanted <<= 32
    wanted += ids
    wanted -= BOUNDARY
    at = np.searchsorted(level, wanted)
    at[at == len(level)] = 0
    return np.where(level[at] == wanted, at, -1).astype(np.int32)


def label_counts(table: Table, n_labels: int) -> tuple[KeyIndex, Rows]:
    """Return an index of the attributes of a table, and how often each occurs with each label.

    Returns
    -------
    index : KeyIndex
    counts : Rows of shape (n_keys, n_labels)
    """
    index, starts = KeyIndex.of_runs(table.events[:, :-1])
    shape = len(starts) - 1, n_labels
    return index, Rows(table.weights, table.events[:, -1], starts, shape)


def pair_counts(table: Table, n_labels: int) -> tuple[KeyIndex, Rows]:
    """Index the attributes of a table, and say how often each occurs with each pair of labels.

    Returns
    -------
    index : KeyIndex
    counts : Rows of shape (n_keys, n_labels ** 2)
        Column ``j * n_labels + i`` is for label i before label j.
    """
    inner = table.events[:, -2] != BOUNDARY
    *symbols, previous, current = (ids[inner] for ids in table.events.T)
    events, weights = aggregate([*symbols, current, previous], table.weights[inner], inner.sum())
    index, starts = KeyIndex.of_runs(events[:, :-2])
    dtype = np.int32 if n_labels**2 <= np.iinfo(np.int32).max else np.int64
    pairs: np.ndarray = events[:, -2].astype(dtype)
    pairs *= n_labels
    pairs += events[:, -1]
    return index, Rows(weights, pairs, starts, (len(starts) - 1, n_labels**2))


def stack_rows(blocks: Iterable[Any], n_entries: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return the matrices below each other.

    Parameters
    ----------
    blocks : iterable of CSR or Rows of shape (n_rows, n_columns)
        If it makes the matrices one by one, only one of them is in memory at a time.
    n_entries : int
        The number of entries of all matrices.

    Returns
    -------
    stack : CSR
    starts : ndarray of shape (n_blocks,)
        The first row of each matrix.
    """
    data, indices = np.empty(n_entries), np.empty(n_entries, dtype=np.int32)
    dtype = np.int32 if n_entries <= np.iinfo(np.int32).max else np.int64
    ends, start, n_columns = [np.zeros(1, dtype=dtype)], 0, 0
    for block in blocks:
        n_columns, stop = block.shape[1], start + len(block.data)
        data[start:stop], indices[start:stop] = block.data, block.indices
        ends.append(np.add(block.indptr[1:], start, dtype=dtype, casting="same_kind"))
        start = stop
    indptr = np.concatenate(ends)
    starts = np.cumsum([0, *map(len, ends[1:-1])])
    return Rows(data, indices, indptr, (len(indptr) - 1, n_columns)).csr(), starts


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
    """Return the rows of a matrix with these numbers; empty rows for numbers below 0."""
    used = rows >= 0
    indptr = np.append(0, np.cumsum(used))
    which = sp.csr_array(
        (np.ones(indptr[-1]), rows[used], indptr), shape=(len(rows), matrix.shape[0])
    )
    return which @ matrix


def place_rows(rows: Rows, index: KeyIndex, n_rows: int) -> Rows:
    """``n_rows`` rows, of which row k is the row of the key k; the boundary has none."""
    lengths, known = np.zeros(n_rows + 1, dtype=np.int64), index._first[1 : n_rows + 1]
    lengths[1 : len(known) + 1] = np.append(rows.lengths, 0)[known]  # 0 of others, which are -1
    first = 0 if len(index) == 0 or index._first[0] < 0 else int(rows.indptr[1])
    shape = n_rows, rows.shape[1]
    return Rows(rows.data[first:], rows.indices[first:], np.cumsum(lengths), shape)


def association(counts: Rows, prior: np.ndarray, strength: float) -> Rows:
    """Weights of attributes: log(1 + c / (strength * prior)) for every count c.

    The estimate (c + k q) / (n + k) with prior q and strength k is q times this ratio, up to a
    factor that all labels share; so adding the weights to log q gives the estimate, and they
    are zero for a label never seen with the attribute.

    Parameters
    ----------
    counts : Rows of shape (n_rows, n_columns)
    prior : ndarray of shape (nnz,)
        The prior probability of the column of each entry.
    strength : float
        The prior counts as much as this number of observations.

    Returns
    -------
    Rows of shape (n_rows, n_columns)
    """
    return counts._replace(data=log_ratios(counts.data, prior, strength))


def log_ratios(
    counts: np.ndarray, prior: np.ndarray, strength: float, out: np.ndarray | None = None
) -> np.ndarray:
    """Return log(1 + c / (strength * prior)) for every count c, as :func:`association`."""
    weights = np.multiply(max(strength, WEAKEST), prior, out=out)
    np.divide(counts, weights, out=weights)
    return np.log1p(weights, out=weights)


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
    def of_one(cls, coef: sp.csr_array | Rows, exponents: np.ndarray) -> "StateWeights":
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

    def requirements(
        self, sizes: Sequence[int], exponents: tuple[int, int], n_labels: int
    ) -> Iterator[Requirement]:
        """Yield the requirements; blocks have ``sizes`` rows, ``exponents`` is a shape."""
        yield from sparse("coef", self.coef, (int(sum(sizes)), n_labels))
        yield Array("exponents", self.exponents, exponents)
        starts = np.cumsum([0, *sizes[:-1]])
        yield indices("starts", self.starts, starts.shape, sum(sizes) + 1)
        yield Fact("starts", np.array_equal(self.starts, starts), f"must be {starts}")

    def _weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays of weights; of indptr, one of the largest of a model, no copy."""
        coef = self.coef
        return coef.indptr, coef.indices.astype(np.int32, copy=False), coef.data
