"""Long calls of code that does not check for signals."""

import weakref
from _thread import start_new_thread
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import current_thread, main_thread
from typing import Any

__all__ = ["interruptible"]


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
