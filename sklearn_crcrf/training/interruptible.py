"""Calls that last long, of code that does not look for signals."""

import weakref
from _thread import start_new_thread
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import current_thread, main_thread
from typing import Any

__all__ = ["interruptible"]


def interruptible(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function such that Ctrl-C does not wait for its end.

    It is called in another thread, which goes on after an interrupt until the function returns,
    and whose result is then lost.

    Parameters
    ----------
    function : callable
        Changes nothing that is used after an interrupt.
    *args, **kwargs
        Of the function.

    Returns
    -------
    object
        What the function returns.

    Raises
    ------
    Exception
        What the function raises.
    MemoryError
        If there is too little memory for a thread; that of the standard library would be waited for
        without end.

    Examples
    --------
    >>> from sklearn_crcrf.training import interruptible
    >>> interruptible(sorted, [2, 1], reverse=True)
    [2, 1]
    """
    # Signals come to the main thread only.
    if current_thread() is not main_thread():
        return function(*args, **kwargs)
    future: Future = Future()

    def run() -> None:
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)

    runs = weakref.ref(run)
    start_new_thread(copy_context().run, (run,))
    del run
    while not wait([future], timeout=1.0).done:
        if runs() is None and not future.done():
            raise MemoryError("a thread ended before it began")
    return future.result()
