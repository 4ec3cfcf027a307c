"""Obstacles to a save."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from _mounts import can_mount, mount_read_only

__all__ = ["OBSTACLES"]

NOBODY = 65534

Obstacle = Iterator[tuple[Path, tuple[type[Exception], ...]]]
"""Where to save to instead, and how that may be refused."""


@contextmanager
def _read_only(path: Path) -> Obstacle:
    """The folder may not be written to."""
    if os.geteuid() or not can_mount():
        with _as_somebody_else(path) as found:
            yield found
        return
    mount_read_only(path.parent.resolve())
    yield path, (OSError,)


@contextmanager
def _as_somebody_else(path: Path) -> Obstacle:
    """The folder belongs to others; root becomes nobody for this."""
    path.parent.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        own = Path.cwd()
        # The folders that this campaign has made, up to the one for everybody's.
        while own.stat().st_uid == 0 and stat.S_IMODE(own.stat().st_mode) == 0o700:
            own.chmod(0o711)
            own = own.parent
        path.chmod(0o644)
        os.seteuid(NOBODY)
    try:
        yield path, (PermissionError,)
    finally:
        if is_root:
            os.seteuid(0)
        path.parent.chmod(0o755)


@contextmanager
def _special(path: Path, make: Callable[[Path], Any]) -> Obstacle:
    """The path is something other than a file."""
    make(path.parent / "special")
    yield path.parent / "special", (ValueError, OSError)


@contextmanager
def _nowhere(path: Path) -> Obstacle:
    """The folder does not exist, or is a file."""
    yield path / "below a file", (OSError,)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _link_to_folder(path: Path) -> None:
    path.symlink_to(".")


OBSTACLES: dict[str, Callable] = {
    "a folder for reading only": _read_only,
    "a folder of somebody else": _as_somebody_else,
    "no folder": _nowhere,
    "a folder": partial(_special, make=Path.mkdir),
    "a pipe": partial(_special, make=os.mkfifo),
    "a loop of links": partial(_special, make=_loop),
    "a link to a folder": partial(_special, make=_link_to_folder),
}
"""By name: contexts of the path of a model, which yield where to save, and what that raises."""
