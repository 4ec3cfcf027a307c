"""The one form that every accepted input is brought to."""

from collections.abc import Callable, Mapping
from functools import partial
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d

from ..utils.csr import sound_csr
from .numbers import check_finite
from .ragged import (
    SequenceArray,
    checked_offsets,
    join_sequences,
    locate,
    n_tokens,
    object_array,
    sound_rows,
)

__all__ = ["SequenceArray", "Sequences", "as_sequences", "is_table", "locate"]


class Sequences(NamedTuple):
    """One accepted input, flattened, and the way back.

    ``mirror`` takes one value or row per token of ``X`` and returns them in the container that
    the input came in.
    """

    X: SequenceArray
    y: SequenceArray | None
    mirror: Callable[[np.ndarray], Any]


def as_sequences(X: Any, y: Any = None, name: str = "y") -> Sequences:
    """Bring every accepted input to one form.

    Parameters
    ----------
    X : list of sequences, SequenceArray, 2-D array or CSR, or DataFrame
        The sequences of a list hold token strings or feature dicts, or are 2-D arrays or CSR.
        The rows of a 2-D array, also of one written as a list of lists of numbers, and of a
        DataFrame are sequences of length one. If a DataFrame has an index of two levels,
        (sequence, position), these make the sequences. Its columns become an array if all are
        numeric, else a SymbolTable.
    y : list of label lists, SequenceArray or 1-D array, optional
        Labels, in the same layout as X: for a table one per row.
    name : str, default="y"
        What messages call y.

    Returns
    -------
    Sequences
        ``X`` and ``y`` as SequenceArray, and ``mirror``, which undoes the layout.

    Raises
    ------
    ValueError
        If X is of none of these kinds or holds numbers that are not finite, if the arrays of a
        sparse matrix contradict each other, or if X and y differ in length; the message names
        the sequence.

    Examples
    --------
    >>> X, y, mirror = as_sequences([["a", "b"], ["c"]], [[0, 1], [1]])
    >>> X.lengths, y.data
    (array([2, 1]), array([0, 1, 1], dtype=object))
    >>> mirror(y.data)
    array([list([0, 1]), list([1])], dtype=object)
    """
    if isinstance(X, SequenceArray):
        sequences = _check_again(X)
        mirror = partial(SequenceArray, offsets=sequences.offsets)
    elif not is_table(X):
        sequences = join_sequences(X, "X")
        mirror = _mirror_lists(sequences.offsets)
    elif hasattr(X, "iloc"):
        # DataFrames are made of symbols, and symbols of sequences.
        from .frames import frame_sequences

        return frame_sequences(X, y, name)
    else:
        check = partial(check_array, accept_sparse="csr", dtype=None)
        return table_sequences(checked_table(X, check), y, name)
    _check_kind(sequences.data)
    check_finite(sequences)
    labels = None if y is None else align_labels(y, sequences, name)
    return Sequences(sequences, labels, mirror)


def is_table(X: Any) -> bool:
    """Whether a sample of X is a row, and not a sequence.

    Parameters
    ----------
    X : any input of :func:`as_sequences`
        A list is told by its first element: a number, or a list of numbers, makes it a table.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If X is a list of tokens, which is neither.

    Examples
    --------
    >>> is_table([[0.5, 1.5], [2.5, 3.5]]), is_table([["a", "b"]])
    (True, False)
    """
    if isinstance(X, SequenceArray):
        return False
    if hasattr(X, "iloc"):
        return X.ndim == 2 or X.index.nlevels > 1
    if not (isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1)):
        return True
    first = next((s for s in X if n_tokens(s) != 0), None)
    if isinstance(first, (str, bytes, Mapping)) and not sp.issparse(first):
        raise ValueError(
            f"X must be a list of sequences, but is a list of {type(first).__name__}; "
            f"to pass a single sequence, put it into a list: [X]"
        )
    if isinstance(first, (list, tuple)) or (isinstance(first, np.ndarray) and first.ndim == 1):
        first = first[0]
    return isinstance(first, (Number, np.bool_))


def align_labels(y: Any, X: SequenceArray, name: str) -> SequenceArray:
    """Labels as a SequenceArray that has one for every token of X."""
    labels = join_sequences(y, name)
    if len(labels) != len(X):
        raise ValueError(f"X has {len(X)} sequences, but {name} has {len(labels)}")
    differ = np.flatnonzero(labels.lengths != X.lengths)
    if len(differ):
        i = int(differ[0])
        raise ValueError(
            f"sequence {i} has {X.lengths[i]} tokens in X, but {labels.lengths[i]} in {name}"
        )
    check_one_per_token(labels, name)
    return labels


def check_one_per_token(y: SequenceArray, name: str) -> None:
    """Raise ValueError unless the data is one-dimensional."""
    if y.data.ndim != 1:
        raise ValueError(
            f"{name} must have one value per token, but its data has shape {y.data.shape}"
        )


def label_rows(y: Any, n_rows: int) -> np.ndarray:
    """The labels of the rows of a table."""
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
        )
    return y


def table_sequences(table: Any, y: Any = None, name: str = "y") -> Sequences:
    """The rows of a table that has been checked, and one label for each, as sequences of one."""
    _check_kind(table)
    X = SequenceArray._of(table, np.arange(table.shape[0] + 1))
    if y is not None and not isinstance(y, SequenceArray):
        y = SequenceArray(label_rows(y, len(X)), X.offsets)
    return Sequences(X, None if y is None else align_labels(y, X, name), np.asarray)


def sound_table(X: Any) -> Any:
    """A table, by sound rows if it is sparse."""
    return sound_csr(X, "X", "X, row {}".format) if sp.issparse(X) else X


def _check_again(X: SequenceArray) -> SequenceArray:
    """The same, in spite of what may have been written into its arrays since it was made."""
    offsets = checked_offsets(X.offsets, X.data.shape[0])
    data = sound_rows(X.data, offsets, "X")
    return X if data is X.data else SequenceArray._of(data, offsets)


def _check_kind(data: Any) -> None:
    """Raise ValueError unless tokens may be of this type."""
    is_array = isinstance(data, np.ndarray) or sp.issparse(data)
    if is_array and (data.ndim > 2 or data.dtype.kind in "cmMV"):
        raise ValueError(
            "X must hold strings, feature dicts or rows of real numbers, "
            f"but its data is of shape {data.shape} and type {data.dtype}"
        )


def checked_table(X: Any, check: Callable) -> Any:
    """A table after a check by scikit-learn, before which sparse rows are made sound."""
    try:
        return check(sound_table(X))
    except ValueError as error:
        is_list = isinstance(X, (list, tuple))
        if is_list and len({n_tokens(row) for row in X}) > 1:
            raise ValueError(
                "X is a list of lists of numbers, hence a table, but its rows differ in length; "
                "write symbols as strings, and a sequence of rows of numbers as a 2-D array of "
                "shape (n_tokens, n_attributes)"
            ) from None
        if is_list and "inhomogeneous" in str(error):
            raise ValueError(
                f"X is no table: its rows must hold numbers or strings ({error})"
            ) from None
        raise


def _mirror_lists(offsets: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def mirror(flat: np.ndarray) -> np.ndarray:
        return object_array(SequenceArray(np.asarray(flat), offsets).tolist())

    return mirror
