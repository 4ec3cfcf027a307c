"""Products of columns against numpy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn_crcrf._kernels.sparse.columns import join_columns

from sklearn_crcrf.data.csr import csr_arrays


def joined(left, right, pairs):
    n_columns = left.shape[1], right.shape[1]
    columns = [np.array([pair[k] for pair in pairs], dtype=np.int32) for k in (0, 1)]
    found = join_columns(*csr_arrays(left), *csr_arrays(right), *columns, *n_columns)
    return sp.csr_array(found, shape=(left.shape[0], len(pairs)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_products(n_rows, dtype):
    rng = np.random.default_rng(n_rows)
    left, right = (
        sp.random_array((n_rows, n), density=0.5, rng=rng, format="csr").astype(dtype)
        for n in (7, 9)
    )
    pairs = sorted({(int(a), int(b)) for a, b in rng.integers(7, size=(30, 2))})
    found = joined(left, right, pairs)
    assert found.dtype == dtype
    expected = left.toarray()[:, [a for a, _ in pairs]] * right.toarray()[:, [b for _, b in pairs]]
    assert_array_equal(found.toarray(), expected)
    assert all((np.diff(found[[row]].indices) > 0).all() for row in range(n_rows))


def test_many_products_of_one_row():
    ones = sp.csr_array(np.ones((2, 60)))
    pairs = [(a, b) for a in range(60) for b in range(60)]
    assert_array_equal(joined(ones, ones, pairs).toarray(), np.ones((2, 3600)))


def test_no_products():
    assert joined(sp.csr_array((3, 2)), sp.csr_array(np.ones((3, 2))), []).shape == (3, 0)
