"""Tables of weighted events, an event being a row of ids."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._kernels.sparse.keys import count_rows, merge_events

__all__ = [
    "BOUNDARY",
    "Table",
    "aggregate",
    "count_events",
    "cut",
    "frequent",
    "merge",
    "split",
    "subtract",
]

BOUNDARY = -1
"""The symbol, and the label, of every position outside the sequence."""

# Sums of weights that are not integers cancel only up to rounding.
_ROUNDING = 1e-9


class Table(NamedTuple):
    """The counts of one template.

    Parameters
    ----------
    events : ndarray of shape (n_events, n_symbols + n_labels), int32
        The ids of the symbols and labels that occurred together; rows are unique and sorted.
    weights : ndarray of shape (n_events,), float64
        How often they occurred together, or the sum of the weights of the tokens; positive.
    """

    events: np.ndarray
    weights: np.ndarray


def aggregate(columns: Iterable[np.ndarray], weights: np.ndarray, n_events: int) -> Table:
    """Sum the weights of equal rows; the columns hold ids from BOUNDARY upwards.

    Rows whose weights are zero are left out.
    """
    return count_events(((ids, 0) for ids in columns), np.zeros(1, np.int64), weights, n_events)


def count_events(
    columns: Iterable[tuple[np.ndarray, int]],
    offsets: np.ndarray,
    weights: np.ndarray,
    n_events: int,
) -> Table:
    """The same for rows of the ids at an offset from each token, BOUNDARY outside its sequence.

    Parameters
    ----------
    columns : iterable of (ndarray of shape (n_events,), int)
        Ids of tokens, and an offset. An array that no other offset needs is made by an iterator
        when it is its turn, so that only one of them is in memory.
    offsets : ndarray of shape (n_sequences + 1,), int64
    weights : ndarray of shape (n_events,) or (1,)
    n_events : int
    """
    ids = ((np.ascontiguousarray(ids, dtype=np.int32), shift) for ids, shift in columns)
    return Table(*count_rows(ids, offsets, np.ascontiguousarray(weights, np.float64), n_events))


def split(table: Table, n_parts: int) -> list[Table]:
    """One table for each first id 0, 1, ...: its rows, without that id."""
    bounds = np.searchsorted(table.events[:, 0], np.arange(n_parts + 1))
    return [Table(table.events[a:b, 1:], table.weights[a:b]) for a, b in pairwise(bounds)]


def cut(table: Table, n_ids: int, size: int) -> Iterator[Table]:
    """Neighbouring rows, at least ``size`` at a time; equal first ``n_ids`` ids stay together.

    At least one table is yielded.
    """
    events, weights = table
    start, keys = 0, events[:, :n_ids]
    while True:
        stop = min(start + size, len(events))
        while 0 < stop < len(events) and (keys[stop] == keys[stop - 1]).all():
            stop += 1
        yield Table(events[start:stop], weights[start:stop])
        if stop == len(events):
            return
        start = stop


def merge(a: Table, b: Table, sign: float = 1.0) -> Table:
    """The rows of both tables with summed weights; weights of ``b`` count times ``sign``."""
    return Table(*merge_events(*_sorted(a), *_sorted(b), sign))


def _sorted(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The arrays of a table, as kernels take them."""
    return np.asfortranarray(table.events, dtype=np.int32), np.ascontiguousarray(table.weights)


def subtract(a: Table, b: Table) -> Table:
    """``a`` minus ``b``; an event is dropped if only a rounding error of its weight is left."""
    left = merge(a, b, -1.0)
    # If b has no event that a lacks, left has the rows of a.
    if len(left.weights) > len(a.weights) or (left.weights < -_ROUNDING * a.weights).any():
        raise ValueError("some of these sequences were never counted, so they cannot be removed")
    kept = left.weights > _ROUNDING * a.weights
    return _some(left, kept)


def frequent(table: Table, n_ids: int, least: float) -> Table:
    """The rows whose first ``n_ids`` ids have a sum of weights of at least ``least``."""
    events, weights = table
    begins = np.append(True, (events[1:, :n_ids] != events[:-1, :n_ids]).any(axis=1))
    starts = np.flatnonzero(begins[: len(events)])
    sums = np.add.reduceat(weights, starts) if len(starts) else weights
    return _some(table, np.repeat(sums >= least, np.diff([*starts, len(events)])))


def _some(table: Table, chosen: np.ndarray) -> Table:
    """Some of the rows, in the layout of all tables."""
    return Table(np.asfortranarray(table.events[chosen]), table.weights[chosen])
