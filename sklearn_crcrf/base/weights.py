"""The weights of a model, by name."""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Weights"]


class Weights(NamedTuple):
    """All weights of a model, by name.

    Parameters
    ----------
    state : ndarray or CSR of shape (n_attributes, n_labels), or (n_weights,)
        One-dimensional if only some pairs of attribute and label have a weight.
    transition : ndarray of shape (n_labels, n_labels)
    begin, end : ndarray of shape (n_labels,)
    edges : ndarray of shape (n_edge_attributes, n_labels, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.base.weights import Weights
    >>> none = np.zeros(2)
    >>> weights = Weights(np.ones((3, 2)), np.eye(2), none, none, np.zeros((0, 2, 2)))
    >>> weights.state.shape, weights.edges.size
    ((3, 2), 0)
    """

    state: Any
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    edges: np.ndarray
