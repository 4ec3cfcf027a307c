"""What symbols of spans are made from: columns of tokens, and functions."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...data.ragged import SequenceArray
from ...data.symbols import SymbolTable
from ...feature_extraction.spelling import spelling_table
from .span_symbols import SpanSymbols
from .span_table import following_tokens

__all__ = ["OF_WORDS", "SegmentFunction", "SpanSource"]

#: The features that are made of the tokens rather than of a column by name.
OF_WORDS = ("string", "around", "shape")

# Stand for the token before the first and after the last token of a sequence.
BEFORE, AFTER = "^", "$"

SegmentFunction = Callable[[Any], Callable[[int, int], Any]]


class SpanSource:
    """Sequences, as what symbols of spans are made from.

    Parameters
    ----------
    X : SequenceArray
    table : SymbolTable
        Its symbols.
    column : str, optional
        The column of the token.
    """

    def __init__(self, X: SequenceArray, table: SymbolTable, column: str | None):
        self._X, self._table, self._column = X, table, column
        self._following = following_tokens(X.offsets)

    def runs(self, feature: Any, start: np.ndarray, length: np.ndarray) -> list[tuple[str, ...]]:
        """The symbols of some spans, in order; spans without one are left out."""
        stop = start + length
        if not isinstance(feature, str):
            return self._called_runs(feature, start, stop)
        symbols, codes = self._symbols(feature)
        tokens = [symbols[code] if code >= 0 else "" for code in codes.tolist()]
        spans = zip(start.tolist(), stop.tolist(), strict=True)
        if feature == "around":
            edges = self._edges()
            return [
                (BEFORE if edges[a] else tokens[a - 1], AFTER if edges[b] else tokens[b])
                for a, b in spans
            ]
        return [tuple(tokens[a:b]) for a, b in spans if feature != "string" or b - a > 1]

    def find(
        self, feature: Any, symbols: SpanSymbols, max_length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start, length and number of the symbol of all spans that have one."""
        if not isinstance(feature, str):
            return self._find_called(feature, symbols, max_length)
        ids = symbols.numbered(*self._symbols(feature))
        if feature != "around":
            return symbols.find(ids, self._following)
        edges, known = self._edges(), symbols.vocabulary.lookup([BEFORE, AFTER])
        before = np.where(edges[:-1], known[0], np.roll(ids, 1))
        after = np.where(edges[1:], known[1], np.roll(ids, -1))
        found = []
        for length in range(1, max_length + 1):
            start = np.flatnonzero(self._following >= length - 1)
            run = symbols.of_pairs(before[start], after[start + length - 1])
            start, run = start[run >= 0], run[run >= 0]
            found.append((start, np.full(len(start), length), run))
        starts, lengths, runs = map(np.concatenate, zip(*found, strict=True))
        return starts, lengths, runs

    def _symbols(self, feature: str) -> tuple[Sequence[str], np.ndarray]:
        """Symbols, and the number of the symbol of each token."""
        table, names = self._table, list(self._table.names)
        wanted, of_word = cast(str | None, feature), None
        if feature in OF_WORDS:
            wanted, of_word = self._column, "shape" if feature == "shape" else "lower"
        if wanted not in names:
            raise ValueError(f"X has no column {wanted!r}; its columns are {names}")
        j = names.index(wanted)
        codes = table.codes[:, j]
        if of_word is None:
            return list(table.categories[j]), codes
        spelled = spelling_table(table.categories[j], [of_word])
        return list(spelled.categories[0]), np.append(spelled.codes[:, 0], np.int32(-1))[codes]

    def _edges(self) -> np.ndarray:
        """Whether a sequence ends or begins before each token, (n_tokens + 1,)."""
        edges = np.zeros(int(self._X.offsets[-1]) + 1, dtype=bool)
        edges[self._X.offsets] = True
        return edges

    def _called_runs(self, function: SegmentFunction, start: np.ndarray, stop: np.ndarray) -> list:
        sequence = np.searchsorted(self._X.offsets, start, side="right") - 1
        found: list[tuple[str, ...]] = []
        current, call = -1, cast(Any, None)
        origin = self._X.offsets[sequence]
        spans = np.column_stack([sequence, start - origin, stop - origin])
        for s, a, b in spans.tolist():
            if s != current:
                current, call = s, _function_of(function, self._X[s], s)
            found += [(symbol,) for symbol in _as_symbols(call(a, b), s, a, b)]
        return found

    def _find_called(
        self, function: SegmentFunction, symbols: SpanSymbols, max_length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        number = {run[0]: i for i, run in enumerate(symbols.names())}
        found: list[tuple[int, int, int]] = []
        for s, sequence in enumerate(self._X):
            origin, n = int(self._X.offsets[s]), len(sequence)
            call = _function_of(function, sequence, s)
            for a in range(n):
                for b in range(a + 1, min(n, a + max_length) + 1):
                    value = call(a, b)
                    # Most spans have one symbol at most, which is not known.
                    if value is None or (type(value) is str and value not in number):
                        continue
                    runs = (number.get(symbol) for symbol in _as_symbols(value, s, a, b))
                    found += [(origin + a, b - a, run) for run in runs if run is not None]
        start, length, run = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return start, length, run


def _function_of(function: SegmentFunction, sequence: Any, s: int) -> Callable[[int, int], Any]:
    """The function of spans that a callable returned for a sequence."""
    call = function(sequence)
    if not callable(call):
        raise ValueError(
            f"features: a callable returned {call!r} for sequence {s}, but must return a function "
            "of start and end"
        )
    return call


def _as_symbols(value: Any, sequence: int, start: int, end: int) -> list[str]:
    """What a callable returned for a span, as a list of symbols."""
    several = isinstance(value, (list, tuple, set, frozenset))
    symbols = list(value) if several else [] if value is None else [value]
    for symbol in symbols:
        if not isinstance(symbol, str):
            raise ValueError(
                f"features: a callable returned {symbol!r} for the span from {start} to {end} of "
                f"sequence {sequence}, but symbols are strings"
            )
    return symbols
