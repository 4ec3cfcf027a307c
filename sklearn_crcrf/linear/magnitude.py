"""A check that attribute values are small enough to train on."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.ragged import locate

__all__ = ["check_magnitude"]


def check_magnitude(X: Any, offsets: np.ndarray) -> None:
    """Raise ValueError if training on these attributes could overflow.

    The derivatives by the weights are sums of attribute values over tokens. After a step along
    these derivatives, scores are sums of squares of attribute values, which must be finite.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_tokens, n_attributes), float32 or float64
    offsets : ndarray of shape (n_sequences + 1,)

    Raises
    ------
    ValueError
        The message names the sequence and the position of the largest value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear import check_magnitude
    >>> check_magnitude(np.array([[1.0], [1e200]]), np.array([0, 2]))
    Traceback (most recent call last):
    ...
    ValueError: X, sequence 0, position 1: the scores would not be finite, with attribute values \
of up to 1e+200 in float64; scale them
    """
    values = X.data if sp.issparse(X) else X
    if values.size == 0:
        return
    largest = max(abs(float(values.max())), abs(float(values.min())))
    limit = np.sqrt(float(np.finfo(values.dtype).max)) / X.shape[0]
    if largest < limit:
        return
    at = int(np.argmax(np.abs(values)))
    token = np.searchsorted(X.indptr, at, side="right") - 1 if sp.issparse(X) else at // X.shape[1]
    sequence, position = locate(offsets, int(token))
    raise ValueError(
        f"X, sequence {sequence}, position {position}: the scores would not be finite, with "
        f"attribute values of up to {largest:.3g} in {values.dtype}; scale them"
    )
