"""Checks of several names or values that the user passes, and default names."""

from collections.abc import Iterable
from reprlib import Repr
from typing import Any

REPR = Repr()
REPR.maxlevel = 3
REPR.maxstring = REPR.maxother = 100
CONTAINERS = (dict, list, tuple, set, frozenset)


def shown(value: Any) -> str:
    """Return the repr of a value for an error message; of containers only the outer levels.

    Examples
    --------
    >>> from sklearn_crcrf.utils.names import shown
    >>> shown("N"), shown([[[["N"]]]])
    ("'N'", '[[[[...]]]]')
    """
    return REPR.repr(value) if isinstance(value, CONTAINERS) else repr(value)


def check_no_string(names: Any, what: str) -> None:
    """Raise ValueError if names are a single string, which would be read as characters.

    Parameters
    ----------
    names : object
    what : str
        Name of the argument in the error message.

    Examples
    --------
    >>> from sklearn_crcrf.utils.names import check_no_string
    >>> check_no_string(["pos"], "edge_columns")
    >>> check_no_string("pos", "edge_columns")
    Traceback (most recent call last):
        ...
    ValueError: edge_columns is the single string 'pos'; put it into a list: ['pos']
    """
    if getattr(names, "shape", None) == ():
        names = names.item()
    if isinstance(names, (str, bytes)):
        raise ValueError(f"{what} is the single string {names!r}; put it into a list: [{names!r}]")


def check_several(values: Any, what: str) -> None:
    """Raise ValueError unless values are an iterable other than a string.

    Parameters
    ----------
    values : object
    what : str
        Name of the argument in the error message.

    Examples
    --------
    >>> from sklearn_crcrf.utils.names import check_several
    >>> check_several([1, 2], "prefixes")
    >>> check_several(4, "prefixes")
    Traceback (most recent call last):
        ...
    ValueError: prefixes must be a list, but is 4
    """
    check_no_string(values, what)
    if not isinstance(values, Iterable) or getattr(values, "shape", None) == ():
        raise ValueError(f"{what} must be a list, but is {values!r}")
