"""How memory is asked for."""

from contextlib import suppress

import numpy as np

__all__ = ["retain_freed_memory"]

# The most that the C library of GNU takes note of.
LARGEST = 31 * 2**20


def retain_freed_memory() -> None:
    """Let the C library keep freed memory of the size of some arrays for the next ones.

    By default it gives such memory back to the system, which clears it before it is used again:
    for arrays that are made again and again, that takes longer than to fill them. The GNU C
    library learns from a large piece that is freed; others do as they do. Where there is no memory
    for such a piece, nothing changes.
    """
    with suppress(MemoryError):
        np.empty(LARGEST, dtype=np.int8)
