"""Tokens as programs for CRFsuite give them: feature dicts, lists of attributes, also of bytes."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ...data.ragged import SequenceArray, locate, object_array
from ...data.sequences import as_sequences
from ...utils.names import shown

_LISTS = (list, tuple, set, frozenset)


def read_attributes(X: Any) -> SequenceArray:
    """Return the tokens of X, where lists of attributes are feature dicts too."""
    sequences, _, mirror = as_sequences(listed(X))
    refuse_table(mirror.is_table)
    data, offsets = sequences.data, sequences.offsets
    if not (isinstance(data, np.ndarray) and data.dtype.kind == "O"):
        return sequences
    tokens = data.tolist()
    if any(issubclass(kind, _LISTS) for kind in set(map(type, tokens))):
        given = chain.from_iterable(token for token in tokens if isinstance(token, _LISTS))
        # The hash of a tuple of many levels ends the process.
        can_be_hashed = not any(issubclass(kind, tuple) for kind in set(map(type, given)))
        tokens = [
            _counted(attributes, offsets, token, can_be_hashed)
            if isinstance(attributes, _LISTS)
            else attributes
            for token, attributes in enumerate(tokens)
        ]
    if _have_bytes([attributes for attributes in tokens if isinstance(attributes, dict)]):
        tokens = [_decoded(attributes) for attributes in tokens]
    return sequences.with_data(object_array(tokens))


def refuse_table(is_table: bool) -> None:
    """Raise ValueError if X is a table."""
    if is_table:
        raise ValueError("X must be a list of sequences, and not a table: CRF takes tables too")


def listed(sequences: Any) -> Any:
    """Sequences as lists, where they are generators, or ``pycrfsuite.ItemSequence``."""
    if isinstance(sequences, Iterator):
        sequences = list(sequences)
    if not isinstance(sequences, (list, tuple)):
        return sequences
    return [
        list(s) if isinstance(s, Iterator) else s.items() if _is_item_sequence(s) else s
        for s in sequences
    ]


def _is_item_sequence(s: Any) -> bool:
    return type(s).__name__ == "ItemSequence" and hasattr(s, "items")


def _counted(
    attributes: Collection, offsets: np.ndarray, token: int, can_be_hashed: bool
) -> dict[Any, int]:
    try:
        if not can_be_hashed and any(isinstance(attribute, tuple) for attribute in attributes):
            raise TypeError
        ones = dict.fromkeys(attributes, 1)
        return ones if len(ones) == len(attributes) else Counter(attributes)
    except TypeError:
        sequence, position = locate(offsets, token)
        raise ValueError(
            f"X, sequence {sequence}, position {position}: attributes must be str, got "
            f"{shown(attributes)}"
        ) from None


def _have_bytes(tokens: list[dict]) -> bool:
    """Return whether a key or a value is bytes, without a step of Python for each."""
    keys = chain.from_iterable(tokens)
    values = chain.from_iterable(map(dict.values, tokens))
    return bytes in set(map(type, chain(keys, values)))


def _decoded(value: Any) -> Any:
    """Bytes as strings, also in dicts."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, dict):
        return {_decoded(key): _decoded(inner) for key, inner in value.items()}
    return value
