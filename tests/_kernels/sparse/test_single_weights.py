"""Weights of single pairs of attribute and label."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.sparse.weights import (
    add_at,
    add_scores_to_weights,
    add_weights_to_scores,
    find_single_weights,
)

from sklearn_crcrf.data.csr import csr_arrays

both_types = for_each("dtype", [np.float64, np.float32])


def entries(n_labels, n_pairs, dtype, n_tokens=50, seed=0):
    """Entries of tokens, of which some have none, and what they do to the scores, as a matrix."""
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(rng.integers(0, 8, n_tokens) * rng.integers(0, 2, n_tokens)))
    label = rng.integers(n_labels, size=indptr[-1]).astype(np.int32)
    pair = rng.integers(n_pairs, size=indptr[-1]).astype(np.int32)
    value = rng.normal(size=indptr[-1]).astype(dtype)
    effect = np.zeros((n_tokens, n_labels, n_pairs))
    token = np.repeat(np.arange(n_tokens), np.diff(indptr))
    np.add.at(effect, (token, label, pair), value)
    arrays = indptr.astype(np.int64), token * n_labels + label, pair, value
    for array in arrays:
        array.flags.writeable = False
    return arrays, effect


def read_only(array):
    array.flags.writeable = False
    return array


@both_types
@for_each("n_labels", [1, 2, 22, 65])
@for_each("start, stop", [(0, 50), (11, 32), (20, 20)])
def test_scores(dtype, n_labels, start, stop):
    arrays, effect = entries(n_labels, 30, dtype)
    weights = read_only(np.random.default_rng(1).normal(size=30).astype(dtype))
    scores = np.ones((stop - start, n_labels), dtype=dtype)
    add_weights_to_scores(*arrays, weights, scores, start, stop)
    assert_allclose(scores, 1 + effect[start:stop] @ weights, rtol=1e-5, atol=1e-5)


@both_types
@for_each("n_labels", [1, 2, 22, 65])
@for_each("start, stop", [(0, 50), (11, 32), (20, 20)])
def test_derivatives(dtype, n_labels, start, stop):
    arrays, effect = entries(n_labels, 30, dtype)
    shape = stop - start, n_labels
    scores = read_only(np.random.default_rng(1).normal(size=shape).astype(dtype))
    weights = np.ones(30, dtype=dtype)
    add_scores_to_weights(*arrays, scores, weights, start, stop)
    expected = np.einsum("tjw,tj->w", effect[start:stop], scores)
    assert_allclose(weights, 1 + expected, rtol=1e-5, atol=1e-5)


@both_types
def test_entries_of_single_pairs(dtype):
    X = sp.random_array((40, 12), density=0.3, rng=0, dtype=dtype, format="csr")
    pairs = sp.random_array((12, 5), density=0.4, rng=1, format="csr")
    is_single = np.arange(12) % 3 != 0
    cells = find_single_weights(*csr_arrays(X), *csr_arrays(pairs)[:2], is_single.view(np.uint8), 5)
    weights = np.arange(1, pairs.nnz + 1, dtype=dtype)
    scores = np.zeros((40, 5), dtype=dtype)
    add_weights_to_scores(*cells, weights, scores, 0, 40)
    coef = sp.csr_array((weights, pairs.indices, pairs.indptr), pairs.shape).toarray()
    assert_allclose(scores, X @ (coef * is_single[:, None]), rtol=1e-5)


@both_types
def test_numbers_are_added_at_their_places(dtype):
    source, out = read_only(np.arange(5, dtype=dtype)), np.ones(4, dtype=dtype)
    add_at(source, read_only(np.array([4, 0, 3])), out, read_only(np.array([1, 3, 1])))
    assert_array_equal(out, [1, 8, 1, 1])


@both_types
def test_no_entries(dtype):
    indptr, ids = np.zeros(4, dtype=np.int64), np.empty(0, dtype=np.int32)
    nothing, scores = np.empty(0, dtype=dtype), np.ones((3, 2), dtype=dtype)
    arrays = indptr, indptr[:0], ids, nothing
    add_weights_to_scores(*arrays, nothing, scores, 0, 3)
    add_scores_to_weights(*arrays, scores, nothing, 0, 3)
    assert_array_equal(scores, 1)


def test_too_many_pairs_are_refused():
    """Before there is anything to be read from them."""
    nothing = np.empty(0, dtype=np.int32)
    no_tokens, pair_indptr = np.zeros(1, dtype=np.int64), np.array([0, 2**31])
    with pytest.raises(OverflowError, match="2147483648 pairs of attribute and label"):
        find_single_weights(
            no_tokens, nothing, np.empty(0), pair_indptr, nothing, np.ones(1, dtype=np.uint8), 3
        )
