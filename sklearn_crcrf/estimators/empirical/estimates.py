"""Smoothed conditional probabilities of labels, given attributes."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..._kernels._entries import find_entries
from ...counts.rows import KeyIndex

__all__ = ["Estimate", "smooth"]


class Estimate:
    """P(y | attribute), for each label y that occurred with the attribute.

    Parameters
    ----------
    index : KeyIndex
        The row of each attribute.
    counts : CSR of shape (n_attributes, n_labels)
    probability : ndarray of shape (nnz,)
        P(label | attribute) for each entry of ``counts``.
    """

    def __init__(self, index: KeyIndex, counts: sp.csr_array, probability: np.ndarray):
        self._index, self._entries, self._probability = index, _Entries(counts), probability

    def at(self, symbols: Sequence[np.ndarray], labels: np.ndarray) -> np.ndarray:
        """Probabilities of ``labels[k]`` given ``symbols[0][k], symbols[1][k], ...``.

        Each combination must have occurred.
        """
        return self._probability[self._entries.places(self._index.rows(symbols), labels)]


def smooth(counts: sp.csr_array, prior: np.ndarray, strength: float) -> np.ndarray:
    """(c + k q) / (n + k) for every entry c of a row with sum n; q is its prior, k the strength."""
    total = np.repeat(counts.sum(axis=1), np.diff(counts.indptr))
    return (counts.data + strength * prior) / (total + strength)


def entry_values(counts: sp.csr_array, values: np.ndarray, rows, columns) -> np.ndarray:
    """``values`` of the entries (rows[k], columns[k]) of ``counts``.

    Raises
    ------
    ValueError
        If there is no such entry: rounding can lose one if weights of very different sizes are
        counted and forgotten.
    """
    return values[_Entries(counts).places(rows, columns)]


class _Entries:
    """Finds entries of a sparse matrix."""

    def __init__(self, counts: sp.csr_array):
        self._indptr = np.asarray(counts.indptr, dtype=np.int64)
        self._columns = np.asarray(counts.indices, dtype=np.int32)

    def places(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Where the entries stand; ValueError if there is none."""
        places = np.empty(len(rows), dtype=np.int64)
        wanted = (np.ascontiguousarray(ids, dtype=np.int32) for ids in (rows, columns))
        if not find_entries(self._indptr, self._columns, *wanted, places):
            raise ValueError(
                "sample_weight: the weights differ so much in size that rounded counts of words "
                "and of label pairs contradict each other"
            )
        return places
