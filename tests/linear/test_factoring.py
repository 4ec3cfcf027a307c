"""Attributes that come together: the factors against the matrix they are of."""

import time

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_crcrf.linear import factoring
from sklearn_crcrf.linear.factoring import factor

# In so many rows attributes come together: few, so that small matrices have many groups.
FEWEST = 4

matrices = hnp.arrays(
    float,
    st.tuples(st.integers(0, 25), st.integers(1, 8)),
    elements=st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0]),  # the products are exact
)


def product(factored):
    return (factored.single + factored.groups @ factored.members).toarray()


def n_additions(factored):
    return factored.single.nnz + factored.groups.nnz + factored.members.nnz


def templates(n_rows, n_symbols=4, dtype=float):
    """Each row has a unigram, a bigram and a trigram of a sequence; an id for each of them."""
    symbols = np.random.default_rng(0).integers(n_symbols, size=n_rows + 2)
    windows = np.lib.stride_tricks.sliding_window_view(symbols, 3)
    powers = n_symbols ** np.arange(3)
    columns = np.concatenate(
        [
            n_symbols**3 + n_symbols**2 + windows[:, :1],
            n_symbols**3 + windows[:, :2] @ powers[:2, None],
            windows @ powers[:, None],
        ],
        axis=1,
    )
    X = sp.lil_array((n_rows, n_symbols**3 + n_symbols**2 + n_symbols), dtype=dtype)
    X[np.arange(n_rows)[:, None], columns] = 1
    return X.tocsr()


@given(matrices)
def test_factors_make_the_matrix(X):
    factored = factor(sp.csr_array(X), FEWEST)
    assert_array_equal(product(factored), X)
    assert n_additions(factored) <= np.count_nonzero(X)


@given(matrices)
def test_groups_have_two_members_or_more(X):
    _, groups, members = factor(sp.csr_array(X), FEWEST)
    assert (np.diff(members.indptr) >= 2).all()
    assert_array_equal(groups.data, 1.0)


def test_each_row_of_templates_is_one_group():
    X = templates(1000)
    single, groups, members = factor(X, FEWEST)
    assert single.nnz == 0
    assert_array_equal(np.diff(groups.indptr), 1)
    assert groups.shape[1] == len(np.unique(X.toarray(), axis=0)) + 16
    assert members[groups.indices].toarray().sum() == X.nnz


def test_what_comes_together_too_seldom_stays():
    row = [[1.0, 1.0, 1.0]]
    assert factor(sp.csr_array(row * 3), 4).groups.shape[1] == 0
    assert factor(sp.csr_array(row * 4), 4).groups.shape[1] == 1


def test_only_attributes_of_one_value_are_folded():
    assert_array_equal(factor(sp.csr_array([[1.0, 2.0]] * 5), 5).members.toarray(), [[1.0, 2.0]])
    factored = factor(sp.csr_array([[2.0, 1.0, 3.0], *[[1.0, 1.0, 3.0]] * FEWEST]), FEWEST)
    assert_array_equal(factored.groups.toarray(), [[1.0]] * (1 + FEWEST))
    assert_array_equal(factored.members.toarray(), [[0.0, 1.0, 3.0]])
    assert_array_equal(factored.single.toarray()[:, 0], [2.0, *[1.0] * FEWEST])


def test_entries_that_are_there_twice_are_added():
    X = sp.csr_array((np.ones(9), [0, 0, 1, 0, 1, 1, 0, 1, 1], [0, 3, 6, 9]), shape=(3, 2))
    before = X.copy()
    assert_array_equal(product(factor(X, FEWEST)), X.toarray())
    assert_array_equal(X.indices, before.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_types(dtype, index):
    X = templates(40, dtype=dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    factored = factor(X, FEWEST)
    assert {factor.dtype for factor in factored} == {np.dtype(dtype)}
    assert_array_equal(product(factored), X.toarray())


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (4, 2)])
def test_empty_matrices(shape):
    factored = factor(sp.csr_array(shape))
    assert [factor.nnz for factor in factored] == [0, 0, 0]
    assert product(factored).shape == shape


def test_long_rows_take_linear_time():
    rng = np.random.default_rng(0)
    together = rng.permuted(np.repeat([0, 1, 1], 15))[:, None] * np.ones((45, 40_000))
    apart = rng.integers(2, size=(45, 2_000))
    X = sp.csr_array(np.hstack([together, apart]))
    start = time.process_time()
    factored = factor(X)
    assert time.process_time() - start < 2  # comparing all with all takes 10 s
    assert_array_equal(product(factored), X.toarray())
    assert factored.groups.shape[1] == 1


def test_what_cannot_be_numbered_is_not_folded(monkeypatch):
    X = sp.csr_array(np.ones((9, 3)))
    assert factor(X, FEWEST).groups.nnz
    monkeypatch.setattr(factoring, "LARGEST", X.nnz - 1)
    factored = factor(X, FEWEST)
    assert factored.single is X
    assert factored.groups.shape == (9, 0)
    assert factored.members.shape == (0, 3)
