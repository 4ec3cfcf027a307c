"""The order of the rows of a frame by their positions in sequences."""

import re
from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np

_INTEGER = re.compile(r"[+-]?[0-9]+")


def rows_in_order(
    sequence: np.ndarray, position: np.ndarray, values: Iterable[Any], name: str
) -> np.ndarray:
    """The order of the rows that puts sequences together, with tokens in order.

    Parameters
    ----------
    sequence : ndarray of int of shape (n_rows,)
        The number of the sequence of each row.
    position : ndarray of int of shape (n_rows,)
        The place of the position of each row in ``values``.
    values : ndarray or list of n_values positions
        Different positions. If there is text among them, all must be numbers, and are ordered as
        numbers.
    name : str
        Name of the positions in error messages.

    Returns
    -------
    ndarray of int of shape (n_rows,)

    Raises
    ------
    ValueError
        If positions have no order, or a sequence has two rows of one position.

    Examples
    --------
    >>> rows_in_order(np.array([0, 0, 0]), np.array([0, 1, 2]), ["1", "10", "2"], "t")
    array([0, 2, 1])
    """
    rank = _ranks(values, position, name)[position]
    order = np.lexsort([rank, sequence])
    alike = (np.diff(sequence[order]) == 0) & (np.diff(rank[order]) == 0)
    if alike.any():
        i = int(np.argmax(alike))
        first, second = order[i], order[i + 1]
        raise ValueError(
            f"{name}: row {second} has the sequence and position of row {first}; each token of a "
            "sequence needs a position of its own, and sequences of several documents different "
            "names, as from pandas.concat(frames, keys=range(len(frames)))"
        )
    return order


def _ranks(values: Iterable[Any], position: np.ndarray, name: str) -> np.ndarray:
    """The rank of each position, equal for equal numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufmM":
        return np.unique(values, return_inverse=True)[1]
    values = list(values)
    if any(isinstance(value, str) for value in values):
        numbers = [_number(value) for value in values]
        if None in numbers:
            i = numbers.index(None)
            raise ValueError(
                f"{name}: positions must be numbers, or all be written as numbers, but in row "
                f"{int(np.argmax(position == i))} there is {values[i]!r}"
            )
        values = numbers
    try:
        rank = {value: i for i, value in enumerate(sorted(set(values)))}
    except TypeError as error:
        raise ValueError(f"{name}: positions have no order: {error}") from None
    return np.array([rank[value] for value in values], dtype=np.int64)


def _number(value: Any) -> Any:
    """A number, or text as a number; None if it is neither."""
    if not isinstance(value, str):
        return value if isinstance(value, Number) else None
    text = value.strip()
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 1000 else None
    try:
        number = float(text.replace("_", "?"))  # Python takes 1_0 for 10
    except ValueError:
        return None
    return number if np.isfinite(number) else None
