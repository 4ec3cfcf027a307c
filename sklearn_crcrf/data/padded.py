"""Arrays of sequences that are padded to one length."""

from typing import Any

import numpy as np

from .missing import is_missing
from .ragged import SequenceArray

_PADDING = (None, "", -1, -100)


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


def unpadded_labels(y: np.ndarray, lengths: np.ndarray) -> Any:
    """The labels of an array, without the padding behind the tokens.

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
    if n_sequences != len(lengths) or length < lengths.max(initial=0):
        return y
    within = _within(lengths, length)
    if all(is_missing(label) or label in _PADDING for label in y[~within].tolist()):
        return SequenceArray.from_lengths(y[within], lengths)
    return y


def _within(lengths: np.ndarray, length: int) -> np.ndarray:
    """Which positions are before the ends of their sequences, (n_sequences, length)."""
    return np.arange(length) < lengths[:, None]
