"""Expansion of templates: the columns of symbols that they make from a table."""

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_

import numpy as np

from .._kernels.sparse.keys import number_keys
from ..data.symbols import SymbolTable
from ..data.vocabulary import JoinedStrings, Vocabulary
from ._neighbours import Column, Neighbours, combine
from ._regexp import find
from .template_syntax import FeatureTemplate, Macro, Syntax


class Expansion:
    """Makes the columns of symbols of templates from one table."""

    def __init__(self, table: SymbolTable, order: list[int], lengths: np.ndarray, syntax: Syntax):
        self.neighbours = Neighbours(lengths)
        self.outside = syntax.outside
        self.n_tokens = len(table)
        self.columns = [Column(table.codes[:, j], table.categories[j].tolist()) for j in order]
        self.moved = lru_cache(maxsize=None)(self._moved)
        self.symbols = lru_cache(maxsize=None)(self._symbols)
        self.contains = lru_cache(maxsize=None)(self._contains)

    def column(self, template: FeatureTemplate) -> Column:
        """The column of a template; its symbols are all different."""
        macros = [macro._replace(where="") for macro in template.macros]
        if not macros:
            text = "".join(map(str, template.parts))
            column = Column(np.zeros(self.n_tokens, dtype=np.int32), [text])
        elif len(template.parts) == 1:
            column = self.symbols(macros[0])
        else:
            column = self.joined(template.parts, macros)
        if template.kind == "b":  # there is no transition into a first token
            column = column._replace(codes=column.codes.copy())
            column.codes[self.neighbours.first] = -1
        return column

    def joined(self, parts: Sequence[str | Macro], macros: list[Macro]) -> Column:
        """One column of the symbols of several macros, joined with the text around them."""
        columns = [self.symbols(macro) for macro in macros]
        codes, combinations = combine(columns)
        inserted = zip([column.symbols for column in columns], combinations, strict=True)
        text_code = np.zeros(combinations.shape[1], dtype=np.int32)
        joined = [next(inserted) if isinstance(p, Macro) else ([p], text_code) for p in parts]
        symbols = JoinedStrings([texts for texts, _ in joined], [code for _, code in joined])
        return _merge_alike(Column(codes, symbols), self.doubtful(parts, macros, combinations))

    def doubtful(
        self, parts: Sequence[str | Macro], macros: list[Macro], combinations: np.ndarray
    ) -> np.ndarray:
        """Which combinations may give the same string, like "a/b", "c" and "a", "b/c"."""
        none = np.zeros(combinations.shape[1], dtype=bool)
        between = _texts_between(parts)
        if not all(between):
            return ~none
        flags = [
            self.contains(macro, character)[row]
            for macro, row in zip(macros, combinations, strict=True)
            for character in {*"".join(between)}
        ]
        return reduce(or_, flags, none)

    def _contains(self, macro: Macro, character: str) -> np.ndarray:
        """Which symbols contain a character."""
        return np.array([character in s for s in self.symbols(macro).symbols], dtype=bool)

    def _symbols(self, macro: Macro) -> Column:
        """The column of symbols that replace a macro."""
        column = self.moved(macro.column, macro.offset, macro.absolute)
        symbols = column.symbols
        if macro.regexp is not None:
            start, stop = find(macro.regexp, symbols)
            if macro.command == "t":
                symbols = np.where(start < 0, "false", "true").tolist()
            else:
                places = zip(symbols, start.tolist(), stop.tolist(), strict=True)
                symbols = [symbol[a:b] if a >= 0 else "" for symbol, a, b in places]
        if macro.lower:
            symbols = [symbol.lower() for symbol in symbols]
        return _unique(Column(column.codes, symbols))

    def _moved(self, j: int, offset: int, absolute: bool) -> Column:
        if offset == 0 and not absolute:
            return self.columns[j]
        positions = self.neighbours.counted if absolute else self.neighbours.beside
        return self.neighbours.move(self.columns[j], positions(offset), self.outside)


def _texts_between(parts: Sequence[str | Macro]) -> list[str]:
    """The texts between neighbouring macros."""
    texts, text = [], None
    for part in parts:
        if not isinstance(part, Macro):
            text = part
        else:
            texts.append(text or "")
            text = None
    return texts[1:]


def _unique(column: Column) -> Column:
    """The column with one code for each symbol."""
    if len(set(column.symbols)) == len(column.symbols):
        return column
    vocabulary = Vocabulary()
    ids = vocabulary.add(column.symbols)
    return Column(np.append(ids, np.int32(-1))[column.codes], vocabulary.symbols)


def _merge_alike(column: Column, doubtful: np.ndarray) -> Column:
    """The column with one code for each symbol; only ``doubtful`` symbols may be equal before."""
    at = np.flatnonzero(doubtful)
    ids = Vocabulary().add(column.symbols[at])
    _, first = number_keys(ids.astype(np.int64))
    if len(first) == len(ids):
        return column
    chosen = np.arange(len(column.symbols))
    chosen[at] = at[first[ids]]
    kept = np.flatnonzero(chosen == np.arange(len(chosen)))
    code = np.searchsorted(kept, chosen).astype(np.int32)
    return Column(np.append(code, np.int32(-1))[column.codes], column.symbols[kept])
