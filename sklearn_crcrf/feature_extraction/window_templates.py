"""Templates that name neighbouring symbols, such as ``"word[-1]|tag[0]"``."""

import re
from collections.abc import Sequence

Places = tuple[tuple[str, int], ...]
"""Columns, and offsets from the token."""


def parse_places(template: str, names: Sequence[str], parameter: str) -> Places:
    """Read a template.

    Parameters
    ----------
    template : str
        Parts like ``"word[-1]"``, joined by ``"|"``.
    names : sequence of str
        The names of the columns.
    parameter : str
        Name of the parameter in error messages.

    Returns
    -------
    tuple of (column, offset)

    Raises
    ------
    ValueError
        If the template is made of other parts, or names a column that is not there.

    Examples
    --------
    >>> parse_places("word[-1]|tag[0]", ["word", "tag"], "templates")
    (('word', -1), ('tag', 0))
    """
    places = []
    for part in re.split(r"(?<=\])\|", template):
        match = re.fullmatch(r"(.+)\[([+-]?\d+)\]", part, re.DOTALL)
        if match is None:
            raise ValueError(
                f"{parameter}: {template!r} must be made of parts like 'word[-1]', joined by '|'"
            )
        if match[1] not in names:
            raise ValueError(
                f"{parameter}: {template!r} needs a column {match[1]!r}, "
                f"but the columns of X are {[*names]}"
            )
        places.append((match[1], int(match[2])))
    return tuple(places)


def places_name(places: Sequence[tuple[str, int]]) -> str:
    """The template that names these places.

    Examples
    --------
    >>> places_name([("word", -1), ("tag", 0), ("tag", 1)])
    'word[-1]|tag[0]|tag[+1]'
    """
    return "|".join(
        f"{column}[{offset:+d}]" if offset else f"{column}[0]" for column, offset in places
    )
