"""Reuse of freed memory."""

import ctypes
from contextlib import suppress

import numpy as np

__all__ = ["release_freed_memory", "retain_freed_memory"]

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


def release_freed_memory() -> None:
    """Let the GNU C library return all freed memory to the system.

    Small pieces that are still in use otherwise keep the freed memory between them, which after
    many changes of tables may be as much as the tables. Other C libraries are not affected.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
