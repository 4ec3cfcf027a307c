"""State scores and their derivatives against products of dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.data.sums import state_scores
from sklearn_crcrf.linear.designs import (
    DenseDesign,
    FactoredDesign,
    ObservedDesign,
    SparseDesign,
    observed_pairs,
    sparse_design,
)

N_TOKENS, N_ATTRIBUTES, N_LABELS = 90, 40, 6
BLOCKS = [(0, 50), (50, 51), (51, 90)]

both_types = for_each("dtype", [np.float64, np.float32])


def sparse_attributes(dtype):
    """Some tokens have no attributes, some attributes no tokens; and some come together."""
    X = sp.random_array((N_TOKENS, N_ATTRIBUTES), density=0.2, rng=0).toarray()
    X[:, 10:14] = X[:, 10:14] > 0
    X[:, 11] = X[:, 10]
    X[1:49, 12] = X[1:49, 10]
    X[:, 20:28] = X[:, [10]]
    X[[0, 50, N_TOKENS - 1]] = 0
    X[:, [0, 7, N_ATTRIBUTES - 1]] = 0
    return sp.csr_array(X.astype(dtype))


def some_pairs():
    """From no label of an attribute to all labels."""
    rng = np.random.default_rng(1)
    is_pair = rng.random((N_ATTRIBUTES, N_LABELS)) < rng.random(N_ATTRIBUTES)[:, None]
    is_pair[[3, 4]], is_pair[5] = False, True
    return is_pair


def sparse(dtype):
    X = sparse_attributes(dtype)
    return SparseDesign(X, N_LABELS, BLOCKS), X.toarray(), np.ones(some_pairs().shape, dtype=bool)


def of_few_tokens(dtype):
    """Most tokens have no attributes."""
    few = sp.diags_array((np.arange(N_TOKENS) % 3 == 1).astype(dtype))
    X = sp.csr_array(few @ sparse_attributes(dtype))
    X.eliminate_zeros()
    return SparseDesign(X, N_LABELS, BLOCKS), X.toarray(), np.ones(some_pairs().shape, dtype=bool)


def factored(dtype):
    X = sparse_attributes(dtype)
    design = sparse_design(X, N_LABELS, BLOCKS)
    assert isinstance(design, FactoredDesign)
    return design, X.toarray(), np.ones(some_pairs().shape, dtype=bool)


def dense(dtype):
    X = np.random.default_rng(0).normal(size=(N_TOKENS, N_ATTRIBUTES)).astype(dtype)
    return DenseDesign(X, N_LABELS, BLOCKS), X, np.ones(some_pairs().shape, dtype=bool)


def observed(most_single):
    def make(dtype):
        X, is_pair = sparse_attributes(dtype), some_pairs()
        design = ObservedDesign(X, sp.csr_array(is_pair), BLOCKS, most_single)
        return design, X.toarray(), is_pair

    make.__name__ = f"observed_{most_single}"
    return make


DESIGNS = [sparse, of_few_tokens, factored, dense, *map(observed, [0, 1, 2, N_LABELS])]
designs = for_each("make", DESIGNS)


def random(*shape, dtype, seed=2):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def as_matrix(flat, is_pair):
    matrix = np.zeros(is_pair.shape, dtype=flat.dtype)
    matrix[is_pair] = flat
    return matrix


def tolerance(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}


@designs
@both_types
def test_weights_are_those_of_the_pairs(make, dtype):
    design, _, is_pair = make(dtype)
    assert design.n_weights == is_pair.sum()
    assert design.dtype == dtype
    flat = random(design.n_weights, dtype=dtype)
    again = design.flat(design.derivatives(flat))
    assert_array_equal(again, flat)
    assert again.dtype == dtype


@designs
@both_types
@for_each("start, stop", [(0, N_TOKENS), (17, 60), (50, 51), (30, 30)])
def test_scores(make, dtype, start, stop):
    design, X, is_pair = make(dtype)
    flat = random(design.n_weights, dtype=dtype)
    flat.flags.writeable = False
    scores = design.scores(design.weights(flat), start, stop)
    assert scores.dtype == dtype
    assert scores.flags.c_contiguous
    assert_allclose(scores, X[start:stop] @ as_matrix(flat, is_pair), **tolerance(dtype))


@designs
@both_types
@for_each("n_shares", [1, 2, 5, 1000])
def test_gradient_whatever_the_number_of_shares(make, dtype, n_shares):
    design, X, is_pair = make(dtype)
    D = random(N_TOKENS, N_LABELS, dtype=dtype)
    before = random(design.n_weights, dtype=dtype, seed=3)
    at_once, shared = (design.derivatives(before.copy()) for _ in range(2))
    for block, (start, stop) in enumerate(BLOCKS):
        design.add_gradient(block, D[start:stop], at_once)
        for share in np.random.default_rng(0).permutation(n_shares):
            design.add_gradient(block, D[start:stop], shared, share, n_shares)
    flat = design.flat(at_once)
    assert_array_equal(design.flat(shared), flat)
    assert_allclose(flat, before + (X.T @ D)[is_pair], **tolerance(dtype))


@for_each("make", [sparse, of_few_tokens, dense, observed(N_LABELS)])
@both_types
@for_each("start, stop", [(0, N_TOKENS), (17, 60), (30, 30)])
def test_gradient_of_some_tokens(make, dtype, start, stop):
    design, X, is_pair = make(dtype)
    before, D = random(design.n_weights, dtype=dtype), random(stop - start, N_LABELS, dtype=dtype)
    weights = design.weights(before.copy())
    design.add_to_weights(D, weights, start, stop)
    expected = before + (X[start:stop].T @ D)[is_pair]
    assert_allclose(design.flat(weights), expected, **tolerance(dtype))


@designs
def test_scores_and_gradient_are_adjoint(make):
    design, _, _ = make(np.float64)
    flat, D = random(design.n_weights, dtype=float), random(N_TOKENS, N_LABELS, dtype=float, seed=3)
    out = design.derivatives(np.zeros(design.n_weights))
    for block, (start, stop) in enumerate(BLOCKS):
        design.add_gradient(block, D[start:stop], out)
    scores = design.scores(design.weights(flat), 0, N_TOKENS)
    assert_allclose((scores * D).sum(), flat @ design.flat(out))


def test_no_pairs_at_all():
    X = sparse_attributes(np.float64)
    design = ObservedDesign(X, sp.csr_array((N_ATTRIBUTES, N_LABELS)), BLOCKS)
    weights = design.weights(np.empty(0))
    assert_array_equal(design.scores(weights, 0, N_TOKENS), np.zeros((N_TOKENS, N_LABELS)))
    derivatives = design.derivatives(np.empty(0))
    design.add_gradient(0, np.ones((50, N_LABELS)), derivatives)
    assert design.flat(derivatives).shape == (0,)


def test_attributes_that_never_come_together_are_not_folded():
    assert isinstance(sparse_design(sp.eye_array(9, format="csr"), 2, []), SparseDesign)


@pytest.mark.parametrize("columns", [0, 3])
def test_no_attributes(columns):
    X = sp.csr_array((N_TOKENS, columns))
    for make, matrix in [(SparseDesign, X), (sparse_design, X), (DenseDesign, X.toarray())]:
        design = make(matrix, 2, BLOCKS)
        weights = design.weights(np.ones(design.n_weights))
        assert_array_equal(design.scores(weights, 3, 60), np.zeros((57, 2)))
        derivatives = design.derivatives(np.ones(design.n_weights))
        design.add_gradient(0, np.ones((50, 2)), derivatives, 0, 2)
        assert_array_equal(design.flat(derivatives), 1)


@both_types
@for_each("make_coef", [np.asarray, sp.csr_array])
@for_each("make_X", [np.asarray, sp.csr_array, np.asfortranarray])
@for_each("start, stop", [(0, N_TOKENS), (17, 60), (30, 30)])
def test_state_scores(dtype, make_coef, make_X, start, stop):
    X = sparse_attributes(dtype).toarray()
    coef = as_matrix(random(some_pairs().sum(), dtype=dtype), some_pairs())
    scores = state_scores(make_X(X), make_coef(coef), start, stop)
    assert isinstance(scores, np.ndarray)
    assert scores.dtype == dtype
    assert scores.flags.c_contiguous
    assert_allclose(scores, X[start:stop] @ coef, **tolerance(dtype))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_of_any_size(index):
    X, D = sparse_attributes(np.float64), random(N_TOKENS, N_LABELS, dtype=float)
    coef, is_pair = random(N_ATTRIBUTES, N_LABELS, dtype=float), some_pairs()
    wide, pairs = X.copy(), sp.csr_array(is_pair)
    for matrix in (wide, pairs):
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    for weights in (coef, sp.csr_array(coef)):
        assert_allclose(state_scores(wide, weights, 0, N_TOKENS), X.toarray() @ coef)
    design = ObservedDesign(wide, pairs, BLOCKS[:1])
    out = design.derivatives(np.zeros(design.n_weights))
    design.add_gradient(0, D[:50], out)
    assert_allclose(design.flat(out), (X[:50].toarray().T @ D[:50])[is_pair], atol=1e-12)


@both_types
def test_coefficients_in_the_precision_of_the_attributes(dtype):
    X = sparse_attributes(dtype)
    for coef in (random(N_ATTRIBUTES, 2, dtype=t) for t in (np.float32, np.float64)):
        for weights in (coef, sp.csr_array(coef)):
            scores = state_scores(X, weights, 0, N_TOKENS)
            assert scores.dtype == dtype
            assert_allclose(scores, X.toarray() @ coef, rtol=1e-5, atol=1e-5)


def test_pairs_that_are_observed():
    X = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 5.0, 1.0]])
    pairs = observed_pairs(X, np.array([1, 0, 1, -1]), 3)
    assert_array_equal(pairs.toarray(), [[0, 2, 0], [3, 0, 0], [0, 2, 0]])
    assert_array_equal(pairs.indices, [1, 0, 1])


def test_pairs_whose_values_cancel_are_observed():
    X = sp.csr_array([[1.0], [-1.0], [2.0]])
    pairs = observed_pairs(X, np.array([0, 0, 1]), 2)
    assert_array_equal(pairs.indices, [0, 1])
    assert_array_equal(pairs.data, [0.0, 2.0])


def test_no_label_is_known():
    assert observed_pairs(sparse_attributes(float), np.full(N_TOKENS, -1), N_LABELS).nnz == 0
