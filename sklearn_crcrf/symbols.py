"""Columns of symbols: the observation of each token, as integer codes into unique strings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["SymbolTable"]


class SymbolTable:
    """A table of symbols, one row per token and one named column per kind of symbol.

    Every column is stored as integer codes into its own array of unique strings, so that work
    on symbols (spelling, encoding) is done once per unique string and not once per token.

    Parameters
    ----------
    codes : array-like of int of shape (n_tokens, n_columns)
        Code -1 means that the token has no symbol in this column.
    categories : sequence of n_columns arrays of str
        The unique strings of each column.
    names : sequence of n_columns str
        Names of the columns, all different.

    Raises
    ------
    ValueError
        If the shapes do not agree or a name is repeated.

    Examples
    --------
    >>> from sklearn_crcrf.symbols import SymbolTable
    >>> table = SymbolTable([[0, 0], [1, 0]], [["the", "dog"], ["D"]], ["word", "tag"])
    >>> table.shape, table.column("word").tolist()
    ((2, 2), ['the', 'dog'])
    """

    __slots__ = ("categories", "codes", "names")
    __hash__ = None

    def __init__(self, codes: Any, categories: Sequence[Any], names: Sequence[str]):
        codes = np.asarray(codes, dtype=np.int32)
        if codes.ndim != 2 or codes.shape[1] != len(categories) or len(names) != len(categories):
            raise ValueError(
                f"codes of shape {codes.shape} do not fit {len(categories)} categories "
                f"and {len(names)} names"
            )
        if len(set(names)) != len(names):
            raise ValueError(f"the names of the columns must differ, got {list(names)}")
        self.codes = np.asfortranarray(codes)
        self.categories = tuple(np.asarray(c, dtype=object) for c in categories)
        self.names = tuple(names)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_tokens, n_columns)``."""
        return self.codes.shape

    @property
    def ndim(self) -> int:
        """Always 2."""
        return 2

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "SymbolTable":
        return SymbolTable(np.atleast_2d(self.codes[rows]), self.categories, self.names)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, SymbolTable):
            return NotImplemented
        return (
            self.names == other.names
            and self.shape == other.shape
            and all(np.array_equal(self.column(n), other.column(n)) for n in self.names)
        )

    def __reduce__(self):
        return SymbolTable, (self.codes, self.categories, self.names)

    def __array_function__(self, func, types, args, kwargs):
        if func is not np.concatenate:
            return NotImplemented
        axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
        return _join_rows(args[0]) if axis == 0 else _join_columns(args[0])

    def copy(self) -> "SymbolTable":
        """A copy that shares no codes with the original."""
        return SymbolTable(self.codes.copy(), self.categories, self.names)

    def column(self, name: str) -> np.ndarray:
        """The symbols of one column, an object array of shape (n_tokens,); None where absent."""
        j = self.names.index(name)
        return np.append(self.categories[j], None)[self.codes[:, j]]


def _join_columns(tables: Sequence[SymbolTable]) -> SymbolTable:
    return SymbolTable(
        np.concatenate([t.codes for t in tables], axis=1),
        [c for t in tables for c in t.categories],
        [n for t in tables for n in t.names],
    )


def _join_rows(tables: Sequence[SymbolTable]) -> SymbolTable:
    names = tables[0].names
    if any(t.names != names for t in tables):
        raise ValueError("tables can be joined by rows only where their columns are the same")
    categories, columns = [], []
    for j in range(len(names)):
        unique, codes = np.unique(
            np.concatenate([t.categories[j] for t in tables]), return_inverse=True
        )
        starts = np.cumsum([0] + [len(t.categories[j]) for t in tables])
        columns.append(
            np.concatenate(
                [
                    np.append(codes[a:b], -1)[t.codes[:, j]]
                    for t, a, b in zip(tables, starts[:-1], starts[1:], strict=True)
                ]
            )
        )
        categories.append(unique)
    return SymbolTable(np.stack(columns, axis=1), categories, names)
