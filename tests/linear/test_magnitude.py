"""How large the values of attributes may be."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each

from sklearn_crcrf.linear.corpus import check_magnitude


@for_each("dtype", ["float32", "float64"])
@for_each("container", [np.array, sp.csr_array])
def test_squares_of_sums_over_all_tokens_are_finite(dtype, container):
    values = np.ones((100, 2), dtype=dtype)
    values[57, 1] = -np.sqrt(np.finfo(dtype).max) / 101
    offsets = np.array([0, 50, 100])
    check_magnitude(container(values), offsets)
    values[57, 1] *= 1.1
    with pytest.raises(ValueError, match="X, sequence 1, position 7: the scores would not be"):
        check_magnitude(container(values), offsets)
