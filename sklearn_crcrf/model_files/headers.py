"""Headers of ``npy`` files."""

import io
from typing import Literal, NamedTuple

import numpy as np

__all__ = ["Header", "read_header"]

# In bytes; NumPy refuses longer headers.
LONGEST = 2**16
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


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
    file = io.BytesIO(memoryview(data)[:LONGEST])
    shape, is_fortran, dtype = READERS[np.lib.format.read_magic(file)](file)
    return Header(shape, dtype, len(data) - file.tell(), "F" if is_fortran else "C")
