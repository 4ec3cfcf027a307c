"""Products of vectors and matrices that are too small to be shared by threads."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["in_one_thread"]


def in_one_thread() -> AbstractContextManager:
    """Meanwhile the linear algebra of numpy and scipy does not start threads.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.utils.linear_algebra import in_one_thread
    >>> with in_one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    # To look for them takes milliseconds, in which Python does not notice Ctrl-C.
    return ThreadpoolController()
