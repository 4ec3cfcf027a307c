"""Feature dicts as flat arrays of keys and values."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .._kernels.sizes import problem_of_nesting
from .._kernels.text.strings import StringTable, split_items
from .ragged import token_name
from .vocabulary import describe

_NESTED = (Mapping, list, tuple, set, frozenset)
_PLAIN = {str, int, float, bool}


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
        """Return the key of one item."""
        return self.keys[self.key_ids[item]]

    def invalid(self, item: int, what: str, value: Any) -> ValueError:
        """Return the error to raise for an invalid item; ``what`` says what it must be."""
        return self.error(item, f"{what}, but is {describe(value)}")

    def error(self, item: int, problem: str) -> ValueError:
        """Return the error to raise for an item; the message names its sequence and position."""
        token = int(np.searchsorted(self.starts, item, side="right")) - 1
        return ValueError(f"{token_name('X', self.offsets, token)}: {problem}")


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
    is_nested = any(issubclass(kind, _NESTED) for kind in items.kinds)
    return _unfold(items) if is_nested else items


def invalid_token(what: str, offsets: np.ndarray, token: int, value: Any) -> ValueError:
    """Return the error to raise for token number ``token``; ``what`` says what it must be."""
    message = f"{token_name('X', offsets, token)}: {what}, but is {describe(value)}"
    if what.startswith("the token") and isinstance(value, (tuple, list)):
        is_row = all(isinstance(part, Number) for part in value)
        message += (
            "; the rows of numbers of a sequence must be a 2-D array"
            if is_row
            else "; name its parts in a dict, such as {'word': 'the', 'pos': 'DT'}"
        )
    return ValueError(message)


def _unfold(items: Items) -> Items:
    """Return the same items, with dicts and lists replaced by their items."""
    keys: list[str] = []
    values: list[Any] = []
    ends = [0]

    def add(key: str, value: Any, item: int, level: int) -> None:
        """Add a value, or what it holds."""
        if type(value) in _PLAIN or not isinstance(value, _NESTED):
            keys.append(key)
            values.append(value)
        elif isinstance(value, Mapping):
            problem = problem_of_nesting(level + 1, len(keys) - ends[-1])
            if problem is not None:
                raise items.error(item, f"the feature dict {problem}")
            check_names(value, item, "a key of a feature dict must be a str")
            for name in value:
                add(f"{key}:{name}", value[name], item, level + 1)
        else:
            check_names(value, item, f"the members of {key!r} must be str")
            # The order of a set differs from run to run.
            members = sorted(value) if isinstance(value, (set, frozenset)) else value
            keys.extend(f"{key}:{name}" for name in members)
            values.extend([True] * len(members))

    def check_names(names: Iterable, item: int, what: str) -> None:
        for name in names:
            if not isinstance(name, str):
                raise items.invalid(item, what, name)

    ids = items.key_ids.tolist()
    for start, stop in pairwise(items.starts.tolist()):
        for item in range(start, stop):
            add(items.keys[ids[item]], items.values[item], item, 1)
        ends.append(len(keys))
    table = StringTable()
    key_ids = np.empty(len(keys), dtype=np.int32)
    table.add(keys, key_ids)
    return Items(
        table.symbols, key_ids, values, np.array(ends), set(map(type, values)), items.offsets
    )
