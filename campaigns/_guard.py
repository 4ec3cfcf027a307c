"""Prevents and reports forbidden actions of model files, by the audit events of Python."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from _campaign import Wrong

import sklearn_crcrf

FORBIDDEN = (
    *("os.", "shutil.", "subprocess.", "socket.", "tempfile.", "pickle.", "ctypes.", "urllib."),
    *("http.", "ftplib.", "smtplib.", "webbrowser.", "pty.", "signal.", "code.", "sqlite3."),
)
HARMLESS = {"os.listdir", "os.scandir", "os.putenv", "os.unsetenv"}
WRITES = {"open", "os.remove", "os.rename", "os.link", "os.mkdir", "os.rmdir", "os.chmod"}
WRITES |= {"os.chown", "tempfile.mkstemp"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_is_on, _is_installed, _writable, _tried = False, False, None, []


# Kernels are imported by the modules that use them, for the instruction set in use; modules of
# integrations need the packages that they are named after, and so does torch.
NOT_IMPORTED = (
    *("sklearn_crcrf._kernels", "sklearn_crcrf.__main__"),
    *("sklearn_crcrf.integrations.", "sklearn_crcrf.torch"),
    *("sklearn_crcrf.linear.on_device", "sklearn_crcrf.structures.chain.on_device"),
)


def import_all() -> list[ModuleType]:
    """Import the whole package: its imports must not look like actions of a file."""
    found = walk_packages(sklearn_crcrf.__path__, "sklearn_crcrf.")
    return [import_module(it.name) for it in found if not it.name.startswith(NOT_IMPORTED)]


@contextmanager
def guarded(writable: str | None = None) -> Iterator[None]:
    """Within this context nothing may be written, deleted, started, unpickled or run from a string.

    Parameters
    ----------
    writable : str, optional
        A folder in which files may be written and deleted nevertheless.

    Raises
    ------
    Wrong
        At the end, if any such action was tried; the action is prevented.
    """
    global _is_on, _is_installed, _writable
    if not _is_installed:
        import_all()
        sys.addaudithook(_watch)
        sys.dont_write_bytecode = True
        _is_installed = True
    _tried.clear()
    _writable = None if writable is None else os.path.realpath(writable)
    _is_on = True
    try:
        yield
    finally:
        _is_on = False
        if _tried:
            event, details = _tried[0]
            raise Wrong(f"a model file caused {event}", details)


def _watch(event: str, details: tuple[Any, ...]) -> None:
    if _is_on and _is_forbidden(event, details):
        _tried.append((event, str(details)[:200]))
        raise PermissionError(f"{event} is not allowed here")


def _is_forbidden(event: str, details: tuple[Any, ...]) -> bool:
    if event == "open" and not details[2] & WRITING:
        return False
    if event in WRITES and _writable is not None:
        named = details[:1] if event == "open" else details
        paths = [path for path in named if isinstance(path, str | bytes | os.PathLike)]
        return not all(os.path.realpath(os.fsdecode(path)).startswith(_writable) for path in paths)
    if event == "compile":  # modules have the names of their files
        return details[1] == "<string>"
    return event in WRITES or (event.startswith(FORBIDDEN) and event not in HARMLESS)
