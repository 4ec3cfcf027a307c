"""Entries of parameters and attributes that several docstrings share."""

import re
from collections.abc import Callable, Mapping
from inspect import cleandoc, isclass, isfunction, unwrap
from textwrap import indent
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable)

PLACE = re.compile(r"^( *)\{(\w[\w, ]*)\}(?=$| )", re.MULTILINE)


def entries_of(text: str) -> dict[str, str]:
    """Return the entries of a text like a section of a docstring, by what is before the type.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict

    Examples
    --------
    >>> entries_of('''
    ... C : float, default=1.0
    ...     How much the loss counts.
    ... X, y : array
    ... ''')
    {'C': 'C : float, default=1.0\\n    How much the loss counts.', 'X, y': 'X, y : array'}
    """
    entries = re.split(r"^(?=\S)", cleandoc(text) + "\n", flags=re.MULTILINE)
    return {re.split(" : |\n", entry)[0]: entry.rstrip() for entry in entries if entry.strip()}


def filling(entries: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Decorate a function, or a class and its methods, whose docstrings get the entries.

    A name in braces at the beginning of a line stands for the entry of this name; what follows in
    the line continues its text. Without docstrings, as under ``python -OO``, there is nothing to
    fill.

    Parameters
    ----------
    entries : mapping from str to str

    Returns
    -------
    callable

    Raises
    ------
    KeyError
        When it is applied, if there is no such entry.

    Examples
    --------
    >>> @filling(entries_of('''
    ... sigma : float, default=1.0
    ...     Width of the prior.
    ... '''))
    ... class Model:
    ...     '''A model.
    ...
    ...     Parameters
    ...     ----------
    ...     {sigma}
    ...     '''
    >>> print(Model.__doc__)
    A model.
    <BLANKLINE>
        Parameters
        ----------
        sigma : float, default=1.0
            Width of the prior.
    <BLANKLINE>
    """

    def entry(place: re.Match) -> str:
        indentation, name = place.groups()
        return indent(entries[name], indentation)

    def fill(documented: Documented) -> Documented:
        members = vars(documented).values() if isclass(documented) else ()
        wrapped = map(unwrap, members)  # what ``available_if`` hides
        for part in (documented, *filter(isfunction, (*members, *wrapped))):
            if part.__doc__:
                part.__doc__ = PLACE.sub(entry, part.__doc__)
        return documented

    return fill
