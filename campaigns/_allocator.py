"""A memory allocator that fails on request, loaded before the allocator of the C library."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "campaigns" / "allocator"
LIBRARY = FOLDER / "allocator.so"
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

static atomic_long passing, failing, failed;
static atomic_size_t smallest;
static char caller[64];

/* Counts requests of at least a size, by libraries of a name; after some of them, some fail. */
void allocator_fail(long after, long number, size_t size, const char *library) {
    failed = 0;
    smallest = size;
    strncpy(caller, library, sizeof caller - 1);
    passing = after;
    failing = number;
}

/* How many requests have failed. */
long allocator_stop(void) {
    failing = 0;
    return failed;
}

static int fails(size_t size, void *address) {
    Dl_info from;
    if (failing <= 0 || size < smallest) return 0;
    if (caller[0] && (!dladdr(address, &from) || !strstr(from.dli_fname, caller))) return 0;
    if (atomic_fetch_sub(&passing, 1) > 0) return 0;
    if (atomic_fetch_sub(&failing, 1) <= 0) return 0;
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return 1;
}

#define FAILS(size) fails(size, __builtin_return_address(0))

void *malloc(size_t size) { return FAILS(size) ? NULL : __libc_malloc(size); }

void *calloc(size_t number, size_t size) {
    return FAILS(number * size) ? NULL : __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) { return FAILS(size) ? NULL : __libc_realloc(old, size); }

void *memalign(size_t alignment, size_t size) {
    return FAILS(size) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return FAILS(size) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *found = FAILS(size) ? NULL : __libc_memalign(alignment, size);
    if (found == NULL) return ENOMEM;
    *out = found;
    return 0;
}
"""


def ensure_loaded() -> None:
    """Start this program again with the allocator, unless it has it.

    Raises
    ------
    SystemExit
        If there is no C compiler.
    """
    if os.fspath(LIBRARY) in os.environ.get("LD_PRELOAD", ""):
        return
    compiler = shutil.which("cc")
    if compiler is None:
        sys.exit("this campaign needs a C compiler, cc")
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, made = FOLDER / "allocator.c", FOLDER / f"allocator.{os.getpid()}.so"
    source.write_text(SOURCE)
    options = ["-O1", "-fPIC", "-shared", "-fno-builtin", "-o", made, source]
    subprocess.run([compiler, *options], check=True)
    made.replace(LIBRARY)
    preloaded = f"{LIBRARY} {os.environ.get('LD_PRELOAD', '')}".strip()
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LD_PRELOAD": preloaded})


@contextmanager
def failures(after: int, number: int, size: int, library: str = "") -> Iterator[list[int]]:
    """Let allocations fail.

    Parameters
    ----------
    after : int
        Number of allocations that succeed before.
    number : int
        Number of allocations that then fail.
    size : int
        The smallest number of bytes for which allocations are counted, and fail.
    library : str
        Part of the path of the libraries whose allocations are counted, and fail. Default: all.

    Yields
    ------
    list of int
        Afterwards, the number of allocations that have failed.
    """
    allocator, failed = ctypes.CDLL(None), []
    types = ctypes.c_long, ctypes.c_long, ctypes.c_size_t, ctypes.c_char_p
    allocator.allocator_fail.argtypes = types
    allocator.allocator_fail(after, number, size, library.encode())
    try:
        yield failed
    finally:
        failed.append(allocator.allocator_stop())
