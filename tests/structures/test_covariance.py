"""Covariances, means and entropies against the enumeration of all paths."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains, random_direction
from hypothesis import assume, given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, xlogy

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores


def _as_parts(scores, direction):
    """A direction as scores, so that the score of a path is its <v, f>."""
    return Scores(
        *direction[:4], scores.token_transitions._replace(score=direction.token_transitions)
    )


def _enumerated(offsets, scores, direction, weight):
    """Means, and weighted covariances, by their definition."""
    means, counts = [], ScoreGradient.zeros(scores._replace(state=scores.state.astype(float)))
    for w, a, b in zip(weight, offsets[:-1], offsets[1:], strict=True):
        every, path_scores, probability = oracle.distribution(scores, a, b)
        values = np.array([oracle.score(_as_parts(scores, direction), a, path) for path in every])
        means.append(probability @ values)
        if path_scores.max() == -np.inf:
            continue
        for path, p, value in zip(every, probability, values, strict=True):
            oracle.count(scores, a, path, w * p * (value - means[-1]), counts)
    return np.array(means), counts


def _assert_close(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, **tolerance)


@settings(max_examples=40)
@given(chains())
def test_means_and_covariances_are_sums_over_all_paths(chain):
    offsets, scores = chain
    direction, weight = random_direction(scores), np.linspace(-1.0, 2.0, len(offsets) - 1)
    mean, pullback = Chain(offsets).covariance(scores, direction)
    expected_mean, expected = _enumerated(offsets, scores, direction, weight)
    assert_allclose(mean, expected_mean, atol=1e-8)
    covariance = pullback(weight)
    assert covariance.state.dtype == scores.state.dtype
    _assert_close(covariance, expected, atol=1e-8 if scores.state.dtype == np.float64 else 1e-6)


@given(chains())
def test_entropy_is_a_sum_over_all_paths(chain):
    offsets, scores = chain
    entropy = Chain(offsets).entropy(scores)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        probability = oracle.distribution(scores, a, b)[2]
        assert_allclose(entropy[s], -xlogy(probability, probability).sum(), rtol=1e-7, atol=1e-9)


def _shifted(scores, direction, step):
    path_scores = (a + step * b for a, b in zip(scores[:4], direction[:4], strict=True))
    edges = scores.token_transitions._replace(
        score=scores.token_transitions.score + step * direction.token_transitions
    )
    return Scores(*path_scores, edges)


@given(chains(scales=(1.0,), dtypes=(np.float64,)))
def test_covariance_is_the_derivative_of_expected_counts(chain):
    offsets, scores = chain
    assume(np.isfinite(Chain(offsets).log_partition(scores)[0]).all())
    direction, step = random_direction(scores), 1e-6
    # The derivative needs edges that stay above the common scores.
    direction = direction._replace(token_transitions=np.abs(direction.token_transitions))
    scores = scores._replace(
        token_transitions=scores.token_transitions._replace(
            score=scores.token_transitions.score + 1.0
        )
    )
    weight = np.arange(1.0, len(offsets))
    above, below = (
        Chain(offsets).log_partition(_shifted(scores, direction, sign * step))[1](weight)
        for sign in (1, -1)
    )
    slope = [d / (2 * step) for d in above - below]
    _assert_close(Chain(offsets).covariance(scores, direction)[1](weight), slope, atol=1e-6)


@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_covariance_is_the_derivative_of_the_mean_and_symmetric(chain):
    offsets, scores = chain
    u, v = random_direction(scores, 1), random_direction(scores, 2)
    weight = np.ones(len(offsets) - 1)

    def inner(direction, other):
        counts = Chain(offsets).covariance(scores, direction)[1](weight)
        return sum((a * b).sum() for a, b in zip(counts, other, strict=True))

    assert_allclose(inner(u, v), inner(v, u), atol=1e-9)


def test_pullback_adds_to_counts():
    offsets, scores = np.array([0, 3]), Scores.of(np.eye(3), np.eye(3))
    pullback = Chain(offsets).covariance(scores, random_direction(scores))[1]
    counts = pullback(np.array([2.0]))
    assert pullback(np.array([1.0]), counts) is counts
    _assert_close(counts, pullback(np.array([3.0])), atol=1e-12)


def test_a_constant_has_no_covariance_however_long_the_sequence():
    n_tokens, rng = 20_000, np.random.default_rng(0)
    scores = Scores.of(1e4 * rng.normal(size=(n_tokens, 3)), 1e3 * rng.normal(size=(3, 3)))
    ones = ScoreGradient(*(np.ones_like(values) for values in ScoreGradient.zeros(scores)))
    mean, pullback = Chain(np.array([0, n_tokens])).covariance(scores, ones)
    assert_allclose(mean, 2 * n_tokens + 1, rtol=1e-12)
    _assert_close(pullback(np.ones(1)), ScoreGradient.zeros(scores), atol=1e-7)


def test_covariances_of_a_long_sequence_are_those_of_independent_tokens():
    n_tokens, rng = 20_000, np.random.default_rng(0)
    state = rng.normal(size=(n_tokens, 3))
    scores = Scores.of(state, np.zeros((3, 3)))
    direction = ScoreGradient.zeros(scores)._replace(state=rng.normal(size=state.shape))
    mean, pullback = Chain(np.array([0, n_tokens])).covariance(scores, direction)
    p, v = np.exp(state - logsumexp(state, axis=1, keepdims=True)), direction.state
    centered = v - (p * v).sum(axis=1, keepdims=True)
    assert_allclose(mean, (p * v).sum(), rtol=1e-11)
    assert_allclose(pullback(np.ones(1)).state, p * centered, atol=1e-12)


def test_entropy_of_a_long_sequence():
    # Scores that all paths share hide nothing.
    state = np.tile(1e4 * np.arange(1.0, 5.0), 5_000)[:, None] + np.zeros((20_000, 4))
    scores = Scores.of(state, np.full((4, 4), -1e4))
    assert_allclose(Chain(np.array([0, 20_000])).entropy(scores), 20_000 * np.log(4), rtol=1e-12)


def test_a_path_that_is_almost_certain_has_an_entropy_of_zero_at_least():
    rng = np.random.default_rng(0)
    scores = Scores.of(1e4 * rng.normal(size=(50, 5)), 1e4 * rng.normal(size=(5, 5)))
    assert 0.0 <= Chain(np.array([0, 50])).entropy(scores)[0] < 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_impossible_sequence_has_no_mean_and_spoils_no_other(dtype):
    state = np.zeros((4, 2), dtype=dtype)
    state[1] = -np.inf
    scores, offsets = Scores.of(state, np.zeros((2, 2))), np.array([0, 2, 2, 4])
    direction = random_direction(scores)
    mean, pullback = Chain(offsets).covariance(scores, direction)
    counts = pullback(np.ones(3))
    assert_array_equal(np.isnan(mean), [True, False, False])
    assert all(np.isfinite(values).all() for values in counts)
    assert_array_equal(counts.state[:2], 0.0)
    assert_array_equal(np.isnan(Chain(offsets).entropy(scores)), [True, False, False])
    assert mean[1] == Chain(offsets).entropy(scores)[1] == 0.0


def test_one_label_varies_not():
    scores = Scores.of(np.array([[1.0], [2.0]]), np.zeros((1, 1)))
    mean, pullback = Chain(np.array([0, 2])).covariance(scores, random_direction(scores))
    assert np.isfinite(mean).all()
    _assert_close(pullback(np.ones(1)), ScoreGradient.zeros(scores), atol=1e-12)
    assert Chain(np.array([0, 2])).entropy(scores) == 0.0
