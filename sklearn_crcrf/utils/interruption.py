"""What Ctrl-C does to the command line, also before there is anything that could be kept."""

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
    """From now on Ctrl-C writes a line and ends the process, if it is that of the command line.

    Imports take seconds, in which an exception could come from anywhere.
    """
    if _is_command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def raised() -> Iterator[None]:
    """Meanwhile it raises KeyboardInterrupt, as it does in other processes."""
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
    if program == "-m":  # what Python puts there until it has found the module
        return ("-m", __package__.partition(".")[0]) in pairwise(sys.orig_argv)
    return program.removesuffix(".exe").removesuffix("-script.py") == "sklearn-crcrf"


def _end(number: int, frame: Any) -> None:
    os.write(2, MESSAGE)
    os._exit(STATUS)
