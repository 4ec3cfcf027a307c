"""Neighbouring symbols, alone and joined."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable, table_of
from ..data.vocabulary import JoinedStrings
from ..serving.columns import as_neighbours, as_parts, outside
from ..utils.names import check_several, shown
from ._base import SymbolTransformer
from ._neighbours import Column, Neighbours, combine
from .presets import TEMPLATES, preset_templates
from .word_column import HasWordColumn

Places = tuple[tuple[str, int], ...]
"""Columns, and offsets from the token."""


@dataclass(eq=False, repr=False)
class Window(HasWordColumn, SymbolTransformer):
    """Make columns of neighbouring symbols, single or joined.

    Symbols outside the sequence are ``"<boundary-1>"``, ``"<boundary-2>"``, ... before its first
    token, and ``"<boundary+1>"``, ``"<boundary+2>"``, ... after its last one. Symbols are joined by
    ``"|"``; a join with a missing symbol is missing. Backslashes escape what would make different
    neighbours look the same. Input columns are kept only if the templates contain offset 0.

    Parameters
    ----------
    templates : str or sequence of int, tuple of int, or str, default=(-1, 0, 1)
        The columns to make. An int is an offset: the symbol that many positions to the right
        (negative: to the left), of every column. A tuple of ints joins the symbols at these
        offsets, of every column. A str names the columns too, as in ``"word[-1]"`` or
        ``"word[0]|tag[+1]"``. ``"names"``,
        ``"chunks"`` and ``"tags"`` stand for the templates of :func:`text_features`, of which
        the templates of the token are for the column with the most different words.

    Attributes
    ----------
    column_ : str or None
        The column that holds the token; None if the templates are given one by one.
    feature_names_in_ : ndarray of str objects
        Names of the columns seen in fit; token strings are one column ``"token"``.

    See Also
    --------
    TokenFeatures : Columns that describe the spelling of tokens.
    SequenceVectorizer : From columns of symbols to a sparse matrix.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import Window
    >>> X = Window([-1, (0, 1)]).transform([["a", "b", "c"]])
    >>> for name in X.data.names:
    ...     print(name, X.data.column(name).tolist())
    token[-1] ['<boundary-1>', 'a', 'b']
    token[0]|token[+1] ['a|b', 'b|c', 'c|<boundary+1>']

    The usual template for chunking, over words and part-of-speech tags:

    >>> words = [f"word[{i}]" for i in range(-2, 3)] + ["word[-1]|word[0]", "word[0]|word[1]"]
    >>> tags = [f"tag[{i}]" for i in range(-2, 3)]
    >>> tags += [f"tag[{i}]|tag[{i + 1}]" for i in range(-2, 2)]
    >>> tags += [f"tag[{i}]|tag[{i + 1}]|tag[{i + 2}]" for i in range(-2, 1)]
    >>> X = Window(words + tags).transform([[{"word": "Dogs", "tag": "NNS"}]])
    >>> X.shape
    (1, 19)
    """

    templates: str | Sequence[int | tuple[int, ...] | str] = (-1, 0, 1)

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        token = self._known_column(names)
        return [places_name(template) for template in _expand(self.templates, names, token)]

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        token = None
        if _is_preset(self.templates):
            token = table.names[self._place_of_column(table, lengths)]
        templates = _expand(self.templates, table.names, token)
        columns = map(_Symbols(table, lengths).join, templates)
        return table_of(columns, len(table), [*map(places_name, templates)])

    def tagger_step(self, names: tuple[str, ...]) -> list:
        """As in :class:`SymbolTransformer`."""
        expanded = _expand(self.templates, names, self._known_column(names))
        templates = [[*map(list, template)] for template in expanded]
        return ["window", templates, self._names_out(names)]

    def _choose_column(self, X: SequenceArray) -> str | None:
        return super()._choose_column(X) if _is_preset(self.templates) else None

    def _how_to_name(self, column: str) -> str:
        return f"choose with text_features(columns=[{column!r}, ...]), or write the templates out"


class _Symbols:
    """The columns of a table, moved by any offset within their sequences."""

    def __init__(self, table: SymbolTable, lengths: np.ndarray):
        self.table = table
        self.neighbours = Neighbours(lengths)
        self.column = lru_cache(maxsize=None)(self._column)
        self.moved = lru_cache(maxsize=None)(self._moved)
        self.part = lru_cache(maxsize=None)(self._part)

    def _column(self, name: str, offset: int) -> Column:
        if offset != 0:
            positions = self.neighbours.beside(offset)
            return self.neighbours.move(self.moved(name), positions, outside)
        j = self.table.place(name)
        return Column(self.table.codes[:, j], self.table.categories[j].tolist())

    def _moved(self, name: str) -> Column:
        """Escape the symbols of a column so that none looks like a boundary."""
        codes, symbols = self.column(name, 0)
        return Column(codes, as_neighbours(symbols))

    def _part(self, name: str, offset: int) -> list[str]:
        """Escape the symbols of a column, which are joined by a bar."""
        symbols = self.column(name, offset).symbols
        text = "".join(symbols)  # usually nothing is to be escaped
        return as_parts(symbols) if "|" in text or "\\" in text else symbols

    def join(self, template: Places) -> Column:
        """Make the column of a template; its symbols are the combinations that occur."""
        columns = [self.column(*place) for place in template]
        if len(columns) == 1:
            return columns[0]
        codes, combinations = combine(columns)
        parts = [self.part(*place) for place in template]
        return Column(codes, JoinedStrings(parts, combinations, separator="|"))


def _is_preset(templates: Any) -> bool:
    return isinstance(templates, str) and templates in TEMPLATES


def _expand(templates: str | Sequence, names: tuple[str, ...], token: str | None) -> list[Places]:
    """Every template as pairs of column and offset; without names, once for each column."""
    if isinstance(templates, str) and _is_preset(templates):
        first = [*([token] if token in names else []), *(n for n in names if n != token)]
        templates = preset_templates(templates, first)
    check_several(templates, "templates")
    expanded = []
    for template in templates:
        if isinstance(template, str):
            expanded.append(parse_places(template, names, "templates"))
        else:
            offsets = template if isinstance(template, tuple) else (template,)
            if not offsets or not all(isinstance(o, (int, np.integer)) for o in offsets):
                raise ValueError(
                    f"templates: {shown(template)} must be an int, a tuple of ints or a str"
                )
            expanded += [tuple((name, int(o)) for o in offsets) for name in names]
    return expanded


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
    """Return the template that names these places.

    Examples
    --------
    >>> places_name([("word", -1), ("tag", 0), ("tag", 1)])
    'word[-1]|tag[0]|tag[+1]'
    """
    return "|".join(
        f"{column}[{offset:+d}]" if offset else f"{column}[0]" for column, offset in places
    )
