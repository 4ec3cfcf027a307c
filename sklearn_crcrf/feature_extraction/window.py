"""Neighbouring symbols, alone and joined."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..symbols import SymbolTable
from ._base import SymbolTransformer

__all__ = ["Window"]

_BOUNDARY = "<boundary>"
_LARGEST_KEY = 2**62

_Template = tuple[tuple[str, int], ...]


class Window(SymbolTransformer):
    """Make columns of neighbouring symbols, and of neighbouring symbols joined to one.

    Outside the sequence every symbol is ``"<boundary>"``. Symbols are joined by ``"|"``; where a
    symbol itself contains ``"|"`` or a backslash, a backslash is put before it, so that different
    neighbours never look the same. A join with a missing symbol is missing. Nothing is learned in
    fit, and the input's own columns are not kept, except as offset 0.

    Parameters
    ----------
    templates : sequence of int, tuple of int, or str, default=(-1, 0, 1)
        The columns to make. An int is the symbol that many positions to the right (negative: to
        the left), of every column. A tuple of ints is the symbols at these offsets joined, of
        every column. A str names the columns too, as in ``"word[-1]"`` or
        ``"word[0]|tag[+1]"``.

    Attributes
    ----------
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
    token[-1] ['<boundary>', 'a', 'b']
    token[0]|token[+1] ['a|b', 'b|c', 'c|<boundary>']

    The usual template for chunking, over words and part-of-speech tags:

    >>> words = [f"word[{i}]" for i in range(-2, 3)] + ["word[-1]|word[0]", "word[0]|word[1]"]
    >>> tags = [f"tag[{i}]" for i in range(-2, 3)]
    >>> tags += [f"tag[{i}]|tag[{i + 1}]" for i in range(-2, 2)]
    >>> tags += [f"tag[{i}]|tag[{i + 1}]|tag[{i + 2}]" for i in range(-2, 1)]
    >>> X = Window(words + tags).transform([[{"word": "Dogs", "tag": "NNS"}]])
    >>> X.shape
    (1, 19)
    """

    def __init__(self, templates: Sequence[int | tuple[int, ...] | str] = (-1, 0, 1)):
        self.templates = templates

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        return [_name(template) for template in _expand(self.templates, names)]

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        templates = _expand(self.templates, table.names)
        neighbours = _Neighbours(table, lengths)
        columns = [_join([neighbours.column(*part) for part in t]) for t in templates]
        codes = np.array([c.codes for c in columns], dtype=np.int32)
        return SymbolTable(
            codes.reshape(len(columns), len(table)).T,
            [c.symbols for c in columns],
            [_name(template) for template in templates],
        )


class _Column(NamedTuple):
    codes: np.ndarray
    symbols: np.ndarray


class _Neighbours:
    """The columns of a table, moved by any offset within their sequences."""

    def __init__(self, table: SymbolTable, lengths: np.ndarray):
        self.table = table
        starts = np.cumsum(lengths) - lengths
        self.before = np.arange(len(table)) - np.repeat(starts, lengths)
        self.after = np.repeat(lengths, lengths) - 1 - self.before
        self.column = lru_cache(maxsize=None)(self._column)

    def _column(self, name: str, offset: int) -> _Column:
        j = self.table.names.index(name)
        codes, symbols = self.table.codes[:, j], self.table.categories[j]
        if offset == 0:
            return _Column(codes, symbols)
        boundary = np.flatnonzero(symbols == _BOUNDARY)
        if len(boundary) == 0:
            boundary, symbols = [len(symbols)], np.append(symbols, _BOUNDARY)
        outside = self.before < -offset if offset < 0 else self.after < offset
        moved = np.roll(codes, -offset)
        moved[outside] = boundary[0]
        return _Column(moved, symbols)


def _join(columns: list[_Column]) -> _Column:
    """One column whose symbols are the combinations that occur."""
    if len(columns) == 1:
        return columns[0]
    key, size = columns[0].codes.astype(np.int64), len(columns[0].symbols)
    absent = key < 0
    for codes, symbols in columns[1:]:
        if size * len(symbols) > _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1]
            size = len(key)
        key = key * len(symbols) + codes
        size *= len(symbols)
        absent |= codes < 0
    present = np.flatnonzero(~absent)
    _, first, inverse = np.unique(key[present], return_index=True, return_inverse=True)
    joined = np.full(len(key), -1, dtype=np.int32)
    joined[present] = inverse
    parts = [_escape(symbols)[codes[present[first]]] for codes, symbols in columns]
    symbols = np.empty(len(first), dtype=object)
    symbols[:] = ["|".join(combination) for combination in zip(*parts, strict=True)]
    return _Column(joined, symbols)


def _escape(symbols: np.ndarray) -> np.ndarray:
    escaped = [s.replace("\\", "\\\\").replace("|", "\\|") for s in symbols]
    return np.array(escaped, dtype=object)


def _name(template: _Template) -> str:
    return "|".join(
        f"{column}[{offset:+d}]" if offset else f"{column}[0]" for column, offset in template
    )


def _expand(templates: Sequence, names: tuple[str, ...]) -> list[_Template]:
    """Every template as its columns and offsets, each column in turn where none is named."""
    expanded = []
    for template in templates:
        if isinstance(template, str):
            expanded.append(_parse(template, names))
        else:
            offsets = template if isinstance(template, tuple) else (template,)
            if not offsets or not all(isinstance(o, (int, np.integer)) for o in offsets):
                raise ValueError(
                    f"templates: {template!r} must be an int, a tuple of ints or a str"
                )
            expanded += [tuple((name, int(o)) for o in offsets) for name in names]
    return expanded


def _parse(template: str, names: tuple[str, ...]) -> _Template:
    parts = []
    for part in re.split(r"(?<=\])\|", template):
        match = re.fullmatch(r"(.+)\[([+-]?\d+)\]", part, re.DOTALL)
        if match is None:
            raise ValueError(
                f"templates: {template!r} must be made of parts like 'word[-1]', joined by '|'"
            )
        if match[1] not in names:
            raise ValueError(
                f"templates: {template!r} needs a column {match[1]!r}, "
                f"but the columns of X are {[*names]}"
            )
        parts.append((match[1], int(match[2])))
    return tuple(parts)
