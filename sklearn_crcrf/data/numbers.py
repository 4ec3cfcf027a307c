"""Tokens that are rows of numbers."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .csr import with_values
from .ragged import SequenceArray, object_array, token_name


def check_finite(X: SequenceArray) -> None:
    """Raise ValueError if a number is not finite; the message says where.

    Parameters
    ----------
    X : SequenceArray
        Any data; only data of a floating-point type is checked.
    """
    found = first_not_finite(X.data)
    if found is not None:
        raise ValueError(f"{token_name('X', X.offsets, found[0])}: {found[1]} is not finite")


def first_not_finite(data: Any) -> tuple[int, Any] | None:
    """Return the row and the value of the first number that is not finite; None if all are.

    Parameters
    ----------
    data : ndarray, CSR or SymbolTable
        Only data of a floating-point type is checked.
    """
    values = _values(data)
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return None
    at = _first_infinite(values)
    return None if at is None else (_row(data, at), values[at])


def as_numbers(X: SequenceArray, dtype: Any) -> np.ndarray | sp.csr_array:
    """Return the rows of all tokens as numbers of one type.

    Parameters
    ----------
    X : SequenceArray of 2-D array or CSR
        Values that are not numbers, such as strings, must be convertible.
    dtype : dtype
        A floating-point type.

    Returns
    -------
    ndarray or CSR of shape (n_tokens, n_attributes)
        The data itself if it is of this type; else a CSR shares the places of its entries.

    Raises
    ------
    ValueError
        If a value cannot be converted, or is not finite in this type; the message says where.
    TypeError
        If a value is neither a number nor a string, as in scikit-learn.

    Examples
    --------
    >>> X = SequenceArray(np.array([["1", "2.5"], ["3", "4e38"]], dtype=object), [0, 1, 2])
    >>> as_numbers(X, np.float64).tolist()
    [[1.0, 2.5], [3.0, 4e+38]]
    >>> as_numbers(X, np.float32)
    Traceback (most recent call last):
        ...
    ValueError: X, sequence 1, position 0: 4e38 is not a finite number of type float32
    """
    data, dtype = X.data, np.dtype(dtype)
    given = _values(data)
    if given.dtype == dtype:
        return data
    with np.errstate(all="ignore"):
        try:
            numbers = given.astype(dtype)
            at = _first_infinite(numbers)
        except TypeError as error:
            raise TypeError(f"{_place(X, _first_odd(given, dtype))}: {error}") from None
        except (ValueError, OverflowError):
            at = _first_odd(given, dtype)
    if at is not None:
        raise ValueError(f"{_place(X, at)}: {given[at]} is not a finite number of type {dtype}")
    return with_values(data, numbers) if sp.issparse(data) else numbers


def _first_infinite(values: np.ndarray) -> tuple | None:
    """Find the first number that is not finite."""
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):  # faster than a look at each value
            return None
    return _first(~np.isfinite(values))


def _first_odd(values: np.ndarray, dtype: np.dtype) -> Any:
    """Return the first value that cannot be converted."""
    wrong = [not _converts(value, dtype) for value in values.ravel()]
    return _first(np.reshape(wrong, values.shape))


def _converts(value: Any, dtype: np.dtype) -> bool:
    try:
        object_array([value]).astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _values(data: Any) -> Any:
    return data.data if sp.issparse(data) else data


def _first(wrong: np.ndarray) -> tuple | None:
    found = np.argwhere(wrong)
    return tuple(found[0]) if len(found) else None


def _row(data: Any, at: tuple) -> int:
    """Return the row of a value."""
    return int(
        np.searchsorted(data.indptr, at[0], side="right") - 1 if sp.issparse(data) else at[0]
    )


def _place(X: SequenceArray, at: tuple) -> str:
    """Return the sequence and position of a value, for an error message."""
    return token_name("X", X.offsets, _row(X.data, at))
