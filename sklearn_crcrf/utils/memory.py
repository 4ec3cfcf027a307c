"""How much memory there is, and reuse of freed memory."""

import ctypes
import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

# Larger pieces have no effect on the GNU C library.
LARGEST = 31 * 2**20
# Less than this number of bytes is taken without a look at how much there is.
SMALL = 2**27


@cache
def retain_freed_memory() -> None:
    """Let the GNU C library keep freed memory of large arrays for the next ones.

    By default it returns large pieces to the system, which clears them before they are used
    again: for arrays that are made repeatedly, that takes longer than filling them. Freeing one
    large piece raises its threshold, once and for all: a second piece would come from kept memory,
    which numpy would ask the system to hold in pages of 2 MB from then on. Other C libraries are
    not affected, and nothing changes if there is no memory for such a piece.
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


def available_memory() -> float:
    """Return the number of bytes that this process can still take; infinity if that is not known.

    The least of what the system, the control group and the limit of the process leave.
    """
    left = [math.inf]
    with suppress(OSError, ValueError, AttributeError):
        left.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        left += [1024.0 * int(it.split()[1]) for it in lines if it.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        cached = sum(int(stat.get(f"{kind}_file", 0)) for kind in ("active", "inactive"))
        left.append(float(limit - used + cached))
    with suppress(OSError, ValueError, ImportError, IndexError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            left.append(float(limit - pages * os.sysconf("SC_PAGE_SIZE")))
    return max(min(left), 0.0)


def require_memory(n_bytes: float, what: str, instead: str) -> None:
    """Raise an error before work that would take more memory than there is.

    Parameters
    ----------
    n_bytes : float
        How much the work needs at least.
    what : str
        What needs it, as the subject of the message.
    instead : str
        What the user may do instead.

    Raises
    ------
    ValueError
        If less memory is available.

    Examples
    --------
    >>> require_memory(1e6, "the table", "leave out rows")
    >>> require_memory(1e18, "the table", "leave out rows")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: the table would take 1,000,000,000.0 GB of memory, but ... are available; leave ...
    """
    if n_bytes > SMALL and n_bytes > (left := available_memory()):
        raise ValueError(
            f"{what} would take {n_bytes / 1e9:,.1f} GB of memory, but {left / 1e9:,.1f} GB are "
            f"available; {instead}"
        )
