"""Ctrl-C on the command line, also while the package is being imported."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

__all__ = ["STATUS", "install", "raised"]

STATUS = 130
MESSAGE = b"sklearn-crcrf: error: interrupted\n"


def install() -> None:
    """In a process of the command line, let Ctrl-C write one line and end the process.

    Imports take seconds, during which KeyboardInterrupt could be raised anywhere.
    """
    if _is_command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def raised() -> Iterator[None]:
    """Within this context Ctrl-C raises KeyboardInterrupt, as in other processes."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        signal.signal(signal.SIGINT, _end)


def _is_command_line() -> bool:
    """Whether this is ``sklearn-crcrf`` or ``python -m sklearn_crcrf``."""
    program = os.path.basename(getattr(sys, "argv", [""])[0]).lower()
    if program == "-m":  # the value of sys.argv[0] until Python has found the module
        return ("-m", __package__.partition(".")[0]) in pairwise(sys.orig_argv)
    return program.removesuffix(".exe").removesuffix("-script.py") == "sklearn-crcrf"


def _end(number: int, frame: Any) -> None:
    os.write(2, MESSAGE)
    os._exit(STATUS)
