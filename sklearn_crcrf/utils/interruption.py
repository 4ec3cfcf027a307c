"""Ctrl-C on the command line, also while the package is being imported."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STATUS = 130
MESSAGE = b"sklearn-crcrf: error: interrupted\n"


def install() -> None:
    """Let Ctrl-C write one line and end the process from now on, unless it is ignored.

    Imports take seconds, during which KeyboardInterrupt could be raised anywhere.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
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


def _end(number: int, frame: Any) -> None:
    os.write(2, MESSAGE)
    os._exit(STATUS)
