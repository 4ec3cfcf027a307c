"""Columns of symbols: the observation of each token, as integer codes into unique strings."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.keys import number_keys
from .._kernels.text.tokens import advice_on, number_items
from ..utils.memory import require_memory
from ..utils.soundness import setting_state
from ..utils.warning import warn_caller
from .ragged import SequenceArray, token_name
from .vocabulary import InvalidTokenError, JoinedStrings, Vocabulary, describe

# Bytes of a code, and of its copies when columns are checked, joined and moved.
CELL = 16.0


class Bag(NamedTuple):
    """Attributes of tokens, without an order.

    Parameters
    ----------
    matrix : CSR of shape (n_tokens, n_attributes)
        1 where a token has an attribute.
    names : list of n_attributes str
    """

    matrix: sp.csr_array
    names: list[str]


class SymbolTable:
    """A table of symbols, one row per token and one named column per kind of symbol.

    Every column is stored as integer codes into its own array of unique strings, so that work
    on symbols (spelling, encoding) is done once per unique string and not once per token.

    Parameters
    ----------
    codes : array-like of int of shape (n_tokens, n_columns)
        Code -1 means that the token has no symbol in this column.
    categories : sequence of n_columns arrays of str or JoinedStrings
        The unique strings of each column.
    names : sequence of n_columns str
        Names of the columns, all different.
    numbers : iterable of str, default=()
        Names of the columns whose strings are written numbers.
    keys : sequence of n_columns str, optional
        Prefix of the attribute names of each column, by default the name of the column. Columns
        with the same key share attributes.
    edges : iterable of str, default=()
        Names of the columns that describe transitions into tokens rather than labels.

    Raises
    ------
    ValueError
        If the shapes do not agree, a name is repeated, or a code has no category.

    Examples
    --------
    >>> from sklearn_crcrf.data.symbols import SymbolTable
    >>> table = SymbolTable([[0, 0], [1, 0]], [["the", "dog"], ["D"]], ["word", "tag"])
    >>> table.shape, table.column("word").tolist()
    ((2, 2), ['the', 'dog'])
    """

    __slots__ = ("_categories", "_places", "_texts", "codes", "edges", "keys", "names", "numbers")
    __hash__ = None  # type: ignore[assignment]  # mutable objects have no hash

    def __init__(
        self,
        codes: Any,
        categories: Sequence[Any],
        names: Sequence[str],
        numbers: Iterable[str] = (),
        keys: Sequence[str] | None = None,
        edges: Iterable[str] = (),
    ):
        given = np.asarray(codes)
        codes = given.astype(np.int32, copy=False)
        if codes.ndim != 2 or codes.shape[1] != len(categories) or len(names) != len(categories):
            raise ValueError(
                f"codes of shape {codes.shape} do not fit {len(categories)} categories "
                f"and {len(names)} names"
            )
        if keys is not None and len(keys) != len(names):
            raise ValueError(f"{len(keys)} keys do not fit {len(names)} names")
        self._places = {name: j for j, name in enumerate(names)}
        if len(self._places) != len(names):
            raise ValueError(f"the names of the columns must differ, got {list(names)}")
        self.codes = np.asfortranarray(codes)
        self._categories: tuple[JoinedStrings | np.ndarray, ...] = tuple(
            c if isinstance(c, JoinedStrings) else np.asarray(c, dtype=object) for c in categories
        )
        self._texts: tuple[np.ndarray, ...] | None = None
        if given.dtype != np.int32 and not np.array_equal(given, codes):
            raise ValueError("codes must be integers of at most 32 bits")
        for codes, symbols, name in zip(self.codes.T, self._categories, names, strict=True):
            if len(codes) and not -1 <= codes.min() <= codes.max() < len(symbols):
                raise ValueError(
                    f"SymbolTable: codes of {name!r} must be -1 or less than {len(symbols)}"
                )
        self.names = tuple(names)
        self.numbers = tuple(numbers)
        self.keys = self.names if keys is None else tuple(keys)
        self.edges = tuple(edges)

    @property
    def categories(self) -> tuple[np.ndarray, ...]:
        """The unique strings of each column, as object arrays."""
        if self._texts is None:
            self._texts = tuple(np.asarray(c, dtype=object) for c in self._categories)
            self._categories = self._texts
        return self._texts

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
            and self.keys == other.keys
            and self.edges == other.edges
            and self.shape == other.shape
            and all(np.array_equal(self.column(n), other.column(n)) for n in self.names)
        )

    def __reduce__(self):
        return _sound_table, (self.codes, self._categories, *self._about_columns)

    def __array_function__(self, func, types, args, kwargs):
        if func is not np.concatenate:
            return NotImplemented
        if not all(isinstance(table, SymbolTable) for table in args[0]):
            raise ValueError(
                "columns of symbols cannot be joined with numbers; turn the symbols into numbers "
                "first, as in make_pipeline(Window(), SequenceVectorizer())"
            )
        axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
        return _join_rows(args[0]) if axis == 0 else join_columns(args[0])

    def copy(self) -> "SymbolTable":
        """Return a copy that shares no codes with the original."""
        return self._with_codes(self.codes.copy())

    def __contains__(self, name: object) -> bool:
        """Say whether there is a column of this name."""
        return name in self._places

    def place(self, name: str) -> int:
        """Return the number of the column of this name.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        return self._places[name]

    def column(self, name: str) -> np.ndarray:
        """Return the symbols of a column, objects of shape (n_tokens,); None where absent."""
        j = self.place(name)
        return np.append(self.categories[j], np.array(None))[self.codes[:, j]]

    def select(self, names: Sequence[str]) -> "SymbolTable":
        """Return a table of some of the columns, in the order of the names."""
        places = [self.place(name) for name in names]
        return SymbolTable(
            self.codes[:, places],
            [self._categories[j] for j in places],
            names,
            [name for name in self.numbers if name in names],
            [self.keys[j] for j in places],
            [name for name in self.edges if name in names],
        )

    def attributes(self, j: int, codes: np.ndarray, separator: str = "=") -> JoinedStrings:
        """``"key=symbol"`` for some of the codes of one column."""
        symbols, prefix = self._categories[j], f"{self.keys[j]}{separator}"
        if isinstance(symbols, JoinedStrings):
            return symbols[codes].with_prefix(prefix)
        return JoinedStrings([symbols.tolist()], codes[np.newaxis], "", prefix)

    def _with_codes(self, codes: np.ndarray) -> "SymbolTable":
        return SymbolTable(codes, self._categories, *self._about_columns)

    @property
    def _about_columns(self) -> tuple[tuple[str, ...], ...]:
        return self.names, self.numbers, self.keys, self.edges


def table_of(columns: Iterable[tuple[Any, Any]], n_tokens: int, *about: Any, **more: Any) -> Any:
    """Make a table of columns, each of codes and symbols; names and the rest are as of the class.

    Examples
    --------
    >>> table_of([([0, -1], ["the"])], 2, ["word"]).column("word").tolist()
    ['the', None]
    """
    columns = list(columns)
    codes = np.array([codes for codes, _ in columns], dtype=np.int32)
    codes = codes.reshape(len(columns), n_tokens).T
    return SymbolTable(codes, [symbols for _, symbols in columns], *about, **more)


def _sound_table(codes: np.ndarray, categories: Sequence[Any], *about: Any) -> SymbolTable:
    """Make a stored table, after a check that every code has a symbol."""
    with setting_state("SymbolTable"):
        sound = (
            JoinedStrings(c.parts, c.codes, c.separator, c.prefix)
            if isinstance(c, JoinedStrings)
            else c
            for c in categories
        )
        return SymbolTable(codes, [*sound], *about)


def symbolize(X: SequenceArray) -> SymbolTable:
    """Turn the observations of all tokens into columns of symbols.

    Parameters
    ----------
    X : SequenceArray of one-dimensional data, or of a SymbolTable
        Strings, integers or booleans become one column named ``"token"``. Feature dicts become
        one column per key, in the order of first occurrence: a string is its own symbol, a number
        or bool becomes a string, a nested dict gives a column ``"key:inner"`` per inner key, and a
        list or set of strings gives a column ``"key:member"`` per member, with symbol ``"True"``.

    Returns
    -------
    SymbolTable
        With n_tokens rows; code -1 if a token does not have the key.

    Raises
    ------
    ValueError
        If a token or a value is None, NaN or of any other kind, if strings and dicts are mixed,
        or if a key of a token has two values, as in ``{"a": {"b": "x"}, "a:b": "y"}``. The message
        names the sequence and the position in it.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> from sklearn_crcrf.data.symbols import symbolize
    >>> X = SequenceArray.from_sequences([[{"w": "a", "at": ["start"]}], [{"w": "b"}]])
    >>> table = symbolize(X)
    >>> table.names, table.column("at:start").tolist()
    (('w', 'at:start'), ['True', None])
    """
    content = symbols_by_key(X)
    return content.columns() if isinstance(content, ItemTable) else content


def require_symbols(data: Any) -> None:
    """Raise ValueError if tokens are rows of numbers, or numbers other than integers."""
    if not isinstance(data, SymbolTable) and (data.ndim != 1 or data.dtype.kind not in "OUbiu"):
        raise ValueError(
            "X must hold token strings, feature dicts or columns of symbols, "
            f"but its data is of shape {data.shape} and type {data.dtype}"
        )


def symbols_by_key(X: SequenceArray) -> "SymbolTable | ItemTable":
    """Return the symbols of feature dicts by key; what :func:`symbolize` returns for all else."""
    data = X.data
    require_symbols(data)
    if isinstance(data, SymbolTable):
        return data
    if data.dtype.kind in "biu":
        values, codes = np.unique(data, return_inverse=True)
        return SymbolTable(codes[:, None], [values.astype(str)], ["token"])
    if X.kind == "dicts":
        return ItemTable(X)
    vocabulary = Vocabulary()
    try:
        codes = vocabulary.add(data)
    except InvalidTokenError as error:
        raise ValueError(
            f"{token_name('X', X.offsets, error.index)}: the token must be a str, "
            f"but is {describe(error.token)}{advice_on(error.token)}"
        ) from None
    return SymbolTable(codes[:, None], [vocabulary.symbols], ["token"])


class ItemTable:
    """The symbols of feature dicts by key, of which columns are made.

    Parameters
    ----------
    X : SequenceArray of feature dicts

    Raises
    ------
    ValueError
        If a value is of no valid kind, or a key of a token has two values.

    Examples
    --------
    >>> X = SequenceArray.from_sequences([[{"w": "a", "ab": True}, {"w": "b"}]])
    >>> table = ItemTable(X)
    >>> table.names, table.times.tolist(), table.columns(["w"]).column("w").tolist()
    (['w', 'ab'], [2, 1], ['a', 'b'])
    >>> table.bag(["w"]).names
    ['ab=True']
    """

    def __init__(self, X: SequenceArray):
        where = partial(token_name, "X", X.offsets)
        self.names, symbols, keys, ids, starts = number_items(X.data.tolist(), where)
        shape = (len(X.data), len(self.names))
        self._symbols = np.array(symbols, dtype=object)
        self._by_key = sp.csr_array((ids, keys, starts), shape=shape).tocsc()
        self._check(where)

    def __len__(self) -> int:
        return self._by_key.shape[0]

    @property
    def times(self) -> np.ndarray:
        """The number of tokens that have each key."""
        return np.diff(self._by_key.indptr)

    def usual_names(self) -> list[str]:
        """Return the keys that every second token has, or else the most usual one."""
        times = self.times
        usual = [name for name, n in zip(self.names, times, strict=True) if 2 * n >= len(self)]
        least = min(zip(-times, self.names, strict=True), default=(0, ""))
        return usual or [least[1]][: len(self.names)]

    def columns(self, names: Sequence[str] | None = None) -> SymbolTable:
        """Return a column for each of some keys, by default of all; empty if no token has the key.

        Raises
        ------
        ValueError
            If the columns do not fit into memory.
        """
        names = self.names if names is None else names
        shape = len(self), len(names)
        require_memory(
            CELL * shape[0] * shape[1],
            f"X: a column for each of the {shape[1]:,} keys of the {shape[0]:,} feature dicts",
            "CRF and SequenceVectorizer take the keys as attributes",
        )
        codes = np.full(shape, -1, dtype=np.int32, order="F")
        categories = []
        place = {name: k for k, name in enumerate(self.names)}
        for j, name in enumerate(names):
            entries = slice(*self._by_key.indptr[place[name] :][:2]) if name in place else slice(0)
            tokens, ids = self._by_key.indices[entries], self._by_key.data[entries]
            codes[tokens, j], first = number_keys(ids.astype(np.int64))
            categories.append(self._symbols[ids[first]])
        return SymbolTable(codes, categories, names)

    def bag(self, without: Sequence[str]) -> Bag:
        """Return keys and symbols of tokens, without some keys, in order of first occurrence.

        The order of the keys of a token does not matter.
        """
        entries = self._by_key.tocoo()
        names_left_out = {*without}
        left_out = np.array([name in names_left_out for name in self.names], dtype=bool)
        token, key = entries.coords
        chosen = ~left_out[key]
        token, pair = (
            token[chosen],
            key[chosen] * np.int64(len(self._symbols)) + entries.data[chosen],
        )
        pairs, ids = np.unique(pair, return_inverse=True)
        keys, symbols = np.divmod(pairs, max(len(self._symbols), 1))
        names = [f"{self.names[k]}={self._symbols[i]}" for k, i in zip(keys, symbols, strict=True)]
        earliest = np.full(len(pairs), len(self))
        np.minimum.at(earliest, ids, token)
        by_name = np.argsort(np.array(names, dtype=object), kind="stable")
        order = by_name[np.argsort(earliest[by_name], kind="stable")]
        # Sums over the attributes of a token are in the order of their names.
        place, rank = np.empty((2, len(names)), dtype=np.int64)
        place[by_name], rank[order] = np.arange(len(names)), np.arange(len(names))
        entry = np.lexsort((place[ids], token))
        token, ids = token[entry], ids[entry]
        again = (token[1:] == token[:-1]) & (ids[1:] == ids[:-1])
        kept = np.append(True, ~again)[: len(token)]
        token, ids = token[kept], rank[ids[kept]]
        starts = np.searchsorted(token, np.arange(len(self) + 1))
        matrix = sp.csr_array((np.ones(len(ids)), ids, starts), (len(self), len(names)))
        return Bag(matrix, [names[i] for i in order.tolist()])

    def _check(self, where: Callable[[int], str]) -> None:
        token, symbol = self._by_key.indices, self._by_key.data
        same = np.flatnonzero(token[1:] == token[:-1])
        same = same[symbol[same] != symbol[same + 1]]
        key, next_key = np.searchsorted(self._by_key.indptr, [same, same + 1], side="right") - 1
        twice = np.flatnonzero(key == next_key)
        if len(twice):
            at = same[twice[0]]
            raise ValueError(f"{where(token[at])}: {self.names[key[twice[0]]]!r} has two values")


def join_columns(tables: Sequence[SymbolTable]) -> SymbolTable:
    """Return one table with the columns of all tables."""
    return SymbolTable(
        np.concatenate([t.codes for t in tables], axis=1),
        [c for t in tables for c in t._categories],
        [n for t in tables for n in t.names],
        [n for t in tables for n in t.numbers],
        [k for t in tables for k in t.keys],
        [e for t in tables for e in t.edges],
    )


def _join_rows(tables: Sequence[SymbolTable]) -> SymbolTable:
    if any(t.names != tables[0].names for t in tables):
        raise ValueError("tables can be joined by rows only if their columns are the same")
    columns = []
    for j in range(len(tables[0].names)):
        vocabulary = Vocabulary()
        codes = [np.append(vocabulary.add(t._categories[j]), -1)[t.codes[:, j]] for t in tables]
        columns.append((np.concatenate(codes), vocabulary.symbols))
    return table_of(columns, sum(map(len, tables)), *tables[0]._about_columns)


def warn_of_empty_tokens(X: SequenceArray) -> None:
    """Warn if most tokens have no symbol in any column, as where a list has replaced the words.

    Parameters
    ----------
    X : SequenceArray
        Only columns of symbols are looked at.

    Examples
    --------
    >>> import warnings
    >>> table = SymbolTable([[-1], [0], [-1]], [["B"]], ["city"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_empty_tokens(SequenceArray(table, [0, 3]))
    >>> str(caught[0].message).partition(",")[0]
    "2 of 3 tokens have no symbol in any column of X (['city'])"
    """
    if not isinstance(X.data, SymbolTable):
        return
    is_empty = np.ones(len(X.data), dtype=bool)
    for codes in X.data.codes.T:
        is_empty &= codes < 0
        if not is_empty.any():
            return
    n_empty = int(is_empty.sum())
    if 2 * n_empty > len(is_empty):
        warn_caller(
            f"{n_empty} of {len(is_empty)} tokens have no symbol in any column of X "
            f"({[*X.data.names]}), so nothing but other labels tells their labels apart. Gazetteer "
            "and WordClusters return only their own columns: keep the words beside them with "
            "make_union(TokenFeatures(), ...)",
        )
