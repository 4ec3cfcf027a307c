"""Compact storage of arrays of many names."""

from typing import Any

import numpy as np

from .vocabulary import Vocabulary


def packed(state: dict[str, Any], key: str) -> dict[str, Any]:
    """The state with the array of names under ``key`` as one text.

    File formats that load only data are slow for many single strings.
    """
    names = state.get(key)
    if names is None:
        return state
    text = Vocabulary(names)
    return {**state, key: text} if len(text) == len(names) else state


def unpacked(state: dict[str, Any], key: str) -> dict[str, Any]:
    """The inverse of :func:`packed`."""
    names = state.get(key)
    if not isinstance(names, Vocabulary):
        return state
    return {**state, key: np.array(names.symbols, dtype=object)}
