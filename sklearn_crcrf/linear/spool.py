"""Objects in a file of their own, whose arrays are mapped into memory only while they are used."""

import mmap
import os
import pickle
import tempfile
from typing import Any, NamedTuple

__all__ = ["Spool"]

ALIGNMENT = 64


class _Place(NamedTuple):
    """Where an object stands: its state, then its arrays, all relative to ``start``."""

    start: int
    size: int
    state: slice
    arrays: list[slice]


class Spool:
    """A list of objects on disk that only this process reads, and that vanishes with it.

    Parameters
    ----------
    folder : str or path-like
        Where there is room. The file has no name there once it is open, where the system can do
        that, so nothing is left of it even if the process is killed.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> from sklearn_crcrf.linear.spool import Spool
    >>> with tempfile.TemporaryDirectory() as folder, Spool(folder) as spool:
    ...     spool.append({"x": np.arange(3)})
    ...     len(spool), spool[0]
    (1, {'x': array([0, 1, 2])})
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115, the spool closes it
        self._places: list[_Place] = []

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove all objects; arrays that are in use stay."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def append(self, item: Any) -> None:
        """Write an object."""
        buffers: list[pickle.PickleBuffer] = []
        state = pickle.dumps(item, protocol=5, buffer_callback=buffers.append)
        start = _up(self._file.seek(0, os.SEEK_END), mmap.ALLOCATIONGRANULARITY)
        slices, place = [], 0
        pieces: list[bytes | memoryview] = [state, *(buffer.raw() for buffer in buffers)]
        for data in pieces:
            self._file.seek(start + place)
            self._file.write(data)
            slices.append(slice(place, place + len(data)))
            place = _up(place + len(data), ALIGNMENT)
        self._file.truncate(start + place)
        self._file.flush()
        self._places.append(_Place(start, place, slices[0], slices[1:]))

    def __getitem__(self, number: int) -> Any:
        """Read an object; its arrays cannot be written to."""
        start, size, state, arrays = self._places[number]
        mapped = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
        if hasattr(mmap, "MADV_WILLNEED"):
            mapped.madvise(mmap.MADV_WILLNEED)
        view = memoryview(mapped)
        return pickle.loads(view[state], buffers=[view[array] for array in arrays])


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
