"""Which of several columns of symbols holds the words."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .ragged import SequenceArray
from .symbols import ItemTable, SymbolTable, symbols_by_key

# Numbers and truth values, written as symbols, and symbols with a letter and a digit.
VALUE = re.compile(r"(True|False|None|nan|[-+]?inf|)|[\W\d_]*\d[\W\d_]*(e[-+]?\d+)?", re.IGNORECASE)
CODE = re.compile(r".*\d")
# Number of symbols of a column that are looked at, and the least share of them that are words.
SAMPLE, SHARE = 200, 0.1
# From this number of tokens on, codes that are all different are names of the tokens.
MANY = 100
# The share of steps by one from which on the last numbers in symbols count the tokens.
COUNTING = 0.9
LAST_NUMBER = re.compile(r"\d+(?=\D*$)")
# A column with at least this share of the number of symbols of the words may be meant instead.
CLOSE = 0.8
# Columns have as many symbols if their numbers differ by no more than this share, or number.
AS_MANY, FEW = 0.98, 3
# Names of columns of words, neither of parts of words nor of neighbours.
NAME = re.compile(r"(token|word|form|text|w)\b[^-+|]*", re.IGNORECASE)


class Words(NamedTuple):
    """The column of the words, and the columns that might be meant instead."""

    name: str
    rivals: list[str]


def find_words(X: SequenceArray, is_counted: np.ndarray | None = None) -> Words:
    """Find the column of the words by its symbols; the order of the columns does not matter.

    Words are symbols rather than numbers, differ within sequences, and have the most different
    values. Among columns of as many values, one with a name such as "word" is preferred.

    Parameters
    ----------
    X : SequenceArray of a SymbolTable with a column
    is_counted : bool ndarray of shape (n_tokens,), optional
        The tokens that are looked at; by default all.

    Returns
    -------
    Words

    Examples
    --------
    >>> rows = [[0, 0, 0], [0, 1, 1], [0, 2, 0]]
    >>> symbols = [["1.0"], ["the", "dog", "a"], ["D", "N"]]
    >>> table = SymbolTable(rows, symbols, ["bias", "word", "tag"])
    >>> find_words(SequenceArray(table, [0, 2, 3])).name
    'word'
    """
    counted = slice(None) if is_counted is None else is_counted
    sequence = np.repeat(np.arange(len(X)), X.lengths)[counted]
    inner = np.flatnonzero(sequence[1:] == sequence[:-1])
    columns = [_Column(X.data, name, counted, inner) for name in X.data.names]
    columns = _candidates(columns, {*X.data.numbers})
    if len(columns) == 1:
        return Words(columns[0].name, [])
    most = max(column.n_symbols for column in columns)
    equal = [c for c in columns if c.n_symbols >= min(AS_MANY * most, most - FEW)]
    named = [c for c in equal if NAME.fullmatch(c.name)]
    # The name decides last, so that the order of the columns never does.
    words = min(named or equal, key=lambda c: (-c.n_symbols, -c.n_tokens, c.name))
    close = [c for c in columns if c.n_symbols >= CLOSE * most and c is not words]
    rivals = [] if len(named) == 1 else [c.name for c in close if not words.tells(c)]
    return Words(words.name, rivals)


def words_of(X: SequenceArray) -> str:
    """Return the name of the column of the words of token strings, feature dicts or symbols.

    Parameters
    ----------
    X : SequenceArray

    Examples
    --------
    >>> words_of(SequenceArray.from_sequences([[{"bias": 1.0, "word": "a"}, {"word": "b"}]]))
    'word'
    """
    content = symbols_by_key(X)
    if isinstance(content, ItemTable):
        content = content.columns(content.usual_names())
    return find_words(X.with_data(content)).name


def _candidates(columns: "list[_Column]", numbers: set[str]) -> "list[_Column]":
    """Return the columns of words that differ within sequences; if there are none, others."""
    kinds: list[Callable[[_Column], bool]] = [
        lambda column: column.name not in numbers,
        lambda column: "|" not in column.name,  # not symbols that a Window has joined
        lambda column: column.varies,
        lambda column: column.has_words,
        lambda column: not column.names_tokens,
    ]
    for is_kind in kinds:
        if len(columns) > 1:
            columns = [column for column in columns if is_kind(column)] or columns
    return columns


class _Column:
    """What tells whether a column holds the words."""

    def __init__(self, table: SymbolTable, name: str, counted: Any, inner: np.ndarray):
        j = table.place(name)
        self.name, self._symbols = name, table.categories[j]
        self._codes, self._inner = table.codes[counted, j], inner

    @cached_property
    def varies(self) -> bool:
        """Whether symbols differ within a sequence, or between sequences of one token."""
        codes, inner = self._codes, self._inner
        pairs = (codes[inner], codes[inner + 1]) if len(inner) else (codes[:1], codes)
        return bool((pairs[0] != pairs[1]).any())

    @cached_property
    def _kinds(self) -> tuple[float, float]:
        """The shares of the symbols that are neither numbers nor truth values, and of codes."""
        seen = [str(s) for s in self._symbols[:: max(1, len(self._symbols) // SAMPLE)]]
        words = [symbol for symbol in seen if not VALUE.fullmatch(symbol)]
        codes = [symbol for symbol in words if CODE.match(symbol)]
        return len(words) / max(len(seen), 1), len(codes) / max(len(seen), 1)

    @property
    def has_words(self) -> bool:
        """Whether some symbols are neither numbers nor truth values."""
        return self._kinds[0] >= SHARE

    @cached_property
    def names_tokens(self) -> bool:
        """Whether symbols are running numbers, or codes of which each token has its own."""
        has_words, are_codes = self._kinds
        if has_words - are_codes >= SHARE:
            return False
        if self.n_symbols == self.n_tokens >= MANY and has_words >= SHARE:
            return True
        found = [LAST_NUMBER.search(str(symbol)) for symbol in self._symbols]
        numbers = np.array([*(float(it[0]) if it else np.nan for it in found), np.nan])
        steps = np.diff(numbers[self._codes]) == 1
        return any(len(s) > 0 and s.mean() >= COUNTING for s in (steps, steps[self._inner]))

    @cached_property
    def _times(self) -> np.ndarray:
        return np.bincount(self._codes + 1, minlength=len(self._symbols) + 1)[1:]

    @cached_property
    def n_symbols(self) -> int:
        """The number of different symbols."""
        return int(np.count_nonzero(self._times))

    @cached_property
    def n_tokens(self) -> int:
        """The number of tokens with a symbol."""
        return int(self._times.sum())

    def tells(self, other: "_Column") -> bool:
        """Say whether these symbols tell the fewer symbols of another column, or are the same."""
        pairs = np.unique(((self._codes.astype(np.int64) + 1) << 32) + other._codes + 1)
        if len(pairs) > len(np.unique(self._codes)) or other.n_symbols > self.n_symbols:
            return False
        mine = np.append(np.array([None]), self._symbols)[pairs >> 32]
        others = np.append(np.array([None]), other._symbols)[pairs & 0xFFFFFFFF]
        return other.n_symbols < self.n_symbols or bool((mine == others).all())
