"""Labels in any layout as one array, and as numbers."""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...data.layout import check_one_per_token
from ...data.missing import unhashable
from ...data.ragged import SequenceArray, token_name
from ...utils.names import check_several, shown
from ..encoding import number_values, sorted_places


def label_sequences(y: Any, name: str) -> SequenceArray:
    """Labels in any layout as a SequenceArray; one-dimensional labels are a single sequence."""
    check_several(y, name)
    if isinstance(y, SequenceArray):
        labels = y
    elif is_nested(y):
        labels = SequenceArray.from_sequences(y)
    elif hasattr(y, "__array__"):
        flat = np.asarray(y)
        labels = SequenceArray(flat, [0, len(flat)])
    else:
        labels = SequenceArray.from_sequences([y])
    check_one_per_token(labels, name)
    return labels


def is_nested(y: Any) -> bool:
    """Say whether labels are nested in sequences, rather than one flat list or array."""
    if isinstance(y, SequenceArray):
        return True
    first = next(iter(y), ())
    return hasattr(first, "__len__") and not isinstance(first, (str, bytes, Mapping, Set))


@contextmanager
def naming_unhashable(**labels: SequenceArray) -> Iterator[None]:
    """If labels cannot be compared, raise a ValueError that names the one that is not hashable.

    Parameters
    ----------
    **labels : SequenceArray
        Labels, by the name of the argument.
    """
    try:
        yield
    except (TypeError, ValueError):
        for name, sequences in labels.items():
            token = unhashable(sequences.data)
            if token is not None:
                where, label = token_name(name, sequences.offsets, token), sequences.data[token]
                raise ValueError(f"{where}: the label {shown(label)} is not hashable") from None
        raise


def factorize(values: np.ndarray) -> tuple[list, np.ndarray]:
    """Return the distinct values, sorted if they can be, and the index of each value among them."""
    if values.dtype.kind in "biu":
        numbers, codes = np.unique(values, return_inverse=True)
        return numbers.tolist(), codes
    different, ids = number_values(values)
    order = sorted_places(different)
    return [different[i] for i in order], np.argsort(order)[ids]
