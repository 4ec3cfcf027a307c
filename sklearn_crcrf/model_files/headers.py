"""Headers of ``npy`` files."""

import io
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

__all__ = ["Header", "read_header"]

# In bytes; NumPy refuses longer headers.
LONGEST = 2**16
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# How many bytes come before the text of a header, the last of which are its length.
START, LENGTH = {1: 10, 2: 12}, slice(8, 12)
# Arrays of one shape have the same header: how many headers are kept, and their largest size.
KEPT, SHORT = 256, 512


class Header(NamedTuple):
    """The shape and type of an array, the number of bytes after the header, and their order."""

    shape: tuple[int, ...]
    dtype: np.dtype
    n_bytes: int
    order: Literal["C", "F"]


def read_header(data: bytes | bytearray) -> Header:
    """Read the header of an ``npy`` file.

    Raises
    ------
    ValueError
        If there is no header. Damaged data may raise other errors too.
    """
    first = START.get(data[6] if len(data) > LENGTH.stop else 0, 0)
    stop = first + int.from_bytes(data[LENGTH][: first - LENGTH.start], "little")
    read = _read if stop <= SHORT else _read.__wrapped__
    header = read(bytes(memoryview(data)[: min(stop or SHORT, LONGEST)]))
    return header._replace(n_bytes=len(data) - header.n_bytes)


@lru_cache(KEPT)
def _read(start: bytes) -> Header:
    """A header, with its own number of bytes."""
    file = io.BytesIO(start)
    shape, is_fortran, dtype = READERS[np.lib.format.read_magic(file)](file)
    return Header(shape, dtype, file.tell(), "F" if is_fortran else "C")
