"""Attributes that share a weight: which do, and that scores and norms stay what they were."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_crcrf import CRF
from sklearn_crcrf.linear import problem
from sklearn_crcrf.linear.duplicate_columns import find_duplicates

matrices = hnp.arrays(
    float,
    st.tuples(st.integers(0, 6), st.integers(0, 12)),
    elements=st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0]),
)


@given(matrices, st.sets(st.integers(0, 11)))
def test_equal_columns_of_ones_are_one_group(X, apart):
    apart = [j for j in apart if j < X.shape[1]]
    duplicates = find_duplicates(sp.csr_array(X), apart)
    for i in range(X.shape[1]):
        for j in range(i):
            may = not (X[:, [i, j]] == 2).any() and i not in apart and j not in apart
            equal = may and (X[:, i] == X[:, j]).all()
            assert (duplicates.group[i] == duplicates.group[j]) == equal


@given(matrices)
def test_groups_stand_for_their_first_columns_and_frequent_ones_come_first(X):
    duplicates = find_duplicates(sp.csr_array(X), [])
    magnitude = np.frexp(np.count_nonzero(X, axis=0)[duplicates.first])[1]
    place = [next(iter(np.flatnonzero(X[:, j])), len(X)) for j in duplicates.first]
    keys = list(zip(-magnitude, place, strict=True))
    assert keys == sorted(keys)
    assert_array_equal(duplicates.group[duplicates.first], np.arange(len(duplicates.first)))
    assert all(duplicates.first[g] <= j for j, g in enumerate(duplicates.group))
    assert duplicates.merge(sp.csr_array(X)).shape == (len(X), len(duplicates.first))


@given(matrices)
def test_scores_and_norms_are_the_same(X):
    duplicates = find_duplicates(sp.csr_array(X), [])
    shared = duplicates.merge(sp.csr_array(X))
    weights = np.random.default_rng(0).normal(size=(shared.shape[1], 3))
    single = duplicates.single(weights)
    assert_allclose(shared @ weights, X @ single, atol=1e-12)
    assert_allclose((weights**2).sum(), (single**2).sum())
    assert_allclose(duplicates.shared(single), weights)
    assert_allclose(duplicates.attributes(sp.csr_array(X)).toarray(), shared.toarray(), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_other_tokens_may_tell_attributes_apart(make, dtype):
    X = sp.csr_array(np.array([[1, 1, 1, 0], [1, 1, 1, 1]], dtype=dtype))
    other = make(np.array([[1, 0, 3, 1], [0, 0, 0, 2]], dtype=dtype))
    duplicates = find_duplicates(X, [])
    weights = np.array([[3.0, -1.0], [0.5, 2.0]], dtype=dtype)
    assert_array_equal(duplicates.group, [0, 0, 0, 1])
    attributes = duplicates.attributes(other)
    assert attributes.dtype == dtype
    assert_allclose(attributes @ weights, other @ duplicates.single(weights), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_weights(dtype):
    X = sp.csr_array(np.array([[1, 1, 0], [0, 0, 1]], dtype=dtype))
    duplicates = find_duplicates(X, [])
    single = sp.csr_array(np.array([[1, 0, 2], [1, 0, 2], [0, 5, 0]], dtype=dtype))
    shared = duplicates.shared(single)
    assert shared.dtype == duplicates.single(shared).dtype == dtype
    assert_allclose(shared.toarray(), [[2**0.5, 0, 2 * 2**0.5], [0, 5, 0]], rtol=1e-6)
    assert_allclose(duplicates.single(shared).toarray(), single.toarray(), rtol=1e-6)


def test_entries_of_one_place_are_added():
    X = sp.csr_array(([1.0, 1.0, 1.0], [0, 0, 2], [0, 2, 3]), shape=(2, 3))
    assert_array_equal(find_duplicates(X, []).group, [0, 2, 1])
    X = sp.csr_array(([0.5, 1.0, 0.5, 1.0], [0, 1, 0, 2], [0, 3, 4]), shape=(2, 3))
    assert_array_equal(find_duplicates(X, []).group, [0, 0, 1])
    assert_array_equal(find_duplicates(X, []).merge(X).toarray(), [[2**0.5, 0], [0, 1]])
    assert X.nnz == 4


def test_indices_of_any_size_in_read_only_memory():
    X = sp.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    assert_array_equal(find_duplicates(X, []).group, [0, 0, 1])


@pytest.mark.parametrize("features", ["all", "observed"])
def test_the_penalty_of_absolute_values_is_the_same(monkeypatch, features):
    words = ["ab", "abc", "b", "cd", "cde", "ab", "d", "bcd"]
    X = [[{f"{k}{c}": True for c in w for k in "xyz"} | {"n": len(w)} for w in words]] * 3
    y = [["A", "B", "A", "C", "B", "A", "C", "B"]] * 3
    crf = CRF(c1=0.2, sigma=2.0, features=features, max_iter=60, tol=1e-10)
    fitted = []
    for fewer in (problem.FEWER, 0.0):
        monkeypatch.setattr(problem, "FEWER", fewer)
        fitted.append(clone(crf).fit(X, y))
    merged, apart = fitted
    # Steps are kept in single precision.
    assert_allclose(merged.loss_curve_[:8], apart.loss_curve_[:8], rtol=1e-7)
    assert merged.loss_curve_[-1] == pytest.approx(apart.loss_curve_[-1], rel=1e-6)
    assert_allclose(merged.coef_.toarray(), apart.coef_.toarray(), atol=2e-3)
    assert merged.coef_.toarray()[[0, 1, 2]].std(axis=0).max() < 1e-12


def test_attributes_that_occur_with_other_labels_stay_apart():
    X = sp.csr_array(np.ones((2, 3)))
    pairs = sp.csr_array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    assert_array_equal(find_duplicates(X, [], pairs).group, [0, 1, 0])
