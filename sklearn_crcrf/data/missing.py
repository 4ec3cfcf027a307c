"""Which values are missing: None, NaN and pandas.NA; and which have no hash."""

from typing import Any

import numpy as np

from .._kernels._interning import are_strings

__all__ = ["are_missing", "endless_hash", "is_missing"]

# Limits of nested tuples.
MOST_LEVELS, MOST_PARTS = 100, 10**5


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or not bool(value == value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor has an array
        return False


def are_missing(values: np.ndarray) -> np.ndarray:
    """Which values of an array are missing.

    Parameters
    ----------
    values : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,), bool

    Examples
    --------
    >>> are_missing(np.array(["N", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    found = np.zeros(len(values), dtype=bool)
    if values.dtype != object or values.ndim != 1:
        return found
    items = values.tolist()
    if are_strings(items):  # the usual case, in a fraction of the time
        return found
    try:
        if endless_hash(items) is None and not any(map(is_missing, set(items))):
            return found
    except TypeError:  # sets are not hashable
        pass
    found[:] = [is_missing(item) for item in items]
    return found


def endless_hash(items: list) -> int | None:
    """The position of a tuple that is nested so much that its hash crashes CPython, or never ends.

    Examples
    --------
    >>> nested = "N"
    >>> for _ in range(200):
    ...     nested = (nested,)
    >>> endless_hash(["N", ("N", "V"), nested])
    2
    """
    tuples = {id(item): t for t, item in enumerate(items) if isinstance(item, tuple)}
    return next((t for t in tuples.values() if _is_endless(items[t])), None)


def _is_endless(value: tuple) -> bool:
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS):
        level = [part for inner in level for part in inner if isinstance(part, tuple)]
        if not level:
            return False
        if len(level) > MOST_PARTS:
            return True
    return True
