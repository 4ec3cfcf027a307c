"""Counts that are small when they move from one worker to another."""

import copyreg
import io
import pickle
import zlib
from typing import Any

import numpy as np

from ..counts import Table

__all__ = ["Packed"]

# The lowest level is several times as fast as the highest, and nearly as good.
LEVEL = 1


class Packed:
    """A value with tables of counts, which are stored in few bytes when the value is pickled.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> import pickle
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count
    >>> from sklearn_crcrf.dask.packing import Packed
    >>> part = count(EmpiricalCRF(), [["the", "dog"]] * 9, [["D", "N"]] * 9)
    >>> small = pickle.dumps(Packed(part))
    >>> len(small) < len(pickle.dumps(part)) / 2, pickle.loads(small).value.counts == part.counts
    (True, True)
    """

    def __init__(self, value: Any):
        self.value = value

    def __reduce__(self) -> tuple:
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, protocol=5)
        pickler.dispatch_table = {**copyreg.dispatch_table, Table: _narrow}
        pickler.dump(self.value)
        return _unpacked, (zlib.compress(stream.getbuffer(), LEVEL),)

    def __sizeof__(self) -> int:
        return self.value.__sizeof__()


def _unpacked(data: bytes) -> Packed:
    return Packed(pickle.loads(zlib.decompress(data)))


def _narrow(table: Table) -> tuple:
    """A table as columns of the smallest types of integers that hold their values."""
    columns = [_narrowest(ids) for ids in table.events.T]
    as_integers = table.weights.astype(np.int64)
    exact = np.array_equal(as_integers, table.weights)
    return _widen, (columns, _narrowest(as_integers) if exact else table.weights)


def _narrowest(numbers: np.ndarray) -> np.ndarray:
    least, largest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    return numbers.astype(np.promote_types(np.min_scalar_type(least), np.min_scalar_type(largest)))


def _widen(columns: list[np.ndarray], weights: np.ndarray) -> Table:
    events = np.empty((len(weights), len(columns)), dtype=np.int32, order="F")
    for j, ids in enumerate(columns):
        events[:, j] = ids
    return Table(events, weights.astype(np.float64))
