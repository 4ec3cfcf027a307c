"""The attributes of tokens as ids and values, for all kinds of tokens."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._kernels.sparse.keys import distinct_codes, number_keys
from .._kernels.text.strings import StringTable, split_values
from ..data.feature_dicts import Items, invalid_token, read_items
from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable, require_symbols
from ..data.vocabulary import JoinedStrings


class Attributes(NamedTuple):
    """The attributes of all tokens; token i has attributes ``ids[starts[i]:starts[i + 1]]``."""

    ids: np.ndarray
    values: np.ndarray
    starts: np.ndarray


def read_attributes(X: SequenceArray, number: Callable, separator: str) -> Attributes:
    """Number the attributes of X; ``number`` turns strings into ids, unknown ones into -1.

    The string of an attribute is made once, not once per token; the separator stands between
    key and value.
    """
    data, offsets = X.data, X.offsets
    require_symbols(data)
    if isinstance(data, SymbolTable):
        return _read_columns(data, number, separator)
    tokens = (data.astype(str) if data.dtype.kind in "biu" else data).tolist()
    kinds = set(map(type, tokens))
    if kinds <= {str}:
        ids = number(tokens)
        return Attributes(ids, np.broadcast_to(1.0, ids.shape), np.arange(len(ids) + 1))
    if kinds != {dict}:
        for i, token in enumerate(tokens):
            if not isinstance(token, (str, Mapping)):
                raise invalid_token("the token must be a str or a dict", offsets, i, token)
        tokens = [{token: True} if isinstance(token, str) else token for token in tokens]
    return _number_items(read_items(tokens, offsets), number, separator)


def _read_columns(table: SymbolTable, number: Callable, separator: str) -> Attributes:
    ids = np.empty(table.shape[::-1], dtype=np.int32)
    values = np.ones(table.shape if table.numbers else ())
    for j, codes in enumerate(table.codes.T):
        occurring = distinct_codes(codes)
        id_of_code = np.full(codes.max(initial=-1) + 2, -1, dtype=np.int32)  # last: for code -1
        if table.names[j] in table.numbers:
            id_of_code[occurring] = number([table.keys[j]])[0]
            numbers = np.append(table.categories[j].astype(float), 0.0)  # last: for code -1
            if not np.isfinite(numbers).all():
                raise ValueError(f"X, column {table.names[j]!r}: infinite values")
            values[:, j] = numbers[codes]
        else:
            id_of_code[occurring] = number(table.attributes(j, occurring, separator))
        np.take(id_of_code, codes, out=ids[j], mode="wrap")
    ids, starts = ids.T.ravel(), np.arange(len(table) + 1) * len(ids)
    return Attributes(ids, np.broadcast_to(values.ravel(), ids.shape), starts)


def _number_items(items: Items, number: Callable, separator: str) -> Attributes:
    table = StringTable()
    value_ids = np.empty(len(items.values), dtype=np.int32)
    numbers = np.empty(len(items.values))
    for i in split_values(items.values, table, value_ids, numbers):
        numbers[i] = _as_number(items.values[i])
    infinite = np.flatnonzero(~np.isfinite(numbers))
    if len(infinite):
        what = f"the value of {items.key(infinite[0])!r} must be a str, finite number, dict or list"
        raise items.invalid(infinite[0], what, items.values[infinite[0]])
    pairs = items.key_ids * np.int64(len(table.symbols) + 1) + (value_ids + 1)
    ids, first = number_keys(pairs)
    endings = ["", *(separator + symbol for symbol in table.symbols)]
    unique = np.array([items.key_ids[first], value_ids[first] + 1])
    ids = number(JoinedStrings([items.keys, endings], unique))[ids]
    return Attributes(ids, numbers, items.starts)


def _as_number(value: Any) -> float:
    """A number as float, NaN for any other value."""
    try:
        return float(value) if isinstance(value, (Real, np.bool_)) else np.nan
    except OverflowError:
        return np.inf
