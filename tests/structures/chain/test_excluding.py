"""Maxima and sums over all paths but a given one, against the enumeration of all paths."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains, drawn_labels
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores


def _others(scores, y, a, b):
    """Every path of a sequence but y, and its score."""
    every, path_scores = oracle.paths(scores, a, b)
    others = [k for k, path in enumerate(every) if path != tuple(y[a:b])]
    return [every[k] for k in others], path_scores[others]


@settings(max_examples=50)
@given(chains(), st.randoms())
def test_the_best_other_path_is_the_best_of_all_others(chain, random):
    offsets, scores = chain
    y = drawn_labels(offsets, scores, random)
    value, path = Chain(offsets).best_excluding(scores, y)
    assert path.dtype == np.int32
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        _, path_scores = _others(scores, y, a, b)
        assert_allclose(value[s], path_scores.max(initial=-np.inf), rtol=1e-12)
        if np.isfinite(value[s]):
            assert (path[a:b] != y[a:b]).any()
            assert_allclose(oracle.score(scores, a, path[a:b]), value[s], rtol=1e-12)
        else:
            assert_array_equal(path[a:b], y[a:b])


@settings(max_examples=50)
@given(chains(), st.randoms())
def test_sums_over_other_paths_and_their_counts(chain, random):
    offsets, scores = chain
    y = drawn_labels(offsets, scores, random)
    value, pullback = Chain(offsets).log_partition_excluding(scores, y)
    weight, expected = np.arange(1.0, len(offsets)), ScoreGradient.zeros(scores)
    expected = ScoreGradient(*(part.astype(float) for part in expected))
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        paths, path_scores = _others(scores, y, a, b)
        total = logsumexp(path_scores) if len(path_scores) else -np.inf
        assert_allclose(value[s], total, rtol=1e-12, atol=1e-9)
        if total > -np.inf:
            for path, probability in zip(paths, np.exp(path_scores - total), strict=True):
                oracle.count(scores, a, path, weight[s] * probability, expected)
    given_counts = ScoreGradient.zeros(scores)
    counts = pullback(weight, given_counts)
    assert counts is given_counts
    tolerance = 1e-6 if scores.state.dtype == np.float32 else 1e-9
    for ours, theirs, part in zip(counts, expected, ScoreGradient.zeros(scores), strict=True):
        assert_allclose(ours, theirs, atol=tolerance, rtol=1e-6)
        assert ours.dtype == part.dtype


@pytest.mark.parametrize("gap", [1.0, 50.0, 2000.0])
def test_nothing_cancels_where_the_given_path_outweighs_all_others(gap):
    state, y = np.zeros((6, 3)), np.array([0, 1, 2, 2, 1, 0])
    state[np.arange(6), y] = gap
    scores, chain = Scores.of(state, np.zeros((3, 3))), Chain(np.array([0, 6]))
    value, pullback = chain.log_partition_excluding(scores, y)
    _, path_scores = _others(scores, y, 0, 6)
    assert_allclose(value, logsumexp(path_scores), rtol=1e-12)
    counts = pullback(np.ones(1))
    assert_allclose(counts.state.sum(axis=1), 1.0)
    assert_allclose(counts.state[np.arange(6), y], counts.state[0, 0])
    if gap > 40.0:
        # Only one token is wrong, and none rather than another.
        assert_allclose(counts.state[np.arange(6), y], 5 / 6)


def test_long_sequences():
    n_tokens, rng = 20_000, np.random.default_rng(0)
    scores = Scores.of(10 * rng.normal(size=(n_tokens, 3)), rng.normal(size=(3, 3)))
    chain = Chain(np.array([0, n_tokens]))
    _, y = chain.maximum(scores)
    [(values, paths)] = chain.k_best(scores, 2)
    value, path = chain.best_excluding(scores, y)
    assert_allclose(value, values[1], rtol=1e-12)
    assert_array_equal(path, paths[1])
    total, _ = chain.log_partition_excluding(scores, y)
    assert value < total <= chain.log_partition(scores)[0] + 1e-6


def test_what_has_no_other_path():
    scores = Scores.of(np.zeros((3, 1)), np.zeros((1, 1)))
    chain, y = Chain(np.array([0, 2, 2, 3])), np.zeros(3, dtype=int)
    value, path = chain.best_excluding(scores, y)
    total, pullback = chain.log_partition_excluding(scores, y)
    assert_array_equal(value, -np.inf)
    assert_array_equal(total, -np.inf)
    assert_array_equal(path, y)
    for part in pullback(np.ones(3)):
        assert_array_equal(part, 0.0)


def test_no_tokens():
    scores, nothing = Scores.of(np.zeros((0, 2)), np.zeros((2, 2))), np.empty(0, dtype=int)
    for offsets in (np.zeros(1), np.zeros(3)):
        chain = Chain(offsets)
        value, path = chain.best_excluding(scores, nothing)
        assert_array_equal(value, np.full(len(offsets) - 1, -np.inf))
        assert len(path) == 0
        assert_array_equal(chain.log_partition_excluding(scores, nothing)[0], value)
