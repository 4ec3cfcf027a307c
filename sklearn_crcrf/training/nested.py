"""Fits inside of another fit, all of which one interrupt ends.

An estimator whose training is interrupted keeps the best weights so far, and its fit returns. If
it were a part of another estimator, that would go on to train its next part.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

__all__ = ["Stop", "check_not_stopped", "is_nested", "nested_fits"]


class Stop:
    """Whether the fits inside of another shall end.

    Parameters
    ----------
    outer : Stop, optional
        Of the fit inside of which the other is.
    """

    def __init__(self, outer: Self | None = None):
        self._outer, self._is_set = outer, False

    def set(self) -> None:
        """From now on they shall end."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether they shall end."""
        return self._is_set or (self._outer is not None and self._outer.is_set())


_stop: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def nested_fits(stop: Stop | None = None) -> Iterator[Stop]:
    """Meanwhile estimators that are interrupted raise KeyboardInterrupt, and keep nothing.

    Parameters
    ----------
    stop : Stop, optional
        What this context yields in the main thread, if this is another one: interrupts come to
        the main thread only. Iterative training ends when it is set.

    Yields
    ------
    Stop
        It is set when this context is interrupted.
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
    """Whether a fit is inside of another."""
    return _stop.get() is not None


def check_not_stopped() -> None:
    """Raise KeyboardInterrupt if the fit inside of which another is shall end."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt
