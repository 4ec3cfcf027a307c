"""Headers of ``npy`` files."""

import io
from typing import NamedTuple

import numpy as np

__all__ = ["Header", "read_header"]

READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Header(NamedTuple):
    """The shape and type of an array, and the number of bytes after the header."""

    shape: tuple[int, ...]
    dtype: np.dtype
    n_bytes: int


def read_header(data: bytes) -> Header:
    """Read the header of an ``npy`` file.

    Raises
    ------
    ValueError
        If there is no header. Damaged data may raise other errors too.
    """
    file = io.BytesIO(data)
    shape, _, dtype = READERS[np.lib.format.read_magic(file)](file)
    return Header(shape, dtype, len(data) - file.tell())
