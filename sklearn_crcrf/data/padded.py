"""Arrays of sequences that are padded to one length."""

from typing import Any

import numpy as np

from .layout import Lists
from .ragged import SequenceArray

__all__ = ["PaddedLists", "unpadded"]

_PADDING = (None, "", -1)


def unpadded(X: np.ndarray) -> SequenceArray:
    """The sequences of an array, without the rows of NaN at their ends.

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


class PaddedLists(Lists):
    """Sequences of which an array was padded; predictions are lists."""

    def flat(self, values: Any, name: str) -> SequenceArray:
        """Take one value for every token out of lists, or out of a padded array of two axes.

        As :meth:`Layout.flat`.
        """
        if isinstance(values, np.ndarray) and values.ndim == 2:
            lengths = np.diff(self.offsets)
            if len(values) == len(lengths) and values.shape[1] >= lengths.max(initial=0):
                self._check_padding(values, lengths, name)
                values = SequenceArray.from_lengths(
                    values[_within(lengths, values.shape[1])], lengths
                )
        return super().flat(values, name)

    def _check_padding(self, values: np.ndarray, lengths: np.ndarray, name: str) -> None:
        for sequence, position in np.argwhere(~_within(lengths, values.shape[1])):
            value = values[sequence, position]
            if not (value in _PADDING or value != value):
                raise ValueError(
                    f"{name}, sequence {sequence}, position {position}: {value!r} is behind the "
                    f"{lengths[sequence]} tokens of X; pad {name} by NaN, None, '' or -1"
                )


def _within(lengths: np.ndarray, length: int) -> np.ndarray:
    """Which positions are before the ends of their sequences, (n_sequences, length)."""
    return np.arange(length) < lengths[:, None]
