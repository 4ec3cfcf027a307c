"""Interrupts of long calls, and of fits nested in another fit, which one interrupt ends together.

When its training is interrupted, an estimator keeps the best weights so far, and its fit returns.
An estimator that trains others must not take this for success and train the next one.
"""

import weakref
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import current_thread, main_thread
from typing import Any, Self


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
        """Say whether nested fits shall end."""
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
    """Say whether this code runs in a nested fit."""
    return _stop.get() is not None


def check_not_stopped() -> None:
    """Raise KeyboardInterrupt if nested fits shall end."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


def interruptible(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function so that Ctrl-C takes effect before it returns.

    The function runs in another thread. After an interrupt the thread goes on until the function
    returns, and the result is lost.

    Parameters
    ----------
    function : callable
        Must not change objects that are used after an interrupt.
    *args, **kwargs
        Arguments of the function.

    Returns
    -------
    object
        The result of the function.

    Raises
    ------
    Exception
        Any exception that the function raises.
    MemoryError
        If there is too little memory to start a thread; ``threading.Thread`` would wait forever.

    Examples
    --------
    >>> from sklearn_crcrf.training import interruptible
    >>> interruptible(sorted, [2, 1], reverse=True)
    [2, 1]
    """
    # Only the main thread receives signals.
    if current_thread() is not main_thread():
        return function(*args, **kwargs)
    future: Future = Future()

    def run() -> None:
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)

    runs = weakref.ref(run)
    try:
        start_new_thread(copy_context().run, (run,))
    except RuntimeError:  # there can be no more threads; then an interrupt has to wait
        return function(*args, **kwargs)
    del run
    while not wait([future], timeout=1.0).done:
        if runs() is None and not future.done():
            raise MemoryError("a thread ended before it began")
    return future.result()
