"""Marginals and their derivatives, against the enumeration of all paths, and in logarithms."""

import itertools
from unittest.mock import patch

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from cases import for_each
from chains import chains
from compiled import compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores, TokenTransitions
from sklearn_crcrf.structures.chain import sums

KERNELS = compiled("chain.lock_step")
kernels = for_each("kernel", KERNELS)
any_kernel = st.sampled_from([kernel.values[0] for kernel in KERNELS])


def marginals_and_derivatives(kernel, offsets, scores, weight):
    with patch.object(sums, "lock_step", kernel):
        value, pullback = Chain(offsets).token_marginals(scores)
        return value, pullback(weight)


def by_enumeration(offsets, scores, weight):
    """Sums over all paths, and covariances by their definition."""
    value, counts = np.zeros(scores.state.shape), ScoreGradient.zeros(scores.tokens(slice(None)))
    for a, b in itertools.pairwise(offsets):
        every, path_scores, probability = oracle.distribution(scores, a, b)
        if path_scores.max() == -np.inf:
            continue
        sums_of_weights = np.array([weight[np.arange(a, b), list(path)].sum() for path in every])
        mean = probability @ sums_of_weights
        for path, p, x in zip(every, probability, sums_of_weights, strict=True):
            value[np.arange(a, b), list(path)] += p
            oracle.count(scores, a, path, p * (x - mean), counts)
    return value, counts


def by_covariance(offsets, scores, weight):
    """The same derivatives by the kernel that keeps to logarithms."""
    direction = ScoreGradient.zeros(scores, weight)
    return Chain(offsets).covariance(scores, direction)[1](np.ones(len(offsets) - 1))


def assert_close(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, **tolerance)


@settings(max_examples=40)
@given(any_kernel, chains())
def test_sums_over_all_paths(kernel, chain):
    offsets, scores = chain
    weight = np.random.default_rng(0).normal(size=scores.state.shape)
    value, counts = marginals_and_derivatives(kernel, offsets, scores, weight)
    expected, expected_counts = by_enumeration(offsets, scores, weight)
    assert_allclose(value, expected, atol=1e-9)
    assert counts.state.dtype == scores.state.dtype
    assert_close(counts, expected_counts, atol=1e-8 if scores.state.dtype == np.float64 else 1e-6)


def random_chain(lengths, n_labels, forbidden, scale=1.0):
    """Scores of all kinds; some transitions may be impossible."""
    rng = np.random.default_rng(0)
    transition = scale * rng.normal(size=(n_labels, n_labels))
    transition[rng.random(transition.shape) < forbidden] = -np.inf
    gains = sp.random_array((3, n_labels**2), density=0.05, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, sum(lengths)), gains, transition)
    state = scale * rng.normal(size=(sum(lengths), n_labels))
    begin, end = scale * rng.normal(size=(2, n_labels))
    return np.append(0, np.cumsum(lengths)), Scores(state, transition, begin, end, edges)


@kernels
@for_each("n_labels", [1, 2, 22, 33])
@for_each("forbidden", [0.0, 0.2])
@for_each("kept", [2**24, 0])
def test_many_sequences_of_all_lengths(kernel, n_labels, forbidden, kept):
    """Several blocks of lock step and several panels, with and without what is kept."""
    lengths = np.random.default_rng(n_labels).permutation(np.arange(180) % 61)
    offsets, scores = random_chain(lengths, n_labels, forbidden if n_labels > 2 else 0.0)
    weight = np.random.default_rng(1).normal(size=scores.state.shape)
    with patch.object(sums, "KEPT", kept):
        value, counts = marginals_and_derivatives(kernel, offsets, scores, weight)
    assert_allclose(value, Chain(offsets).marginals(scores)[1], atol=1e-9)
    expected = by_covariance(offsets, scores, weight)
    assert_close(counts, expected, rtol=1e-9, atol=1e-9 * offsets[-1])


def test_derivatives_are_added_to_what_is_there():
    offsets, scores = random_chain([3, 0, 5], 4, 0.0)
    weight = np.random.default_rng(1).normal(size=scores.state.shape)
    _, pullback = Chain(offsets).token_marginals(scores)
    once = pullback(weight)
    out = ScoreGradient(*(values.copy() for values in once))
    assert pullback(weight, out) is out
    assert_close(out, (2 * values for values in once), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gap", [10.0, 100.0, 500.0])
def test_weights_may_be_as_huge_as_marginals_are_small(gap):
    # -log p(y_t = 0) at every token, which has the derivatives of the logarithm of p.
    n_tokens = 20
    scores = Scores.of(np.tile([0.0, gap], (n_tokens, 1)), np.array([[0.0, 1.0], [0.5, 0.0]]))
    offsets = np.array([0, n_tokens - 4, n_tokens])
    value, pullback = Chain(offsets).token_marginals(scores)
    weight = np.zeros_like(value)
    weight[:, 0] = 1.0 / value[:, 0]
    counts = pullback(weight)
    assert_allclose(counts.state.sum(axis=1), 0.0, atol=1e-6)
    assert (counts.state[:, 0] > 0.9).all()
    step = 1e-4
    for which in [(0, 0), (n_tokens - 1, 1), (7, 1)]:
        log_sums = []
        for sign in (1, -1):
            state = scores.state.copy()
            state[which] += sign * step
            changed, _ = Chain(offsets).token_marginals(scores._replace(state=state))
            log_sums.append(np.log(changed[:, 0]).sum())
        assert_allclose(counts.state[which], np.subtract(*log_sums) / (2 * step), rtol=1e-5)


def test_derivatives_are_proportional_to_weights_of_any_size():
    offsets, scores = random_chain([3, 2], 3, 0.0, scale=5.0)
    weight = np.random.default_rng(1).normal(size=scores.state.shape)
    _, pullback = Chain(offsets).token_marginals(scores)
    huge = pullback(1e307 * weight)
    assert_close((values / 1e307 for values in huge), pullback(weight), rtol=1e-9)


def test_no_path_is_possible():
    state = np.zeros((4, 2))
    state[1] = -np.inf
    value, pullback = Chain(np.array([0, 2, 4])).token_marginals(Scores.of(state, np.eye(2)))
    assert_array_equal(value[:2], 0.0)
    assert_allclose(value[2:].sum(axis=1), 1.0)
    counts = pullback(np.ones((4, 2)) * [1.0, 2.0])
    assert_array_equal(counts.state[:2], 0.0)
    assert all(np.isfinite(values).all() for values in counts)


@pytest.mark.parametrize("lengths", [[0], [0, 0], [0, 1, 0]])
def test_short_sequences(lengths):
    offsets, scores = random_chain(lengths, 3, 0.0)
    value, pullback = Chain(offsets).token_marginals(scores)
    assert value.shape == (sum(lengths), 3)
    assert_allclose(pullback(np.ones_like(value)).state, 0.0, atol=1e-15)


@given(chains(longest=5), st.randoms())
def test_pair_marginals(chain, random):
    offsets, scores = chain
    structure = Chain(offsets)
    found, (previous, _) = structure.pair_marginals(scores), structure.links()
    assert found.shape == (len(previous), *scores.transition.shape)
    expected = np.zeros(found.shape)
    for a, b in itertools.pairwise(offsets):
        every, _, probability = oracle.distribution(scores, a, b)
        for path, p in zip(every, np.nan_to_num(probability), strict=True):
            for t in range(b - a - 1):
                expected[np.flatnonzero(previous == a + t), path[t], path[t + 1]] += p
    possible = np.isfinite(structure.log_partition(scores)[0])
    which = possible[structure.units_of(previous)]
    assert_allclose(found[which], expected[which], atol=1e-6)
