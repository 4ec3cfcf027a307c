"""Strings as consecutive integers."""

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import pairwise
from math import isfinite
from sys import getsizeof
from typing import Any

import numpy as np

from .._kernels.text.strings import StringTable
from ..utils.soundness import Fact, Requirement, indices, require, setting_state


class InvalidTokenError(ValueError):
    """A token is not a string.

    Parameters
    ----------
    index : int
        Index of the token in its list.
    token : object
        The token.
    """

    def __init__(self, index: int, token: Any):
        super().__init__(index, token)
        self.index = index
        self.token = token

    def __str__(self) -> str:
        return f"tokens[{self.index}] must be a str, but is {describe(self.token)}"


class JoinedStrings:
    """Strings joined from shared parts, but only when they are read.

    Parameters
    ----------
    parts : list of n_parts lists of str
    codes : array-like of int of shape (n_parts, n_strings)
        String ``i`` consists of ``parts[0][codes[0, i]]``, ``parts[1][codes[1, i]]``, ...
    separator : str, default=""
        Stands between two parts.
    prefix : str, default=""
        Stands before the first part.

    Raises
    ------
    ValueError
        If there are no parts or not as many rows of codes, or if a code is out of range.

    Examples
    --------
    >>> from sklearn_crcrf.data.vocabulary import JoinedStrings
    >>> strings = JoinedStrings([["a", "b"], ["x"]], [[1, 0, 1], [0, 0, 0]], separator="|")
    >>> strings.tolist()
    ['b|x', 'a|x', 'b|x']
    """

    def __init__(self, parts: list[list[str]], codes: Any, separator: str = "", prefix: str = ""):
        self.parts = parts
        self.codes = np.ascontiguousarray(codes, dtype=np.int32)
        self.separator = separator
        self.prefix = prefix
        if not parts or self.codes.ndim != 2 or len(self.codes) != len(parts):
            raise ValueError(f"codes of shape {self.codes.shape} do not fit {len(parts)} parts")
        for part, row in zip(parts, self.codes, strict=True):
            if len(row) and not 0 <= row.min() <= row.max() < len(part):
                raise ValueError(f"the codes of a part with {len(part)} strings are out of range")

    def __len__(self) -> int:
        return self.codes.shape[1]

    def __getitem__(self, chosen: Any) -> "JoinedStrings":
        strings = copy(self)
        strings.codes = np.ascontiguousarray(self.codes[:, chosen])
        return strings

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self.tolist(), dtype=object)

    def with_prefix(self, prefix: str) -> "JoinedStrings":
        """Return the same strings, each with ``prefix`` before it."""
        strings = copy(self)
        strings.prefix = prefix + self.prefix
        return strings

    def tolist(self) -> list[str]:
        """Return all strings."""
        columns = [
            [part[code] for code in row]
            for part, row in zip(self.parts, self.codes.tolist(), strict=True)
        ]
        return [self.prefix + s for s in map(self.separator.join, zip(*columns, strict=True))]


class Vocabulary:
    """An append-only map from strings to consecutive integers.

    Strings are numbered in the order of their first occurrence. Threads may call ``lookup`` on
    one vocabulary at the same time.

    Parameters
    ----------
    symbols : iterable of str, default=()
        The first strings to number.

    Raises
    ------
    InvalidTokenError
        If one of the symbols is not a str.

    Examples
    --------
    >>> from sklearn_crcrf.data.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary(["the"])
    >>> vocabulary.add(["a", "dog", "the", "dog"])
    array([1, 2, 0, 2], dtype=int32)
    >>> vocabulary.lookup(["dog", "cat"])
    array([ 2, -1], dtype=int32)
    >>> vocabulary.symbols
    ['the', 'a', 'dog']
    """

    __slots__ = ("_table",)
    __hash__ = None  # type: ignore[assignment]  # mutable objects have no hash

    def __init__(self, symbols: Iterable[str] = ()):
        self._table = StringTable()
        self.add(symbols)

    @property
    def symbols(self) -> list[str]:
        """The strings, in the order of their ids."""
        return self._table.symbols.copy()

    def add(self, tokens: Iterable[str] | JoinedStrings) -> np.ndarray:
        """Return the ids of the tokens; new strings are given the next ids.

        Parameters
        ----------
        tokens : list of str, 1-D array of str of shape (n_tokens,) or JoinedStrings

        Returns
        -------
        ndarray of int32 of shape (n_tokens,)

        Raises
        ------
        InvalidTokenError
            If a token is not a str; the vocabulary then stays as it was.
        """
        return _ids(self._table.add, self._table.add_joined, tokens)

    def lookup(self, tokens: Iterable[str] | JoinedStrings) -> np.ndarray:
        """Return the ids of the tokens, -1 if a string was never added.

        Parameters
        ----------
        tokens : list of str, 1-D array of str of shape (n_tokens,) or JoinedStrings

        Returns
        -------
        ndarray of int32 of shape (n_tokens,)

        Raises
        ------
        InvalidTokenError
            If a token is not a str.
        """
        return _ids(self._table.lookup, self._table.lookup_joined, tokens)

    def take(self, ids: np.ndarray) -> tuple["Vocabulary", np.ndarray]:
        """Take some of the strings, in a given order.

        Parameters
        ----------
        ids : ndarray of int, all different

        Returns
        -------
        vocabulary : Vocabulary
        new : ndarray of int32 of shape (n_symbols,)
            The id in it of each string here, -1 of those left out.

        Examples
        --------
        >>> from sklearn_crcrf.data.vocabulary import Vocabulary
        >>> Vocabulary(["the", "a", "dog"]).take(np.array([2, 0]))
        (<Vocabulary of 2 symbols>, array([ 1, -1,  0], dtype=int32))
        """
        symbols = self._table.symbols
        new = np.full(len(symbols), -1, dtype=np.int32)
        new[ids] = np.arange(len(ids), dtype=np.int32)
        return Vocabulary([symbols[i] for i in ids.tolist()]), new

    def copy(self) -> "Vocabulary":
        """Get a vocabulary with the same strings; either can then be extended without the other."""
        return Vocabulary(self._table.symbols)

    def __len__(self) -> int:
        return len(self._table.symbols)

    def __sizeof__(self) -> int:
        """Bytes of the strings and of their table."""
        # The table has two slots of 8 bytes for each string, or more, and a list a pointer.
        symbols = self._table.symbols
        return object.__sizeof__(self) + sum(map(getsizeof, symbols)) + 24 * len(symbols)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._table.symbols == other._table.symbols

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} symbols>"

    def __getstate__(self) -> dict:
        symbols = self._table.symbols
        text = "".join(symbols).encode("utf-8", "surrogatepass")
        return {"text": text, "lengths": np.fromiter(map(len, symbols), np.int64, len(symbols))}

    def __setstate__(self, state: dict) -> None:
        with setting_state("Vocabulary"):
            text, lengths = state["text"].decode("utf-8", "surrogatepass"), state["lengths"]
        require("Vocabulary", _requirements(text, lengths))
        ends = np.append(0, np.cumsum(lengths)).tolist()
        Vocabulary.__init__(self, [text[start:end] for start, end in pairwise(ends)])


def _requirements(text: str, lengths: Any) -> Iterator[Requirement]:
    """Requirements of the lengths of strings that make up a text."""
    n = len(text)
    yield indices("lengths", lengths, (len(lengths),), n + 1)
    yield Fact("lengths", int(lengths.sum()) == n, f"must sum to {n}")


def describe(token: Any) -> str:
    """Return the value or type of an invalid token, for an error message."""
    if token is None or (isinstance(token, float) and not isfinite(token)):
        return str(token)
    return f"of type {type(token).__name__}"


def packed(state: dict[str, Any], key: str) -> dict[str, Any]:
    """Store the array of names under ``key`` of a state as one text.

    File formats that load only data are slow for many single strings.
    """
    names = state.get(key)
    if names is None:
        return state
    text = Vocabulary(names)
    return {**state, key: text} if len(text) == len(names) else state


def unpacked(state: dict[str, Any], key: str) -> dict[str, Any]:
    """Undo :func:`packed`."""
    names = state.get(key)
    if not isinstance(names, Vocabulary):
        return state
    return {**state, key: np.array(names.symbols, dtype=object)}


def _ids(method: Any, method_of_joined: Any, tokens: Any) -> np.ndarray:
    """Let a method of a table, one of two, write the ids of tokens."""
    if isinstance(tokens, JoinedStrings):
        ids = np.empty(len(tokens), dtype=np.int32)
        method_of_joined(tokens.prefix, tokens.separator, tokens.parts, tokens.codes, ids)
        return ids
    if isinstance(tokens, np.ndarray):
        if tokens.ndim != 1:
            raise ValueError(f"tokens must be one-dimensional, got shape {tokens.shape}")
        tokens = tokens.tolist()
    elif isinstance(tokens, str):
        raise ValueError("tokens must be a list of str, not one str")
    elif not isinstance(tokens, list):
        tokens = list(tokens)
    ids = np.empty(len(tokens), dtype=np.int32)
    invalid = method(tokens, ids)
    if invalid >= 0:
        raise InvalidTokenError(invalid, tokens[invalid])
    return ids
