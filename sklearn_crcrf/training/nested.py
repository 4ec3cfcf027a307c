"""Fits nested in another fit, which one interrupt ends together.

When its training is interrupted, an estimator keeps the best weights so far, and its fit returns.
An estimator that trains others must not take this for success and train the next one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

__all__ = ["Stop", "check_not_stopped", "is_nested", "nested_fits"]


class Stop:
    """Whether nested fits shall end.

    Parameters
    ----------
    outer : Stop, optional
        The Stop of the surrounding fit; it ends these fits too.
    """

    def __init__(self, outer: Self | None = None):
        self._outer, self._is_set = outer, False

    def set(self) -> None:
        """Let nested fits end."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether nested fits shall end."""
        return self._is_set or (self._outer is not None and self._outer.is_set())


_stop: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def nested_fits(stop: Stop | None = None) -> Iterator[Stop]:
    """Within this context interrupted estimators raise KeyboardInterrupt and keep no weights.

    Parameters
    ----------
    stop : Stop, optional
        In another thread, the Stop that this context yielded in the main thread, which alone
        receives interrupts. Iterative training ends when it is set.

    Yields
    ------
    Stop
        Set when this context is interrupted.
    """
    stop = stop or Stop(_stop.get())
    token = _stop.set(stop)
    try:
        yield stop
    except KeyboardInterrupt:
        stop.set()
        raise
    finally:
        _stop.reset(token)


def is_nested() -> bool:
    """Whether this code runs in a nested fit."""
    return _stop.get() is not None


def check_not_stopped() -> None:
    """Raise KeyboardInterrupt if nested fits shall end."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt
