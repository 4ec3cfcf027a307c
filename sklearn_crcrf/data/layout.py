"""Layouts: how values of tokens are arranged in the container of an input."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from .missing import IGNORED, are_missing, is_missing
from .ragged import SequenceArray, join_sequences, object_array

_PADDING = (None, "", -1, IGNORED)


@dataclass(frozen=True)
class Layout(ABC):
    """How values of tokens are arranged in a container; calling it puts values there.

    Parameters
    ----------
    offsets : ndarray of int64 of shape (n_sequences + 1,)
        Where each sequence begins among all tokens.
    index : pandas Index, optional
        The index of the samples, which values with an index must have too.
    """

    offsets: np.ndarray
    index: Any = field(default=None, kw_only=True)
    is_table = False
    """Whether a sample is a row of one token."""

    @abstractmethod
    def __call__(self, flat: np.ndarray) -> Any:
        """Put the values, or rows, of all tokens into the container."""

    def flat(self, values: Any, name: str) -> SequenceArray:
        """Take one value for every token out of the container.

        Parameters
        ----------
        values : list of lists, SequenceArray, padded 2-D array, or 1-D array for a table
        name : str
            Name of the values in error messages.

        Returns
        -------
        SequenceArray of 1-D data

        Raises
        ------
        ValueError
            If there is not exactly one value for every token.
        """
        self.check_index(values, name)
        n_sequences, lengths = len(self.offsets) - 1, np.diff(self.offsets)
        if isinstance(values, np.ndarray) and values.ndim == 2:
            values = unpadded_labels(values, lengths)
        elif int(self.offsets[-1]) != n_sequences and _is_flat(values, int(self.offsets[-1])):
            raise ValueError(
                f"{name} has one value after another, but X has sequences; "
                f"SequenceArray.from_lengths({name}, lengths) makes sequences of {name}, too"
            )
        values = join_sequences(values, name)
        if len(values) != n_sequences:
            raise ValueError(f"X has {n_sequences} sequences, but {name} has {len(values)}")
        differ = np.flatnonzero(values.lengths != lengths)
        if len(differ):
            i = int(differ[0])
            raise ValueError(
                f"sequence {i} has {lengths[i]} tokens in X, but {values.lengths[i]} in {name}"
            )
        check_one_per_token(values, name)
        return values

    def check_index(self, values: Any, name: str) -> None:
        """Raise ValueError if values have another index than the samples."""
        if self.index is None or not hasattr(values, "iloc"):
            return
        is_numbered = np.array_equal(values.index, np.arange(len(self.index)))
        if is_numbered and self.index.nlevels > 1:  # it has no index of its own
            return
        if len(values) != len(self.index) or values.index.equals(self.index):
            return
        for row, (expected, given) in enumerate(zip(self.index, values.index, strict=True)):
            if expected != given:
                raise ValueError(
                    f"the index of {name} differs from the index of X: row {row} is {given!r} in "
                    f"{name} and {expected!r} in X; pass {name}.loc[X.index] if these are the same "
                    f"samples in another order, or {name}.to_numpy() if {name} has the order of X"
                )

    def labels(self, values: Any, name: str) -> SequenceArray:
        """Take the labels of all tokens out of the container, as :meth:`flat`."""
        return self.flat(values, name)


class Lists(Layout):
    """A list of sequences."""

    def __call__(self, flat: np.ndarray) -> np.ndarray:
        return object_array(SequenceArray(np.asarray(flat), self.offsets).tolist())


class Ragged(Layout):
    """A SequenceArray."""

    def __call__(self, flat: np.ndarray) -> SequenceArray:
        return SequenceArray(flat, self.offsets)


@dataclass(frozen=True)
class Rows(Layout):
    """A table, in which each token has a row.

    Parameters
    ----------
    offsets, index : as in :class:`Layout`
    order : ndarray of int of shape (n_tokens,), optional
        The row of each token; None if tokens are in the order of the rows.
    """

    order: np.ndarray | None = None
    is_table = True

    def __call__(self, flat: np.ndarray) -> np.ndarray:
        flat = np.asarray(flat)
        return flat if self.order is None else flat[np.argsort(self.order)]

    def flat(self, values: Any, name: str) -> SequenceArray:
        """Take one value for every token out of the rows.

        As :meth:`Layout.flat`; a 1-D array has one value for every row, in the order of the rows.
        """
        self.check_index(values, name)
        self.check_one_per_row(values, name)
        if not isinstance(values, SequenceArray):
            values, n_rows = _as_column(values, name), int(self.offsets[-1])
            if len(values) != n_rows:
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"[{n_rows}, {len(values)}]"
                )
            values = values if self.order is None else values[self.order]
            values = SequenceArray(values, self.offsets)
        return super().flat(values, name)

    def labels(self, values: Any, name: str) -> SequenceArray:
        """Take one label for every token out of the rows.

        As :meth:`flat`; missing values, such as NaN and pandas.NA, are unknown labels, None.
        """
        labels = self.flat(values, name)
        is_missing = are_missing(labels.data)
        if not is_missing.any():
            return labels
        return labels.with_data(np.where(is_missing, None, labels.data.astype(object)))

    def check_one_per_row(self, values: Any, name: str) -> None:
        """Raise ValueError if values are arranged in sequences."""
        if isinstance(values, np.ndarray):
            is_nested = values.ndim == 2 and values.dtype.kind in "OUS" and values.shape[1] != 1
        else:
            is_list = isinstance(values, (list, tuple))
            is_nested = is_list and all(isinstance(labels, (list, tuple)) for labels in values)
            is_nested = is_nested and any(len(labels) != 1 for labels in values)
        if not is_nested:
            return
        if self.index is not None:
            raise ValueError(
                f"{name} holds sequences, but X is a DataFrame with a row for each token, as "
                f"transformers make it where the output is 'pandas'; {name} must have a label for "
                "each row"
            )
        raise ValueError(
            f"{name} holds sequences, but the samples of X are its rows; sequences of words must "
            "be lists, such as X.tolist(), tokens that are numbers must be written as strings, "
            "and rows of attributes of a sequence as a 2-D array"
        )


class Sequences(NamedTuple):
    """An input, flattened, and its layout.

    ``y`` is a SequenceArray, or None if no labels were given. ``mirror`` takes one value or row
    per token of ``X`` and returns them in the container of the input.
    """

    X: SequenceArray
    y: Any
    mirror: Layout


def _as_column(values: Any, name: str) -> np.ndarray:
    """Return one value for each row as a 1-D array, in which missing values stay what they are."""
    dtype: Any = getattr(values, "dtype", None)
    is_nullable = hasattr(values, "isna") and not isinstance(dtype, np.dtype | None)
    if is_nullable and dtype.kind in "iub":
        values = values.to_numpy(dtype=object if values.isna().any() else dtype.type)  # no floats
    elif isinstance(values, (list, tuple)) and any(map(is_missing, values)):
        values = object_array(list(values))  # not NaN as a string
    try:
        return column_or_1d(values, warn=True)
    except ValueError as error:
        raise ValueError(f"{name} must hold one value for each row of X: {error}") from error


def _is_flat(values: Any, n_tokens: int) -> bool:
    """Say whether there is a value for each token, and none is a sequence."""
    has_length = hasattr(values, "__len__") and not isinstance(values, SequenceArray)
    if not has_length or not 0 < len(values) == n_tokens:
        return False
    return isinstance(next(iter(values)), (str, Number))


def check_one_per_token(y: SequenceArray, name: str) -> None:
    """Raise ValueError unless the data is one-dimensional."""
    if y.data.ndim != 1:
        hint = "; the columns of probabilities need labels=" if name == "y" else ""
        raise ValueError(
            f"{name} must have one value per token, but its data has shape {y.data.shape}{hint}"
        )


def unpadded(X: np.ndarray) -> SequenceArray:
    """Return the sequences of an array, without the rows of NaN at their ends.

    Parameters
    ----------
    X : ndarray of shape (n_sequences, length, n_attributes)
        Only floats can be padded; sequences of other types all have the same length.

    Returns
    -------
    SequenceArray

    Examples
    --------
    >>> unpadded(np.array([[[1.0], [2.0]], [[3.0], [np.nan]]])).lengths
    array([2, 1])
    """
    n_sequences, length, n_attributes = X.shape
    if n_attributes == 0:
        raise ValueError("X has no attributes: its shape is " + str(X.shape))
    lengths = np.full(n_sequences, length)
    if X.dtype.kind == "f":
        is_token = ~np.isnan(X).all(axis=2)
        lengths = (is_token * np.arange(1, length + 1)).max(axis=1, initial=0)
    return SequenceArray.from_lengths(X[_within(lengths, length)], lengths)


def unpadded_labels(y: np.ndarray, lengths: np.ndarray) -> Any:
    """Return the labels of an array, without the padding behind the tokens.

    Parameters
    ----------
    y : ndarray of shape (n_sequences, length)
    lengths : ndarray of int of shape (n_sequences,)
        Number of tokens of each sequence.

    Returns
    -------
    SequenceArray or ndarray
        The array itself if it does not fit, or if anything but NaN, None, "", -1 or -100 is
        behind the tokens.
    """
    n_sequences, length = y.shape
    if n_sequences == len(lengths) and length >= lengths.max(initial=0):
        within = _within(lengths, length)
        if all(is_missing(label) or label in _PADDING for label in y[~within].tolist()):
            return SequenceArray.from_lengths(y[within], lengths)
    return y


def _within(lengths: np.ndarray, length: int) -> np.ndarray:
    """Say which positions are before the ends of their sequences, (n_sequences, length)."""
    return np.arange(length) < lengths[:, None]
