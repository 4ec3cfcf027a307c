"""Pairs of attribute and label: against counts in a dense matrix."""

from functools import partial

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn_crcrf._kernels.sparse.weights import count_pairs

from sklearn_crcrf._kernels.sizes import check_number
from sklearn_crcrf.data.csr import csr_arrays

N_LABELS = 4

tokens = st.integers(0, 30).flatmap(
    lambda n: st.tuples(
        hnp.arrays(float, (n, 6), elements=st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.5])),
        hnp.arrays(np.int32, n, elements=st.integers(-1, N_LABELS - 1)),
    )
)


def counts_of(X, y):
    sums, labels, indptr = count_pairs(*csr_arrays(X), y, X.shape[1])
    return sp.csr_array((sums, labels, indptr), (X.shape[1], N_LABELS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(tokens=tokens)
def test_sums_of_all_pairs(tokens, dtype):
    X, y = tokens
    counts = counts_of(sp.csr_array(X.astype(dtype)), y)
    is_label = y[:, None] == np.arange(N_LABELS)
    assert_array_equal(counts.toarray(), X.T @ is_label)
    assert counts.nnz == ((X != 0).T @ is_label).astype(bool).sum()
    assert counts.has_canonical_format


def test_entries_that_are_there_twice_are_added():
    X = sp.csr_array(([1.0, 2.0, 4.0], [0, 1, 0], [0, 3]), shape=(1, 2))
    assert_array_equal(counts_of(X, np.array([3], dtype=np.int32)).toarray()[:, 3], [5.0, 2.0])


def test_too_many_pairs_are_refused(monkeypatch):
    small = partial(check_number, largest=3)
    monkeypatch.setattr("sklearn_crcrf._kernels.sparse.weights.check_number", small)
    X = sp.csr_array(np.ones((2, 2)))
    assert counts_of(X[:, :1], np.array([0, 1], dtype=np.int32)).nnz == 2
    with pytest.raises(OverflowError, match="4 pairs of attribute and label, but at most 3"):
        counts_of(X, np.array([0, 1], dtype=np.int32))
