"""Feature dicts as flat arrays of keys and values."""

from collections.abc import Mapping
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .._kernels._feature_dicts import split_items
from .._kernels._interning import StringTable
from .ragged import locate
from .vocabulary import describe

__all__ = ["Items", "invalid_token", "read_items"]

_MEMBERS = (list, tuple, set, frozenset)


class Items(NamedTuple):
    """The items of all tokens; token ``i`` has items ``starts[i]`` to ``starts[i + 1]``.

    Parameters
    ----------
    keys : list of n_keys str
        In the order of first occurrence. A key inside a dict or list is named ``"key:inner"``.
    key_ids : ndarray of int32 of shape (n_items,)
    values : list of n_items objects
        Dicts and lists are replaced by their items.
    starts : ndarray of int64 of shape (n_tokens + 1,)
    kinds : set of the types of the values
    offsets : ndarray of int64 of shape (n_sequences + 1,)
    """

    keys: list[str]
    key_ids: np.ndarray
    values: list
    starts: np.ndarray
    kinds: set[type]
    offsets: np.ndarray

    def key(self, item: int) -> str:
        """The key of one item."""
        return self.keys[self.key_ids[item]]

    def invalid(self, item: int, what: str, value: Any) -> ValueError:
        """The error to raise for an invalid item; ``what`` says what it must be."""
        token = int(np.searchsorted(self.starts, item, side="right")) - 1
        return invalid_token(what, self.offsets, token, value)


def read_items(tokens: list, offsets: np.ndarray) -> Items:
    """Split feature dicts into keys and values.

    Parameters
    ----------
    tokens : list of n_tokens dict
    offsets : ndarray of int64 of shape (n_sequences + 1,)

    Returns
    -------
    Items
        Each member of a list or set of strings is a key with the value True.

    Raises
    ------
    ValueError
        If a token is not a dict, or a key or a member of a list is not a string; the message names
        the sequence and the position in it.
    """
    if set(map(type, tokens)) != {dict}:
        for i, token in enumerate(tokens):
            if not isinstance(token, Mapping):
                raise invalid_token("the token must be a dict", offsets, i, token)
        tokens = [dict(token) for token in tokens]
    table = StringTable()
    ids, values, starts, kinds = split_items(tokens, table)
    items = Items(table.symbols, ids, values, starts, kinds, offsets)
    wrong = np.flatnonzero(ids < 0)
    if len(wrong):
        key = [key for token in tokens for key in token][wrong[0]]
        raise items.invalid(wrong[0], "a key of a feature dict must be a str", key)
    while nested := {kind for kind in items.kinds if issubclass(kind, (Mapping, *_MEMBERS))}:
        items = _unfold(items, nested)
    return items


def invalid_token(what: str, offsets: np.ndarray, token: int, value: Any) -> ValueError:
    """The error to raise for token number ``token``; ``what`` says what it must be."""
    sequence, position = locate(offsets, token)
    message = f"X, sequence {sequence}, position {position}: {what}, but is {describe(value)}"
    if what.startswith("the token") and isinstance(value, (tuple, list)):
        is_row = all(isinstance(part, Number) for part in value)
        message += (
            "; the rows of numbers of a sequence must be a 2-D array"
            if is_row
            else "; name its parts in a dict, such as {'word': 'the', 'pos': 'DT'}"
        )
    return ValueError(message)


def _unfold(items: Items, nested: set[type]) -> Items:
    """The same items, with dicts and lists replaced by their items."""
    keys: list[str] = []
    values: list[Any] = []
    ends = [0]
    for i, (k, value) in enumerate(zip(items.key_ids.tolist(), items.values, strict=True)):
        if type(value) in nested:
            inner = _inner_items(items, i, value)
            keys += [f"{items.keys[k]}:{name}" for name in inner]
            values += inner.values() if isinstance(value, Mapping) else [True] * len(inner)
        else:
            keys.append(items.keys[k])
            values.append(value)
        ends.append(len(keys))
    table = StringTable()
    ids = np.empty(len(keys), dtype=np.int32)
    table.add(keys, ids)
    starts = np.array(ends)[items.starts]
    return Items(table.symbols, ids, values, starts, set(map(type, values)), items.offsets)


def _inner_items(items: Items, i: int, value: Any) -> Any:
    what = "a key of a feature dict must be a str"
    if not isinstance(value, Mapping):
        what = f"the members of {items.key(i)!r} must be str"
    for name in value:
        if not isinstance(name, str):
            raise items.invalid(i, what, name)
    # The order of a set differs from run to run.
    return sorted(value) if isinstance(value, (set, frozenset)) else value
