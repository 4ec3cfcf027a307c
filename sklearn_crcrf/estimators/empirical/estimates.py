"""Smoothed conditional probabilities of labels, given attributes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._kernels.sparse.columns import find_entries
from ...counts.rows import KeyIndex
from ...counts.storage import Rows

__all__ = ["Estimate", "entry_values", "smooth"]


class Estimate(NamedTuple):
    """P(y | attribute), for each label y that occurred with the attribute.

    Parameters
    ----------
    keys : KeyIndex
        The row of each attribute.
    counts : Rows of shape (n_attributes, n_labels)
    probability : ndarray of shape (n_entries,)
        P(label | attribute) for each entry of ``counts``.
    """

    keys: KeyIndex
    counts: Rows
    probability: np.ndarray

    def at(self, symbols: Sequence[np.ndarray], wanted: Rows) -> np.ndarray:
        """The probabilities of the entries of rows, given the symbols of each row.

        Each combination must have occurred.
        """
        rows = wanted.repeat(self.keys.rows(symbols))
        return entry_values(self.counts, self.probability, rows, wanted.indices)


def smooth(counts: np.ndarray, total: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    """(c + k q) / (n + k) for every count c of n; q is its prior, k the strength."""
    return (counts + strength * prior) / (total + strength)


def entry_values(
    counts: Rows, values: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """``values`` of the entries (rows[k], columns[k]) of ``counts``.

    Raises
    ------
    ValueError
        If there is no such entry: rounding can lose one if weights of very different sizes are
        counted and forgotten.
    """
    places = np.empty(len(rows), dtype=np.int64)
    of_counts = counts.indptr.astype(np.int64, copy=False), counts.indices
    wanted = (np.ascontiguousarray(ids, dtype=np.int32) for ids in (rows, columns))
    if not find_entries(*of_counts, *wanted, places):
        raise ValueError(
            "sample_weight: the weights differ so much in size that rounded counts of words "
            "and of label pairs contradict each other"
        )
    return values[places]
