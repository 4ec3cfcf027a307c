"""Best paths, and costs that are added to scores, against the enumeration of all paths."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Chain, Scores
from sklearn_crcrf.structures.chain.span_margins import best_prefixes
from sklearn_crcrf.structures.scores import ends, with_ends


def through(offsets, scores):
    """Scores of the best paths through each label of each token."""
    state, until = with_ends(scores, ends(offsets)), best_prefixes(offsets, scores)
    since = best_prefixes(offsets[-1] - offsets[::-1], scores.reversed())[::-1]
    with np.errstate(invalid="ignore"):
        both = until + since - state
    return np.where(np.isneginf(state), -np.inf, both)


@settings(max_examples=40)
@given(chains())
def test_prefixes_and_suffixes_are_the_best_of_the_paths_through_a_label(chain):
    offsets, scores = chain
    best = through(offsets, scores)
    value, _ = Chain(offsets).maximum(scores)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        every, path_scores = oracle.paths(scores, a, b)
        for t in range(b - a):
            expected = np.full(len(scores.transition), -np.inf)
            np.maximum.at(expected, [path[t] for path in every], path_scores)
            assert_allclose(best[a + t], expected, rtol=1e-11, atol=1e-9)
            assert_allclose(best[a + t].max(), value[s], rtol=1e-11, atol=1e-9)


def test_prefixes_and_suffixes_of_a_long_sequence():
    rng = np.random.default_rng(0)
    scores = Scores.of(1e4 * rng.normal(size=(20_000, 3)), 1e4 * rng.normal(size=(3, 3)))
    chain = Chain(np.array([0, 20_000]))
    value, y = chain.maximum(scores)
    best = through(chain.offsets, scores)
    assert_array_equal(best.argmax(axis=1), y)
    assert_allclose(best.max(axis=1), value[0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_costs_are_the_number_of_wrong_labels(dtype):
    scores, y = Scores.of(np.zeros((4, 3), dtype=dtype), np.zeros((3, 3))), np.array([2, 0, 1, 1])
    cost = scores.costs(y)
    assert cost.dtype == dtype
    augmented = scores._replace(state=scores.state + cost)
    for path in itertools.product(range(3), repeat=4):
        assert oracle.score(augmented, 0, path) == (np.array(path) != y).sum()


def test_costs_of_partial_labels():
    scores = Scores.of(np.zeros((2, 3)), np.zeros((3, 3)))
    right = np.array([[True, False, True], [False, True, False]])
    assert_array_equal(scores.costs(right), [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


@given(chains(), st.integers(1, 12))
def test_k_best_are_different_and_the_best(chain, k):
    offsets, scores = chain
    found = Chain(offsets).k_best(scores, k)
    for (values, paths), a, b in zip(found, offsets[:-1], offsets[1:], strict=True):
        _, path_scores = oracle.paths(scores, a, b)
        best = np.sort(path_scores[path_scores > -np.inf])[::-1][:k]
        assert_allclose(values, best, rtol=1e-11, atol=1e-9)
        assert len({tuple(path) for path in paths}) == len(paths)
        assert_allclose(
            [oracle.score(scores, a, path) for path in paths], values, rtol=1e-11, atol=1e-9
        )


def test_k_best_of_many_labels():
    # Independent tokens: the second best path differs in the token of the least gap.
    rng = np.random.default_rng(0)
    state = rng.normal(size=(300, 60))
    values, paths = Chain(np.array([0, 300])).k_best(Scores.of(state, np.zeros((60, 60))), 2)[0]
    second, first = np.sort(state, axis=1)[:, -2:].T
    assert_array_equal(paths[0], state.argmax(axis=1))
    assert_allclose(values[0] - values[1], (first - second).min())
    assert_array_equal(np.flatnonzero(paths[0] != paths[1]), [(first - second).argmin()])
