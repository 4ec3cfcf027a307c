"""Labels that are hardly meant as labels."""

import warnings
from numbers import Real
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray
from .encoding import token_error

__all__ = ["refuse_ignored", "warn_of_spaces"]

IGNORED = -100


def refuse_ignored(y: SequenceArray, name: str = "y") -> None:
    """Raise ValueError if labels are numbers from 0 on, and -100, which other libraries leave out.

    Parameters
    ----------
    y : SequenceArray of 1-D data
    name : str
        Name of the labels in error messages.

    Examples
    --------
    >>> refuse_ignored(SequenceArray.from_sequences([[-100, 0, 3]]))
    Traceback (most recent call last):
     ...
    ValueError: y, sequence 0, position 0: the label is -100, which some libraries leave out; ...
    """
    data = y.data
    if data.dtype == object:
        numbers = [label for label in _different(data) if isinstance(label, Real)]
        if IGNORED not in numbers or min(set(numbers) - {IGNORED}, default=0) < 0:
            return
        is_ignored = np.array([isinstance(label, Real) and label == IGNORED for label in data])
    elif data.dtype.kind in "if":
        is_ignored = data == IGNORED
        if not is_ignored.any() or (data[~is_ignored] < 0).any():
            return
    else:
        return
    what = (
        f"the label is {IGNORED}, which some libraries leave out; write None for an unknown label, "
        "or leave out the token"
    )
    raise token_error(y, int(np.argmax(is_ignored)), name, what)


def warn_of_spaces(y: SequenceArray, name: str = "y", stacklevel: int = 2) -> None:
    """Warn if labels have spaces in them, as where the labels of a sentence are not split.

    Parameters
    ----------
    y : SequenceArray of 1-D data
    name : str
    stacklevel : int, default=2
        As in :func:`warnings.warn`.
    """
    if y.data.dtype.kind not in "OU":
        return
    for label in _different(y.data):
        if isinstance(label, str) and len(label.split()) > 1:
            warnings.warn(
                f"{name} has the label {label!r}, with spaces in it; if it holds the labels of "
                f"several tokens, split it, for example by [labels.split() for labels in {name}]",
                stacklevel=stacklevel + 1,
            )
            return


def _different(labels: np.ndarray) -> Any:
    """The different labels, or all if some are not hashable."""
    items = labels.tolist()
    try:
        return dict.fromkeys(items)
    except TypeError:
        return items
