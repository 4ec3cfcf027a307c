"""File systems that only this process sees, and that vanish when it ends."""

import ctypes
import os
from pathlib import Path

__all__ = ["can_mount", "mount_small"]

NEW_NAMESPACE = 0x20000
RECURSIVE, PRIVATE = 1 << 14, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def can_mount() -> bool:
    """Give this process its own mounts; False if it lacks permission."""
    return _libc.unshare(NEW_NAMESPACE) == 0 and _mount(b"none", b"/", None, RECURSIVE | PRIVATE)


def mount_small(folder: Path, n_bytes: int) -> None:
    """Mount a file system in memory, of limited size, on a folder."""
    if not _mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={n_bytes}".encode()):
        raise OSError(ctypes.get_errno(), "cannot mount a file system in memory", str(folder))


def _mount(
    source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None
) -> bool:
    return _libc.mount(source, target, kind, ctypes.c_ulong(flags), options) == 0
