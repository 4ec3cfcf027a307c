"""Which values are missing: None, NaN and pandas.NA; and which have no hash."""

from typing import Any

import numpy as np

from .._kernels.text import strings

# Other libraries leave out tokens with this label.
IGNORED = -100
# Limits of nested tuples.
MOST_LEVELS, MOST_PARTS = 100, 10**5
_NEVER_MISSING = (int, np.integer, np.bool_, bytes, tuple, set, frozenset)


def is_missing(value: Any) -> bool:
    """Say whether a value is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or not bool(value == value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor has an array
        return False


def unusual_types(values: np.ndarray) -> set[type]:
    """Return the types of the values that are not usual labels.

    Usual are strings, numbers other than NaN and -100, and tuples of str, int and None.

    Parameters
    ----------
    values : ndarray of shape (n,)

    Examples
    --------
    >>> unusual_types(np.array(["N", 1, None, 0.5, float("nan")], dtype=object))
    {<class 'NoneType'>, <class 'float'>}
    >>> unusual_types(np.array([1, 2]))
    set()
    """
    if values.dtype == object:
        return strings.unusual_types(values, IGNORED)
    is_usual = values.dtype.kind not in "mM"
    if values.dtype.kind in "if":
        is_usual = not ((values == IGNORED) | (values != values)).any()
    return set() if is_usual else {values.dtype.type}


def are_missing(values: np.ndarray) -> np.ndarray:
    """Say which values of an array are missing.

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
    if not all(issubclass(kind, _NEVER_MISSING) for kind in unusual_types(values)):
        found[:] = [is_missing(item) for item in values.tolist()]
    return found


def endless_hash(items: list | np.ndarray) -> int | None:
    """Find where a tuple is nested so much that its hash crashes CPython, or never ends.

    Examples
    --------
    >>> nested = "N"
    >>> for _ in range(200):
    ...     nested = (nested,)
    >>> endless_hash(["N", ("N", "V"), nested])
    2
    """
    values = np.fromiter(items, object, len(items)) if isinstance(items, list) else items
    if not any(issubclass(kind, tuple) for kind in unusual_types(values)):  # the usual case
        return None
    tuples = {id(item): t for t, item in enumerate(items) if isinstance(item, tuple)}
    return next((t for t in tuples.values() if _is_endless(items[t])), None)


def unhashable(items: list | np.ndarray) -> int | None:
    """Find the first item that has no hash, or a hash that never ends; None if all have one.

    Examples
    --------
    >>> unhashable(["N", ("N", "V"), ["N"]])
    2
    """
    endless = endless_hash(items)
    if endless is not None:
        return endless
    items = items.tolist() if isinstance(items, np.ndarray) else items
    try:
        set(items)
        return None
    except TypeError:
        return next(i for i, item in enumerate(items) if not _is_hashable(item))


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
        return True
    except TypeError:
        return False


def _is_endless(value: tuple) -> bool:
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS):
        level = [part for inner in level for part in inner if isinstance(part, tuple)]
        if not level:
            return False
        if len(level) > MOST_PARTS:
            return True
    return True
