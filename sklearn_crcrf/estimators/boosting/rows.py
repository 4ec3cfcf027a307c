"""Tokens as rows of numbers, as trees take them."""

import numpy as np
import scipy.sparse as sp

from ...data.numbers import as_numbers
from ...data.ragged import SequenceArray, joined_ranges


def check_no_edge_data(X: SequenceArray) -> None:
    """Raise ValueError if edges have types or attributes."""
    if getattr(X, "edge_data", None) is not None:
        raise ValueError(
            "X has types or attributes of edges, but all transitions of a BoostedCRF have the same "
            "scores; make X without edge_data"
        )


def as_rows(X: SequenceArray) -> np.ndarray | sp.csr_array:
    """Return the attributes of all tokens, in single precision.

    Raises
    ------
    ValueError
        If tokens are not rows of numbers, a number is not finite in single precision, or edges have
        types or attributes.
    """
    check_no_edge_data(X)
    if isinstance(X.data, np.ndarray) and X.data.ndim == 2:  # also of numbers that are written
        return np.ascontiguousarray(as_numbers(X, np.float32))
    if X.kind == "attributes":
        rows = sp.csr_array(as_numbers(X, np.float32))
        rows.indices, rows.indptr = (ids.astype(np.int32) for ids in (rows.indices, rows.indptr))
        return rows
    raise ValueError(
        "tokens must be rows of numbers; turn strings or feature dicts into rows with a "
        "vectorizer, such as sklearn_crcrf.SequenceVectorizer"
    )


def some_tokens(offsets: np.ndarray, part: float, rng: np.random.RandomState) -> np.ndarray | slice:
    """Return the tokens of a random fraction ``part`` of the sequences."""
    if part == 1.0:
        return slice(None)
    n_sequences = len(offsets) - 1
    n_chosen = max(1, round(part * n_sequences))
    chosen = np.sort(rng.choice(n_sequences, n_chosen, replace=False))
    return joined_ranges(offsets[chosen], np.diff(offsets)[chosen])
