"""Linear algebra on matrices too small for several threads."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def in_one_thread() -> AbstractContextManager:
    """Within this context the linear algebra of numpy and scipy uses one thread.

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


# The search takes milliseconds, in which Python does not notice Ctrl-C.
_libraries = cache(ThreadpoolController)
