"""Which values are missing: None, NaN and pandas.NA."""

from typing import Any

import numpy as np

from .._kernels._interning import are_strings

__all__ = ["are_missing", "is_missing"]


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
        if not any(map(is_missing, set(items))):
            return found
    except TypeError:  # sets are not hashable
        pass
    found[:] = [is_missing(item) for item in items]
    return found
