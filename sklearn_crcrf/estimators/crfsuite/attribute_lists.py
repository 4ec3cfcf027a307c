"""Tokens as programs for CRFsuite give them: feature dicts, lists of attributes, also of bytes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...feature_extraction.vectorizer import SequenceVectorizer, rows_of


def attribute_rows(vectorizer: SequenceVectorizer, X: Any, learn: bool = False) -> SequenceArray:
    """Turn the tokens of X into rows, with the attributes that are known, or occur."""
    sequences, _, mirror = as_sequences(listed(X))
    refuse_table(mirror.is_table)
    return rows_of(vectorizer, sequences, learn, lists=True)


def refuse_table(is_table: bool) -> None:
    """Raise ValueError if X is a table."""
    if is_table:
        raise ValueError("X must be a list of sequences, and not a table: CRF takes tables too")


def listed(sequences: Any) -> Any:
    """Sequences as lists: generators, arrays of attributes, and ``pycrfsuite.ItemSequence``."""
    if isinstance(sequences, Iterator):
        sequences = list(sequences)
    if not isinstance(sequences, (list, tuple)):
        return sequences
    return [*map(_tokens_of, sequences)]


def _tokens_of(s: Any) -> Any:
    if isinstance(s, Iterator):
        return list(s)
    if isinstance(s, np.ndarray) and s.ndim == 2 and s.dtype.kind in "OSU":
        return list(s)
    return s.items() if _is_item_sequence(s) else s


def _is_item_sequence(s: Any) -> bool:
    return type(s).__name__ == "ItemSequence" and hasattr(s, "items")
