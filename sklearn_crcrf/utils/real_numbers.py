"""Arrays of real numbers from what the user passes."""

from typing import Any

import numpy as np


def real_numbers(values: Any, message: str) -> np.ndarray:
    """Numbers as an array of float64.

    Parameters
    ----------
    values : number or array-like
    message : str
        Of the error.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If they are no numbers, such as dates, or complex numbers, whose imaginary part would be
        lost.

    Examples
    --------
    >>> real_numbers([1, 2], "weights must be numbers")
    array([1., 2.])
    >>> real_numbers([1, 2j], "weights must be numbers")
    Traceback (most recent call last):
     ...
    ValueError: weights must be numbers, not complex ones
    """
    try:
        array = np.asarray(values)
        items = array.ravel().tolist() if array.dtype == object else []
        if array.dtype.kind == "c" or any(map(np.iscomplexobj, items)):
            message += ", not complex ones"
        elif array.dtype.kind not in "mM":
            return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(message)
