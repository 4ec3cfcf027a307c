"""Sums over the labellings of trees in probabilities, in each build, against other sums."""

from functools import cache
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from cases import for_each
from chains import chains, random_parents
from compiled import compiled
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import (
    Chain,
    Forest,
    ScoreGradient,
    Scores,
    TokenTransitions,
    rooted,
    scaled_sums,
)

KERNELS = compiled("tree.sums")
kernels = for_each("kernel", KERNELS)
any_kernel = st.sampled_from([kernel.values[0] for kernel in KERNELS])
both_types = for_each("dtype", [np.float64, np.float32])
NEVER = -np.inf


def in_probabilities(kernel, forest, scores, weight):
    """Log-partition and weighted counts, by the kernel under test, in turn or at once."""
    with patch.object(scaled_sums, "trees", kernel):
        log_z, pullback = forest.log_partition(scores)
        counts, out = pullback(weight), np.full_like(scores.state, np.nan)
        at_once, of_all = forest.log_partition_and_gradient(scores, weight, out)
        assert_array_equal(at_once, log_z)
        for one, other in zip(of_all, counts, strict=True):
            assert_array_equal(one, other)
        twice = pullback(weight, ScoreGradient(*(part.copy() for part in counts)))
        for one, other in zip(twice, counts, strict=True):
            assert_allclose(one, 2 * other, rtol=1e-5, atol=1e-5)
    return log_z, counts


def in_logarithms(forest, scores, weight):
    scores = scores.tokens(slice(None))
    messages, counts = forest.messages(scores), ScoreGradient.zeros(scores)
    counts.state[:] = messages.add_expected(weight, counts.transition, counts.token_transitions)
    counts.begin[:] += counts.state[forest.first_tokens()].sum(axis=0)
    counts.end[:] += counts.state[forest.last_tokens()].sum(axis=0)
    return messages.log_z, counts


def assert_same(ours, theirs, forest, scores, weight):
    """Up to the rounding in the type of the scores, times the number of terms."""
    (log_z, counts), (expected_log_z, expected) = ours, theirs
    parts = (*scores[:4], scores.token_transitions.score)
    largest = max(np.abs(x[np.isfinite(x)]).max(initial=1.0) for x in parts)
    longest = np.diff(forest.offsets).max(initial=0) + 1
    rounding = 16 * np.finfo(scores.state.dtype).eps * longest * largest
    assert_allclose(log_z, expected_log_z, rtol=0, atol=rounding)
    assert counts.state.dtype == scores.state.dtype
    rounding = min(rounding, 1e-3)
    assert_allclose(counts.state, expected.state, rtol=0, atol=rounding * np.abs(weight).max())
    for a, b in zip(counts[1:], expected[1:], strict=True):
        assert_allclose(a, b, rtol=rounding, atol=rounding * np.abs(weight).sum())


def random_forest(lengths, n_labels, dtype=np.float64, scale=1.0, forbidden=0.0, rootless=0.1):
    """Scores of all kinds; some transitions may be impossible."""
    rng = np.random.default_rng(n_labels)
    transition = scale * rng.normal(size=(n_labels, n_labels))
    transition[rng.random(transition.shape) < forbidden] = NEVER
    gains = sp.random_array((3, n_labels**2), density=0.01, format="csr", rng=rng)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, offsets[-1]), gains, transition)
    state = scale * rng.normal(size=(offsets[-1], n_labels))
    begin, end = scale * rng.normal(size=(2, n_labels))
    forest = Forest(offsets, random_parents(offsets, rng, rootless))
    return forest, Scores(state.astype(dtype), transition, begin, end, edges)


@cache
def many_trees(n_labels, dtype):
    """Several blocks, panels and strips, and units without tokens."""
    lengths = np.random.default_rng(n_labels).permutation(np.arange(180) % 61)
    lengths = lengths if n_labels < 100 else lengths[:70] // (1 + n_labels // 100)
    forest, scores = random_forest(lengths, n_labels, dtype)
    weight = np.random.default_rng(0).normal(size=len(lengths))
    return forest, scores, weight, in_logarithms(forest, scores, weight)


@kernels
@both_types
@for_each("n_labels", [1, 2, 7, 13, 22, 33, 65, 130])
def test_many_trees(kernel, dtype, n_labels):
    forest, scores, weight, expected = many_trees(n_labels, dtype)
    assert_same(in_probabilities(kernel, forest, scores, weight), expected, forest, scores, weight)


def with_tables(forest, scores):
    """The same scores, with one of three whole tables of transitions for most links."""
    rng, n = np.random.default_rng(0), len(scores.transition)
    gains = sp.csr_array(rng.random((3, n * n)) + 0.01)
    row = rng.integers(-1, 3, forest.n_tokens)
    edges = TokenTransitions.from_gains(row, gains, scores.transition)
    return scores._replace(token_transitions=edges)


@kernels
@both_types
@for_each("n_labels", [1, 2, 7, 13, 22, 33])
@for_each("forbidden", [0.0, 0.2])
def test_links_with_whole_tables(kernel, dtype, n_labels, forbidden):
    forest, scores = random_forest([40, 1, 0, 7, 60], n_labels, dtype, 1.0, forbidden)
    scores, weight = with_tables(forest, scores), np.arange(1.0, 6.0)
    ours = in_probabilities(kernel, forest, scores, weight)
    assert_same(ours, in_logarithms(forest, scores, weight), forest, scores, weight)
    with patch.object(rooted, "trees", kernel):
        value, y = forest.maximum(scores)
    assert_allclose(forest.score(scores, y)[0], value, rtol=1e-6)
    # No label is better than the label of the best labelling, given all others.
    given, _ = forest.conditional_scores(scores, y)
    assert_array_equal(given[np.arange(len(y)), y], given.max(axis=1))
    slope = np.random.default_rng(0).normal(size=scores.state.shape)
    with patch.object(scaled_sums, "trees", kernel):
        gradient = forest.token_marginals(scores)[1](slope)
    direction = ScoreGradient.zeros(scores)._replace(state=slope)
    expected = forest.covariance(scores, direction)[1](np.ones(forest.n_units))
    if dtype is np.float64:
        for a, b in zip(gradient, expected, strict=True):
            assert_allclose(a, b, atol=1e-10)


@both_types
@for_each("n_labels", [1, 2, 13, 22])
def test_chains_with_whole_tables(dtype, n_labels):
    forest, scores = random_forest([40, 1, 0, 7, 60], n_labels, dtype)
    parent = np.arange(-1, forest.n_tokens - 1)
    parent[forest.offsets[:-1][np.diff(forest.offsets) > 0]] = -1
    path, weight = Forest(forest.offsets, parent), np.arange(1.0, 6.0)
    scores = with_tables(forest, scores)
    ours = Chain(forest.offsets).log_partition_and_gradient(scores, weight)
    assert_same(ours, in_logarithms(path, scores, weight), path, scores, weight)


@kernels
@both_types
@for_each(("scale", "forbidden"), [(1e4, 0.0), (3.0, 0.4), (30.0, 0.2)])
def test_huge_scores_and_impossible_transitions(kernel, dtype, scale, forbidden):
    forest, scores = random_forest([40, 1, 0, 7, 60], 22, dtype, scale, forbidden)
    weight = np.arange(1.0, 6.0)
    ours = in_probabilities(kernel, forest, scores, weight)
    assert_same(ours, in_logarithms(forest, scores, weight), forest, scores, weight)


@given(any_kernel, chains(longest=30), st.integers(0, 2**32 - 1), st.booleans())
def test_random_trees(kernel, chain, seed, is_star):
    offsets, scores = chain
    parent = random_parents(offsets, np.random.default_rng(seed), 0.1)
    if is_star:
        starts = np.repeat(offsets[:-1], np.diff(offsets))
        parent = np.where(starts == np.arange(len(starts)), -1, starts)
    forest, weight = Forest(offsets, parent), np.linspace(-1.0, 2.0, len(offsets) - 1)
    ours = in_probabilities(kernel, forest, scores, weight)
    assert_same(ours, in_logarithms(forest, scores, weight), forest, scores, weight)


@kernels
@both_types
@for_each("n_labels", [1, 5, 22])
def test_what_a_unit_is_beside_is_no_matter(kernel, dtype, n_labels):
    forest, scores = random_forest([12, 3, 0, 12, 1, 7, 30, 90], n_labels, dtype, scale=3.0)
    offsets = forest.offsets
    scores.state[offsets[3] : offsets[4]] *= 15  # too far from zero to be raised as they are
    scores.state[offsets[5]] = 100.0
    scores.state[offsets[1] : offsets[2]] = np.nan
    parent = forest.parent.copy()
    parent[offsets[7] : offsets[8]] = np.where(np.arange(90) > 0, offsets[7], -1)
    forest = Forest(offsets, parent)
    log_z, counts = in_probabilities(kernel, forest, scores, np.ones(8))
    with patch.object(rooted, "trees", kernel):
        value, y = forest.maximum(scores)
    for u in range(8):
        tokens, alone = slice(*offsets[u : u + 2]), forest.take(slice(u, u + 1))
        part = scores.tokens(tokens)._replace(state=scores.state[tokens])
        of_one = in_probabilities(kernel, alone, part, np.ones(1))
        assert_array_equal(of_one[0], log_z[u])
        assert_array_equal(of_one[1].state, counts.state[tokens])
        with patch.object(rooted, "trees", kernel):
            best, labels = alone.maximum(part)
        assert_array_equal(best, value[u])
        assert_array_equal(labels, y[tokens])


@kernels
@both_types
@for_each("n_labels", [3, 9])
def test_what_memory_held_before_is_no_matter(kernel, dtype, n_labels):
    forest, scores = random_forest([3, 2], n_labels, dtype)
    scores.state[2, 1], scores.state[4, 0] = 75.0, -70.0  # not to be raised as they are
    results = set()
    for between in [np.nan, 1.0] * 20:
        for size in range(8, 400, 3):
            memory = np.full(size, between)
            memory[::2] = np.nan
            del memory
        log_z, counts = in_probabilities(kernel, forest, scores, np.ones(2))
        results.add(log_z.tobytes() + counts.state.tobytes())
    assert len(results) == 1


@kernels
@both_types
@for_each("n_leaves", [10, 60, 300, 3000])
@for_each("difference", [0.0, 0.02, 3.0])
def test_stars(kernel, dtype, n_leaves, difference):
    # Each leaf lowers the probability of the second label of the root.
    transition = np.array([[0.0, -5.0], [-5.0 - difference, -difference]])
    state = np.zeros((n_leaves + 1, 2), dtype=dtype)
    state[-1] = [0.0, 2.0]
    forest = Forest(np.array([0, n_leaves + 1]), np.append(np.full(n_leaves, n_leaves), -1))
    log_z, counts = in_probabilities(kernel, forest, Scores.of(state, transition), np.ones(1))
    of_root = state[-1] + n_leaves * (np.log1p(np.exp(-5.0)) - np.array([0.0, difference]))
    assert_allclose(
        log_z, np.logaddexp.reduce(of_root), rtol=1e-4 if dtype == np.float32 else 1e-12
    )
    p = np.exp(of_root - np.logaddexp.reduce(of_root))
    atol = 1e-3 if dtype == np.float32 else 1e-12
    assert_allclose(counts.state[-1], p, atol=atol)
    stays = 1 / (1 + np.exp(-5.0))
    assert_allclose(counts.state[0, 0], p[0] * stays + p[1] * (1 - stays), atol=atol)


@kernels
@both_types
@for_each("cost", [5.0, 20.0, 70.0, 100.0, 590.0, 700.0])
def test_what_is_lost_for_long_becomes_the_only_possibility(kernel, dtype, cost):
    # Every label leads only to the one before it, at a cost; the root is in the last one.
    n_labels = 30
    transition = np.where(np.eye(n_labels, k=-1) > 0, -cost, NEVER)
    np.fill_diagonal(transition, 0.0)
    at_root = np.full(n_labels, NEVER)
    at_root[-1] = 0.0
    scores = Scores.of(
        np.zeros((42, n_labels), dtype=dtype), transition, at_root, at_root[::-1].copy()
    )
    parent = np.append(np.arange(-1, 39), [39, 39])
    forest, weight = Forest(np.array([0, 42]), parent), np.ones(1)
    ours = in_probabilities(kernel, forest, scores, weight)
    assert_same(ours, in_logarithms(forest, scores, weight), forest, scores, weight)
    assert_allclose(ours[1].transition.sum(), 41, rtol=1e-4)


@kernels
@both_types
@for_each("gain", [60.0, 100.0, 600.0, 720.0])
def test_an_edge_into_an_impossible_label_may_be_huge(kernel, dtype, gain):
    gains = sp.csr_array(np.array([[0.0, 0.0, gain, 0.0]]))
    edges = TokenTransitions.from_gains(np.zeros(5, dtype=int), gains, np.zeros((2, 2)))
    state = np.array([[0.0, NEVER]] * 5, dtype=dtype)
    scores = Scores.of(state, np.zeros((2, 2)))._replace(token_transitions=edges)
    forest, weight = Forest(np.array([0, 5]), np.array([1, -1, 1, 2, 2])), np.ones(1)
    log_z, counts = in_probabilities(kernel, forest, scores, weight)
    assert_allclose(log_z, 0.0, atol=1e-12)
    assert_array_equal(counts.state, [[1.0, 0.0]] * 5)


@kernels
@both_types
@for_each("gain", [10.0, 25.0, 45.0, 60.0, 180.0, 300.0])
def test_edges_may_be_huge_one_after_the_other(kernel, dtype, gain):
    gains = sp.csr_array(np.array([[gain], [1.5 * gain]]))
    edges = TokenTransitions.from_gains(np.array([-1, 0, 1, 0, 1]), gains, np.zeros((1, 1)))
    scores = Scores.of(np.zeros((5, 1), dtype=dtype), np.zeros((1, 1)))._replace(
        token_transitions=edges
    )
    forest = Forest(np.array([0, 5]), np.array([-1, 0, 0, 0, 2]))
    log_z, counts = in_probabilities(kernel, forest, scores, np.ones(1))
    assert_allclose(log_z, 5 * gain)
    assert_allclose(counts.state, 1.0, rtol=1e-5)
    assert_allclose(counts.token_transitions, 2.0, rtol=1e-5)


@kernels
@for_each("n_labels", [1, 5, 22, 33])
def test_maxima_and_covariances_in_each_build(kernel, n_labels):
    forest, scores = random_forest([40, 0, 1, 300, 7, 60, 5, 5, 5], n_labels, forbidden=0.1)
    slope = np.random.default_rng(0).normal(size=scores.state.shape)
    with patch.object(scaled_sums, "trees", kernel), patch.object(rooted, "trees", kernel):
        value, y = forest.maximum(scores)
        pullback = forest.token_marginals(scores)[1]
        gradient = pullback(slope)
    assert_allclose(value, forest.score(scores, y)[0], rtol=1e-12)
    # At a low temperature, almost all probability is on the best labelling.
    cold = scores.times(1e3)
    assert_allclose(value, forest.log_partition(cold)[0] / 1e3, atol=1.0)
    direction = ScoreGradient.zeros(scores)._replace(state=slope)
    expected = forest.covariance(scores, direction)[1](np.ones(forest.n_units))
    for ours, theirs in zip(gradient, expected, strict=True):
        assert_allclose(ours, theirs, atol=1e-10)


def test_paths_in_lock_step_are_chains():
    rng = np.random.default_rng(0)
    offsets = np.append(0, np.cumsum(rng.integers(1, 40, size=200)))
    parent = np.arange(-1, offsets[-1] - 1)
    parent[offsets[:-1]] = -1
    scores = Scores.of(rng.normal(size=(offsets[-1], 9)), rng.normal(size=(9, 9)))
    weight = rng.random(200)
    ours, theirs = (
        structure.log_partition_and_gradient(scores, weight)
        for structure in (Forest(offsets, parent), Chain(offsets))
    )
    assert_allclose(ours[0], theirs[0], rtol=1e-13)
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert_allclose(a, b, rtol=1e-11, atol=1e-12)
