"""Paths drawn at random against the probabilities of all paths."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains
from hypothesis import assume, given
from numpy.testing import assert_array_equal
from scipy.stats import chi2

from sklearn_crcrf.structures import Chain, Scores


def _chi_square_bound(observed, expected):
    """Whether frequencies are what chance allows; rare events count as one."""
    order = np.argsort(expected)
    rare = np.cumsum(expected[order]) < 10
    expected = np.append(expected[order][~rare], expected[order][rare].sum())
    observed = np.append(observed[order][~rare], observed[order][rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1.0)).sum()
    return statistic <= chi2.isf(1e-7, len(expected))


@given(chains())
def test_paths_are_drawn_as_often_as_they_are_likely(chain):
    offsets, scores = chain
    structure, n_samples = Chain(offsets), 2000
    assume(np.isfinite(structure.log_partition(scores)[0]).all())
    y = structure.sample(scores, n_samples, np.random.default_rng(0))
    assert y.shape == (n_samples, offsets[-1])
    assert y.dtype == np.int32
    n_labels = len(scores.transition)
    for a, b in itertools.pairwise(offsets):
        _, _, probability = oracle.distribution(scores, a, b)
        path = y[:, a:b] @ n_labels ** np.arange(b - a)[::-1]
        observed = np.bincount(path, minlength=len(probability))
        assert (observed[probability == 0] == 0).all()
        assert _chi_square_bound(observed, n_samples * probability)


def test_sequences_and_samples_are_independent():
    n_samples = 4000
    scores, chain = Scores.of(np.zeros((4, 2)), np.eye(2)), Chain(np.array([0, 2, 4]))
    y = chain.sample(scores, n_samples, np.random.default_rng(0))
    same = y[:, ::2] == y[:, 1::2]
    both = np.bincount(same @ [2, 1], minlength=4)
    p = 1 / (1 + np.exp(-1.0))
    expected = n_samples * np.outer([1 - p, p], [1 - p, p]).ravel()
    assert _chi_square_bound(both, expected)
    assert _chi_square_bound(np.bincount(y[:-1, 0] * 2 + y[1:, 0]), np.full(4, (n_samples - 1) / 4))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_seed_decides(make):
    rng = np.random.default_rng(0)
    scores, chain = Scores.of(rng.normal(size=(30, 4)), np.eye(4)), Chain(np.array([0, 10, 30]))
    first, second, other = (chain.sample(scores, 5, make(seed)) for seed in (1, 1, 2))
    assert_array_equal(first, second)
    assert (first != other).any()


def test_constraints_are_respected_in_a_long_sequence():
    rng = np.random.default_rng(0)
    transition = np.where(np.eye(3, k=1) + np.eye(3, k=-2) > 0, 0.0, -np.inf)  # 0 1 2 0 1 2 ...
    scores = Scores.of(1e4 * rng.normal(size=(20_000, 3)), transition)
    y = Chain(np.array([0, 20_000])).sample(scores, 2, rng)
    assert_array_equal(np.diff(y, axis=1) % 3, 1)


def test_an_impossible_sequence_is_named():
    state = np.zeros((3, 2))
    state[2] = -np.inf
    with pytest.raises(ValueError, match="no path of sequence 1 is possible"):
        Chain(np.array([0, 2, 3])).sample(
            Scores.of(state, np.zeros((2, 2))), 1, np.random.default_rng(0)
        )


def test_nothing_to_draw():
    scores = Scores.of(np.zeros((2, 1)), np.zeros((1, 1)))
    rng = np.random.default_rng(0)
    assert_array_equal(Chain(np.array([0, 2])).sample(scores, 3, rng), np.zeros((3, 2)))
    assert Chain(np.array([0, 2])).sample(scores, 0, rng).shape == (0, 2)
    assert Chain(np.array([0, 0])).sample(Scores.of(np.zeros((0, 1)), np.eye(1)), 2, rng).size == 0
