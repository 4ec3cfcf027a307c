"""Chain recursions against the enumeration of all paths; see test_sums for their sums."""

import itertools

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from chains import chains
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores, TokenTransitions


@settings(max_examples=40)
@given(chains())
def test_maximum_is_the_best_of_all_paths(chain):
    offsets, scores = chain
    value, y = Chain(offsets).maximum(scores)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        _, path_scores = oracle.paths(scores, a, b)
        assert_allclose(value[s], path_scores.max(), rtol=1e-12)
        if np.isfinite(value[s]):
            assert_allclose(oracle.score(scores, a, y[a:b]), path_scores.max(), rtol=1e-12)


@given(chains())
def test_marginals_are_the_expected_counts_of_labels(chain):
    offsets, scores = chain
    log_z, pullback = Chain(offsets).log_partition(scores)
    again, marginals = Chain(offsets).marginals(scores)
    assert_array_equal(again, log_z)
    assert_array_equal(marginals, pullback(np.ones(len(log_z))).state)


@given(chains(), st.integers(1, 6))
def test_k_best_are_the_k_best_of_all_paths(chain, k):
    offsets, scores = chain
    found = Chain(offsets).k_best(scores, k)
    for (values, paths), a, b in zip(found, offsets[:-1], offsets[1:], strict=True):
        _, path_scores = oracle.paths(scores, a, b)
        best = np.sort(path_scores[path_scores > -np.inf])[::-1][:k]
        # Large scores that cancel leave what is rounded of them.
        size = np.abs(path_scores[path_scores > -np.inf]).max(initial=0.0) + scores.largest()
        assert_allclose(values, best, rtol=1e-12, atol=1e-15 * size)
        assert len({tuple(p) for p in paths}) == len(paths)
        for value, path in zip(values, paths, strict=True):
            assert_allclose(oracle.score(scores, a, path), value, rtol=1e-12)


@given(chains(), st.randoms())
def test_path_score(chain, random):
    offsets, scores = chain
    y = np.array([random.randrange(len(scores.transition)) for _ in range(offsets[-1])], dtype=int)
    score, pullback = Chain(offsets).score(scores, y)
    weight = np.arange(1.0, len(offsets))
    counts, expected = pullback(weight), ScoreGradient.zeros(scores)
    for w, a, b in zip(weight, offsets[:-1], offsets[1:], strict=True):
        oracle.count(scores, a, y[a:b], w, expected)
    for ours, theirs in zip(counts, expected, strict=True):
        assert_allclose(ours, theirs)
        assert ours.dtype == theirs.dtype
    reference = [oracle.score(scores, a, y[a:b]) for a, b in itertools.pairwise(offsets)]
    assert_allclose(score, reference, rtol=1e-9, atol=1e-9)


def _plain(state, transition):
    zeros = np.zeros(len(transition))
    return Scores(state, transition, zeros, zeros, TokenTransitions.none(len(state)))


def test_ties_go_to_the_lowest_label():
    scores = _plain(np.zeros((5, 4)), np.zeros((4, 4)))
    assert_array_equal(Chain(np.array([0, 5])).maximum(scores)[1], np.zeros(5))


def test_a_long_sequence_neither_overflows_nor_underflows():
    rng = np.random.default_rng(0)
    scores = _plain(100 * rng.normal(size=(20_000, 3)), rng.normal(size=(3, 3)))
    log_z, marginals = Chain(np.array([0, 20_000])).marginals(scores)
    assert np.isfinite(log_z).all()
    assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("floor", [-1e4, -np.inf])
def test_only_one_path_lies_above_the_floor(floor):
    # Every common transition underflows against the raised ones.
    transition = np.full((3, 3), floor)
    gains = sp.csr_array(np.array([[0, 0, 0, 1.0, 0, 0, 0, 0, 0]]))
    edges = TokenTransitions.from_gains(np.array([-1, 0, -1]), gains, np.full((3, 3), 0.0))
    scores = Scores(np.zeros((3, 3)), transition, np.zeros(3), np.zeros(3), edges)
    log_z, marginals = Chain(np.array([0, 3])).marginals(scores)
    _, path_scores = oracle.paths(scores, 0, 3)
    assert_allclose(log_z, logsumexp(path_scores))
    if np.isfinite(floor):
        assert_allclose(marginals.sum(axis=1), 1.0)
        assert_allclose(marginals[:2].argmax(axis=1), [0, 1])


def test_one_label():
    scores = _plain(np.array([[1.0], [2.0]]), np.zeros((1, 1)))
    value, y = Chain(np.array([0, 2])).maximum(scores)
    assert_allclose(value, 3.0)
    assert_array_equal(y, 0)
    assert_allclose(Chain(np.array([0, 2])).marginals(scores)[1], 1.0)


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (1, 4), (2, 2), (4, 5)])
def test_a_run_of_sequences_is_taken_as_their_numbers_are(start, stop):
    chain = Chain(np.array([0, 2, 2, 5, 6, 9]))
    taken = chain.take(slice(start, stop))
    assert_array_equal(taken.offsets, chain.take(np.arange(start, stop)).offsets)
    assert_array_equal(taken.offsets, chain.offsets[start : stop + 1] - chain.offsets[start])
