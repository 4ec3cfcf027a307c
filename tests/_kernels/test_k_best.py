"""The size of what the k best paths need; what they are is tested with the chain."""

import numpy as np
import pytest
from sklearn_crcrf._kernels._k_best import k_best


def test_too_many_paths_are_refused():
    """Before memory is taken for them; what is handed over here is never touched."""
    n_labels, k = 64, 2**26
    zeros, no_labels = np.zeros(n_labels), np.empty(0, dtype=np.int32)
    edges = np.array([-1]), np.zeros(1, dtype=np.int64), no_labels, no_labels, np.empty(0)
    with pytest.raises(OverflowError, match="4294967296 paths to the labels of a token"):
        k_best(
            np.zeros((1, n_labels)),
            np.zeros((n_labels, n_labels)),
            zeros,
            zeros,
            *edges,
            np.empty((k, 1), dtype=np.int32),
            np.empty(k),
        )
