import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_crcrf.data.ones import (
    are_ones,
    on_places,
    shared_ones,
    with_small_values,
    without_zeros,
)


def test_shared_ones():
    few, many = shared_ones(3, np.float64), shared_ones(5, np.float64)
    assert few.tolist() == [1.0] * 3
    assert len(many) == 5
    assert np.shares_memory(shared_ones(2, float), many)
    with pytest.raises(ValueError, match="read-only"):
        many[0] = 2.0
    assert shared_ones(2, np.float32).dtype == np.float32


def test_are_ones():
    assert are_ones(shared_ones(4, float))
    assert are_ones(np.ones(3))
    assert are_ones(np.ones(0))
    assert not are_ones(np.array([1.0, 0.0]))


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, 2.0, -1.0]])
def test_places_move_with_their_values(values):
    X = sp.csr_array((values, [0, 2, 1], [0, 1, 3]), (2, 3))
    for function in (lambda X: X[[1, 0, 1]], lambda X: X.T.tocsr()):
        moved = on_places(function, X)
        np.testing.assert_array_equal(moved.toarray(), function(X).toarray())
        assert moved.dtype == X.dtype
        assert moved.data.flags.writeable == (values[1] != 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [[0, 1, 1], [1, 1, 1], [0, 0.5, 1], [0, 0, 0], [2, 3, 4]])
def test_without_zeros(values, dtype):
    X = sp.csr_array((np.array(values, dtype), [0, 2, 1], [0, 1, 3]), (2, 3))
    for given in (X, with_small_values(X)):
        kept = without_zeros(given, dtype)
        np.testing.assert_array_equal(kept.toarray(), X.toarray())
        assert kept.dtype == dtype
        assert kept.nnz == np.count_nonzero(values)
        assert X.nnz == given.nnz == 3


@pytest.mark.parametrize(("values", "dtype"), [([0, 1], np.int8), ([1, 1], float), ([0, 2], float)])
def test_with_small_values(values, dtype):
    X = sp.csr_array((np.array(values, float), [0, 2], [0, 1, 2]), (2, 3))
    small = with_small_values(X)
    np.testing.assert_array_equal(small.toarray(), X.toarray())
    assert small.dtype == dtype
    assert np.shares_memory(small.indices, X.indices)
    assert X.dtype == float


def test_small_values_of_which_only_ones_are_left_are_floats_without_zeros():
    ones = with_small_values(sp.csr_array(([0.0, 1.0], [0, 1], [0, 1, 2]), (2, 2)))[[1]]
    kept = without_zeros(ones, np.float32)
    assert kept.dtype == np.float32
    assert kept.toarray().tolist() == [[0, 1]]
