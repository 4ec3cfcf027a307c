"""Reuse of freed memory."""

from contextlib import suppress

import numpy as np

__all__ = ["retain_freed_memory"]

# Larger pieces have no effect on the GNU C library.
LARGEST = 31 * 2**20


def retain_freed_memory() -> None:
    """Let the GNU C library keep freed memory of large arrays for the next ones.

    By default it returns large pieces to the system, which clears them before they are used
    again: for arrays that are made repeatedly, that takes longer than filling them. Freeing one
    large piece raises its threshold. Other C libraries are not affected, and nothing changes if
    there is no memory for such a piece.
    """
    with suppress(MemoryError):
        np.empty(LARGEST, dtype=np.int8)
