"""Columns of symbols: the observation of each token, as integer codes into unique strings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np

from .sequences import SequenceArray, locate
from .vocabulary import InvalidTokenError, Vocabulary, describe

__all__ = ["SymbolTable", "symbolize"]

_SCALARS = (str, Number, np.bool_)
_MEMBERS = (list, tuple, set, frozenset)
_ABSENT = object()


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
    numbers : iterable of str, default=()
        Names of the columns whose strings are written numbers.

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

    __slots__ = ("categories", "codes", "names", "numbers")
    __hash__ = None

    def __init__(
        self,
        codes: Any,
        categories: Sequence[Any],
        names: Sequence[str],
        numbers: Iterable[str] = (),
    ):
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
        self.numbers = tuple(numbers)

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
        return self._with_codes(np.atleast_2d(self.codes[rows]))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, SymbolTable):
            return NotImplemented
        return (
            self.names == other.names
            and self.shape == other.shape
            and all(np.array_equal(self.column(n), other.column(n)) for n in self.names)
        )

    def __reduce__(self):
        return SymbolTable, (self.codes, self.categories, self.names, self.numbers)

    def __array_function__(self, func, types, args, kwargs):
        if func is not np.concatenate:
            return NotImplemented
        axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
        return _join_rows(args[0]) if axis == 0 else _join_columns(args[0])

    def copy(self) -> "SymbolTable":
        """A copy that shares no codes with the original."""
        return self._with_codes(self.codes.copy())

    def column(self, name: str) -> np.ndarray:
        """The symbols of one column, an object array of shape (n_tokens,); None where absent."""
        j = self.names.index(name)
        return np.append(self.categories[j], None)[self.codes[:, j]]

    def _with_codes(self, codes: np.ndarray) -> "SymbolTable":
        return SymbolTable(codes, self.categories, self.names, self.numbers)


def symbolize(X: SequenceArray) -> SymbolTable:
    """Turn the observations of all tokens into columns of symbols.

    Parameters
    ----------
    X : SequenceArray of one-dimensional data, or of a SymbolTable
        Strings, integers or booleans become one column named ``"token"``. Feature dicts become
        one column per key, in the order of first occurrence: a string is its own symbol, a number
        or bool is written out, a nested dict gives a column ``"key:inner"`` per inner key, and a
        list or set of strings gives a column ``"key:member"`` per member, which says ``"True"``.

    Returns
    -------
    SymbolTable
        With n_tokens rows; code -1 where a token does not have the key.

    Raises
    ------
    ValueError
        If a token or a value is None, NaN or of any other kind, or if strings and dicts are
        mixed. The message names the sequence and the position in it.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> from sklearn_crcrf.symbols import symbolize
    >>> X = SequenceArray.from_sequences([[{"w": "a", "at": ["start"]}], [{"w": "b"}]])
    >>> table = symbolize(X)
    >>> table.names, table.column("at:start").tolist()
    (('w', 'at:start'), ['True', None])
    """
    data = X.data
    if isinstance(data, SymbolTable):
        return data
    if data.ndim != 1 or data.dtype.kind not in "OUbiu":
        raise ValueError(
            "X must hold token strings, feature dicts or symbols, "
            f"but its data is of shape {data.shape} and type {data.dtype}"
        )
    if data.dtype.kind in "biu":
        values, codes = np.unique(data, return_inverse=True)
        return SymbolTable(codes[:, None], [values.astype(str)], ["token"])
    if len(data) and isinstance(data[0], Mapping):
        return _symbolize_dicts(data.tolist(), X.offsets)
    vocabulary = Vocabulary()
    try:
        codes = vocabulary.add(data)
    except InvalidTokenError as error:
        raise invalid_token(
            "the token must be a str", X.offsets, error.index, error.token
        ) from None
    return SymbolTable(codes[:, None], [vocabulary.symbols], ["token"])


def invalid_token(what: str, offsets: np.ndarray, token: int, value: Any) -> ValueError:
    """The error that says what token number ``token`` must be, and what it is instead."""
    sequence, position = locate(offsets, token)
    return ValueError(
        f"X, sequence {sequence}, position {position}: {what}, but is {describe(value)}"
    )


def _symbolize_dicts(dicts: list, offsets: np.ndarray) -> SymbolTable:
    _require("the token must be a dict", dicts, (Mapping,), offsets)
    columns = list(_columns("", dicts, offsets))
    if not columns:
        return SymbolTable(np.empty((len(dicts), 0)), [], [])
    names, codes, categories = zip(*columns, strict=True)
    return SymbolTable(np.array(codes).T, categories, names)


def _columns(prefix: str, dicts: list, offsets: np.ndarray) -> Iterator[tuple]:
    """Yield the name, codes and categories of every key, then of what is nested below it."""
    for key in dict.fromkeys(chain.from_iterable(dicts)):
        if not isinstance(key, str):
            holder = next(i for i, d in enumerate(dicts) if key in d)
            raise invalid_token("a key of a feature dict must be a str", offsets, holder, key)
        name = prefix + key
        values = [d.get(key, _ABSENT) for d in dicts]
        kinds = set(map(type, values))
        if not kinds <= {str, object}:
            allowed = (*_SCALARS, *_MEMBERS, Mapping)
            _require(f"{name!r} must be a str, number, dict or list", values, allowed, offsets)
        symbols = values if kinds == {str} else [_as_symbol(v) for v in values]
        present = np.fromiter((s is not None for s in symbols), bool, len(symbols))
        if present.any():
            codes = np.full(len(symbols), -1, dtype=np.int32)
            vocabulary = Vocabulary()
            codes[present] = vocabulary.add([s for s in symbols if s is not None])
            yield name, codes, vocabulary.symbols
        if any(issubclass(kind, (*_MEMBERS, Mapping)) for kind in kinds):
            yield from _columns(f"{name}:", _as_dicts(name, values, offsets), offsets)


def _as_symbol(value: Any) -> str | None:
    return str(value) if isinstance(value, _SCALARS) else None


def _as_dicts(name: str, values: list, offsets: np.ndarray) -> list:
    """Nested dicts as they are, lists and sets as dicts, and empty dicts for all else."""
    dicts = []
    for i, value in enumerate(values):
        if isinstance(value, _MEMBERS):
            for member in value:
                if not isinstance(member, str):
                    raise invalid_token(f"the members of {name!r} must be str", offsets, i, member)
            # The order of a set differs from run to run.
            ordered = sorted(value) if isinstance(value, (set, frozenset)) else value
            value = dict.fromkeys(ordered, True)
        dicts.append(value if isinstance(value, Mapping) else {})
    return dicts


def _require(what: str, values: list, allowed: tuple, offsets: np.ndarray) -> None:
    """Raise for the first value that is not of the allowed kinds, or that is NaN."""
    wrong = {k for k in set(map(type, values)) if not issubclass(k, allowed) and k is not object}
    for i, value in enumerate(values):
        if type(value) in wrong or value != value:
            raise invalid_token(what, offsets, i, value)


def _join_columns(tables: Sequence[SymbolTable]) -> SymbolTable:
    return SymbolTable(
        np.concatenate([t.codes for t in tables], axis=1),
        [c for t in tables for c in t.categories],
        [n for t in tables for n in t.names],
        [n for t in tables for n in t.numbers],
    )


def _join_rows(tables: Sequence[SymbolTable]) -> SymbolTable:
    names = tables[0].names
    if any(t.names != names for t in tables):
        raise ValueError("tables can be joined by rows only where their columns are the same")
    categories, columns = [], []
    for j in range(len(names)):
        vocabulary = Vocabulary()
        columns.append(
            np.concatenate(
                [np.append(vocabulary.add(t.categories[j]), -1)[t.codes[:, j]] for t in tables]
            )
        )
        categories.append(vocabulary.symbols)
    return SymbolTable(np.array(columns).T, categories, names, tables[0].numbers)
