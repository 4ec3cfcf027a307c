"""Estimates of rows of counts, and sums of rows, against dense arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn_crcrf._kernels.sparse.weights import smooth_rows, sums_of_rows

from tests.cases import for_each


@for_each("seed", range(30))
def test_a_row_is_smoothed_towards_the_estimates_of_the_row_above(seed):
    rng = np.random.default_rng(seed)
    n, n_columns, strength = 12, 4, float(rng.choice([0.3, 2.0]))
    above, dense = np.full(n, -1, dtype=np.int32), np.zeros((n, n_columns))
    for row in range(n):
        if row > 0 and rng.random() < 0.6:
            above[row] = rng.integers(row)
        known = dense[above[row]] > 0 if above[row] >= 0 else np.ones(n_columns, dtype=bool)
        dense[row] = rng.integers(0, 3, n_columns) * known
    counts = sp.csr_array(dense)
    sums, given = dense.sum(axis=1), rng.random(counts.nnz)
    prior, estimate = given.copy(), np.full(counts.nnz, np.nan)
    args = counts.indptr, counts.indices, counts.data, sums
    assert smooth_rows(*args, above, 0, 7, strength, prior, estimate)
    assert np.isnan(estimate[counts.indptr[7] :]).all()
    assert smooth_rows(*args, above, 7, n, strength, prior, estimate)
    expected, number = np.zeros((n, n_columns)), iter(range(counts.nnz))
    for row in range(n):
        for column in np.flatnonzero(dense[row]):
            entry = next(number)
            q = given[entry] if above[row] < 0 else expected[above[row], column]
            assert prior[entry] == q
            expected[row, column] = (dense[row, column] + strength * q) / (sums[row] + strength)
            assert estimate[entry] == expected[row, column]
    assert smooth_rows(*args, None, 0, n, strength, given.copy(), estimate)
    total = np.repeat(sums, np.diff(counts.indptr))
    np.testing.assert_array_equal(estimate, (counts.data + strength * given) / (total + strength))


def test_a_column_that_the_row_above_lacks_is_noticed():
    counts = sp.csr_array([[1.0, 0.0], [1.0, 2.0]])
    args = counts.indptr, counts.indices, counts.data, np.array([1.0, 3.0])
    above, prior = np.array([-1, 0], dtype=np.int32), np.ones(3)
    assert not smooth_rows(*args, above, 0, 2, 1.0, prior, np.empty(3))
    for first, last, sums in ((0, 3, args[3]), (1, 0, args[3]), (0, 2, np.ones(1))):
        with pytest.raises(ValueError, match="rows"):
            smooth_rows(*args[:3], sums, above, first, last, 1.0, prior, np.empty(3))
    with pytest.raises(ValueError, match="priors"):
        smooth_rows(*args, above, 0, 2, 1.0, prior[:1], np.empty(3))


@for_each("seed", range(30))
def test_sums_of_rows(seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3, (6, 5)) * rng.random((6, 5))
    matrix = sp.csr_array(dense)
    rows = rng.integers(-1, 6, (rng.integers(0, 5), rng.integers(0, 4))).astype(np.int32)
    data, columns, indptr = sums_of_rows(rows, matrix.indptr, matrix.indices, matrix.data)
    found = sp.csr_array((data, columns, indptr), shape=(len(rows), 5))
    expected = np.where((rows >= 0)[:, :, None], dense[rows], 0.0).sum(axis=1)
    assert found.has_canonical_format and (found.data > 0).all()
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-15)
    with pytest.raises(ValueError, match="no row 6"):
        sums_of_rows(np.array([[6]], dtype=np.int32), matrix.indptr, matrix.indices, matrix.data)
