"""Tables in few bytes, to be sent and stored."""

from typing import NamedTuple

import numpy as np

from .counts import BOUNDARY, Table

__all__ = ["PackedTable", "pack", "unpack"]

_LARGEST = np.iinfo(np.uint32).max


class PackedTable(NamedTuple):
    """The rows of a table, in the narrowest types of integers.

    Parameters
    ----------
    steps : ndarray of shape (n_events,), unsigned integers
        By how much the first id of a row exceeds the first id of the row before, which is BOUNDARY
        before the first row.
    ids : list of ndarray of shape (n_events,), unsigned integers
        The other ids, minus BOUNDARY.
    weights : ndarray of shape (n_events,)
        Unsigned integers, or float64 if some of the weights are not integers.
    """

    steps: np.ndarray
    ids: list[np.ndarray]
    weights: np.ndarray


def pack(table: Table) -> PackedTable:
    """Pack a table.

    Examples
    --------
    >>> table = Table(np.array([[-1, 7], [0, 5]], dtype=np.int32), np.array([2.0, 1.0]))
    >>> [part.nbytes for part in (table.events, *pack(table).ids)], pack(table).steps.dtype
    ([16, 2], dtype('uint8'))
    >>> unpack(pack(table)).events.tolist()
    [[-1, 7], [0, 5]]
    """
    events, weights = table
    first, *others = events.T
    steps = np.diff(first, prepend=np.int32(BOUNDARY))
    whole = weights.max(initial=0.0) <= _LARGEST and bool((weights == np.floor(weights)).all())
    packed = _narrow(weights.astype(np.uint32)) if whole else weights
    return PackedTable(_narrow(steps), [_narrow(ids - BOUNDARY) for ids in others], packed)


def unpack(packed: PackedTable) -> Table:
    """The table again, the same bits."""
    n_events, n_ids = len(packed.weights), 1 + len(packed.ids)
    events = np.empty((n_events, n_ids), dtype=np.int32, order="F")
    np.cumsum(packed.steps, out=events[:, 0])
    for j, ids in enumerate(packed.ids, start=1):
        events[:, j] = ids
    events += BOUNDARY
    return Table(events, packed.weights.astype(np.float64))


def _narrow(values: np.ndarray) -> np.ndarray:
    """Integers that are not negative, in the narrowest type."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
