"""The symbols of neighbouring tokens, and the combinations that occur."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._kernels.sparse.keys import number_keys

_LARGEST_KEY = 2**62
_FARTHEST = 2**31


class Column(NamedTuple):
    """One symbol of every token.

    Parameters
    ----------
    codes : ndarray of int32 of shape (n_tokens,)
        The number of the symbol; -1 if the token has none.
    symbols : list of str or JoinedStrings
    """

    codes: np.ndarray
    symbols: Any


class Neighbours:
    """The positions of tokens in their sequences, to find their neighbours.

    Parameters
    ----------
    lengths : ndarray of shape (n_sequences,)
    """

    def __init__(self, lengths: np.ndarray):
        self._start = np.repeat(np.cumsum(lengths) - lengths, lengths)
        self._length = np.repeat(lengths, lengths)
        self._position = np.arange(len(self._start)) - self._start

    @property
    def first(self) -> np.ndarray:
        """The first tokens of sequences."""
        return np.flatnonzero(self._position == 0)

    def beside(self, offset: int) -> np.ndarray:
        """Return the positions ``offset`` tokens to the right of each token (left, if negative)."""
        if abs(offset) > _FARTHEST:
            raise ValueError(f"the offset {offset} is outside of every sequence")
        return self._position + offset

    def counted(self, number: int) -> np.ndarray:
        """Find the position of token ``number`` of its sequence, for each token; -1 is the last."""
        return np.full(len(self._length), number - 1) if number >= 0 else self._length + number

    def move(self, column: Column, positions: np.ndarray, outside: Callable[[int], str]) -> Column:
        """Return the symbols at other positions of the same sequence.

        Parameters
        ----------
        column : Column
        positions : ndarray of shape (n_tokens,)
            A position for every token, which may be outside its sequence.
        outside : callable
            The symbol at a signed distance outside: -1 is before the first token, 1 after the
            last.
        """
        distance = np.minimum(positions, 0) + np.maximum(positions - self._length + 1, 0)
        beyond = np.flatnonzero(distance)
        source = self._start + positions
        source[beyond] = 0
        codes = column.codes[source]
        distances, rank = np.unique(distance[beyond], return_inverse=True)
        codes[beyond] = len(column.symbols) + rank
        return Column(codes, [*column.symbols, *map(outside, distances.tolist())])


def combine(columns: Sequence[Column]) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of symbols that occur.

    Parameters
    ----------
    columns : sequence of n_columns Column

    Returns
    -------
    codes : ndarray of int32 of shape (n_tokens,)
        The combination of each token; -1 if one of its symbols is missing.
    combinations : ndarray of int32 of shape (n_columns, n_combinations)
        The codes of the symbols of each combination.
    """
    codes, first = number_keys(_keys(columns))
    return codes, np.array([column.codes[first] for column in columns])


def _keys(columns: Sequence[Column]) -> np.ndarray:
    """Return one key per token, equal if all codes are equal; -1 if one of the codes is -1."""
    keys, size = columns[0].codes.astype(np.int64), len(columns[0].symbols)
    absent = keys < 0
    for codes, symbols in columns[1:]:
        if size * len(symbols) > _LARGEST_KEY:
            ids, first = number_keys(keys)
            keys, size = ids.astype(np.int64), len(first)
        keys *= len(symbols)
        keys += codes
        absent |= codes < 0
        keys[absent] = -1
        size *= len(symbols)
    return keys
