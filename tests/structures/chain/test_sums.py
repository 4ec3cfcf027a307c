"""Sums in lock step against the enumeration of all paths, and against sums of logarithms."""

import itertools
from functools import cache
from unittest.mock import patch

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from cases import for_each
from chains import chains, random_direction
from compiled import compiled
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores, TokenTransitions
from sklearn_crcrf.structures.chain import sums

KERNELS = compiled("chain.lock_step")
kernels = for_each("kernel", KERNELS)
any_kernel = st.sampled_from([kernel.values[0] for kernel in KERNELS])
both_types = for_each("dtype", [np.float64, np.float32])
NEVER = -np.inf


def using(kernel):
    return patch.object(sums, "lock_step", kernel)


def log_partition(kernel, offsets, scores):
    with using(kernel):
        return Chain(offsets).log_partition(scores)[0]


def in_lock_step(kernel, offsets, scores, weight):
    """Log-partition and weighted counts, by the kernel under test, in turn or at once."""
    with using(kernel):
        log_z, pullback = Chain(offsets).log_partition(scores)
        counts, out = pullback(weight), np.full_like(scores.state, np.nan)
        at_once, of_all = Chain(offsets).log_partition_and_gradient(scores, weight, out)
        assert_array_equal(at_once, log_z)
        assert_counts_equal(of_all, counts)
    return log_z, counts


def assert_counts_equal(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert_array_equal(one, other)


def in_logarithms(offsets, scores, weight):
    """The same by messages, which are logarithms."""
    scores = scores.tokens(slice(None))
    messages, counts = Chain(offsets).messages(scores), ScoreGradient.zeros(scores)
    counts.state[:] = messages.add_expected(weight, counts.transition, counts.token_transitions)
    for a, b in itertools.pairwise(offsets):
        if b > a:
            counts.begin[:] += counts.state[a]
            counts.end[:] += counts.state[b - 1]
    return messages.log_z, counts


def by_enumeration(offsets, scores, weight):
    """The same by the sum over all paths."""
    log_z, counts = np.empty(len(weight)), ScoreGradient.zeros(scores.tokens(slice(None)))
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        every, path_scores, probability = oracle.distribution(scores, a, b)
        log_z[s] = logsumexp(path_scores)
        if log_z[s] > NEVER:
            for path, p in zip(every, probability, strict=True):
                oracle.count(scores, a, path, weight[s] * p, counts)
    return log_z, counts


def magnitude(offsets, scores):
    """About the sum of the absolute scores of a path, at most."""
    finite = [
        np.abs(x[np.isfinite(x)]).max(initial=1.0)
        for x in (*scores[:4], scores.token_transitions.score)
    ]
    return (np.diff(offsets).max(initial=0) + 1) * max(finite)


def assert_same(ours, theirs, offsets, scores, weight):
    """Up to the rounding in the type of the scores, times the number of terms."""
    (log_z, counts), (expected_log_z, expected) = ours, theirs
    rounding = 16 * np.finfo(scores.state.dtype).eps * magnitude(offsets, scores)
    assert_allclose(log_z, expected_log_z, rtol=0, atol=rounding)
    assert counts.state.dtype == scores.state.dtype
    rounding = min(rounding, 1e-3)
    assert_allclose(counts.state, expected.state, rtol=0, atol=rounding * np.abs(weight).max())
    for a, b in zip(counts[1:], expected[1:], strict=True):
        assert_allclose(a, b, rtol=rounding, atol=rounding * np.abs(weight).sum())


def random_chain(lengths, n_labels, dtype=np.float64, scale=1.0, forbidden=0.0, seed=0):
    """Scores of all kinds; some transitions may be impossible."""
    rng = np.random.default_rng(seed)
    transition = scale * rng.normal(size=(n_labels, n_labels))
    transition[rng.random(transition.shape) < forbidden] = NEVER
    gains = sp.random_array((3, n_labels**2), density=0.01, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, sum(lengths)), gains, transition)
    state = scale * rng.normal(size=(sum(lengths), n_labels))
    begin, end = scale * rng.normal(size=(2, n_labels))
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    return offsets, Scores(state.astype(dtype), transition, begin, end, edges)


@settings(max_examples=40)
@given(any_kernel, chains())
def test_sums_over_all_paths(kernel, chain):
    offsets, scores = chain
    weight = np.linspace(-1.0, 2.0, len(offsets) - 1)
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, by_enumeration(offsets, scores, weight), offsets, scores, weight)


@kernels
@both_types
@for_each("n_labels", [1, 2, 7, 13, 22, 33, 65, 130, 400])
def test_many_sequences_of_all_lengths(kernel, dtype, n_labels):
    *chain, expected = _many_sequences(n_labels, dtype)
    assert_same(in_lock_step(kernel, *chain), expected, *chain)


@cache
def _many_sequences(n_labels, dtype):
    """Several blocks of lock step, of which one ends in empty sequences, and several panels."""
    lengths = np.random.default_rng(n_labels).permutation(np.arange(180) % 61)
    lengths = lengths if n_labels < 100 else lengths[:70] // (1 + n_labels // 100)
    chain = random_chain(lengths, n_labels, dtype)
    weight = np.random.default_rng(0).normal(size=len(lengths))
    return *chain, weight, in_logarithms(*chain, weight)


@both_types
def test_the_references_agree(dtype):
    offsets, scores = random_chain([30, 0, 1, 2, 60], 22, dtype, scale=3.0, forbidden=0.3)
    weight = np.ones(5)
    log_z, _ = in_logarithms(offsets, scores, weight)
    plain = [_plain_log_z(scores, a, b) for a, b in itertools.pairwise(offsets)]
    assert_allclose(log_z, plain, rtol=1e-12)


def _plain_log_z(scores, start, stop):
    """alpha_t(j) = state[t, j] + log sum_i exp(alpha_{t-1}(i) + transition_t(i, j))"""
    if start == stop:
        return 0.0
    alpha = scores.begin + scores.state[start]
    for t in range(start + 1, stop):
        path_scores = scores.transition.copy()
        if scores.token_transitions.row[t] >= 0:
            entries = slice(*scores.token_transitions.indptr[scores.token_transitions.row[t] :][:2])
            i, j = (
                scores.token_transitions.previous[entries],
                scores.token_transitions.current[entries],
            )
            path_scores[i, j] = scores.token_transitions.score[entries]
        alpha = scores.state[t] + logsumexp(alpha[:, None] + path_scores, axis=0)
    return logsumexp(alpha + scores.end)


@kernels
@both_types
def test_huge_scores(kernel, dtype):
    offsets, scores = random_chain([40, 1, 0, 7, 60], 22, dtype, scale=1e4)
    weight = np.arange(1.0, 6.0)
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, in_logarithms(offsets, scores, weight), offsets, scores, weight)


@kernels
@both_types
@for_each("n_labels", [1, 5, 22])
def test_what_a_sequence_is_beside_is_no_matter(kernel, dtype, n_labels):
    offsets, scores = random_chain([12, 3, 0, 12, 1, 7, 30], n_labels, dtype, scale=3.0)
    scores.state[offsets[3] : offsets[4]] *= 15  # too far from zero to be raised as they are
    scores.state[offsets[5]] = 100.0
    scores.state[offsets[1] : offsets[2]] = np.nan
    log_z, counts = in_lock_step(kernel, offsets, scores, np.ones(7))
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        part = scores.tokens(slice(a, b))._replace(state=scores.state[a:b])
        alone = in_lock_step(kernel, np.array([0, b - a]), part, np.ones(1))
        assert_array_equal(alone[0], log_z[s])
        assert_array_equal(alone[1].state, counts.state[a:b])


@kernels
@both_types
@for_each("n_labels", [3, 9])
def test_what_memory_held_before_is_no_matter(kernel, dtype, n_labels):
    offsets, scores = random_chain([3, 2], n_labels, dtype, scale=1.0)
    scores.state[2, 1], scores.state[4, 0] = 75.0, -70.0  # not to be raised as they are
    results = set()
    for between in [np.nan, 1.0] * 20:
        for size in range(8, 400, 3):
            memory = np.full(size, between)
            memory[::2] = np.nan
            del memory
        log_z, counts = in_lock_step(kernel, offsets, scores, np.ones(2))
        results.add(log_z.tobytes() + counts.state.tobytes())
    assert len(results) == 1


@kernels
@both_types
def test_constant_scores_are_no_matter_how_huge(kernel, dtype):
    scores = Scores.of(np.full((100, 8), 1e4, dtype=dtype), np.full((8, 8), -1e4))
    log_z, counts = in_lock_step(kernel, np.array([0, 60, 100]), scores, np.ones(2))
    assert_allclose(log_z, 1e4 + np.array([60, 40]) * np.log(8), rtol=1e-7)
    assert_allclose(counts.state, 1 / 8, rtol=1e-5)
    assert_allclose(counts.transition, 98 / 64, rtol=1e-5)


# Where little is possible, or next to nothing


@st.composite
def sparse_chains(draw):
    """Longer sequences with few transitions, whose probable labels may be dead ends."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels, n_tokens = draw(st.integers(1, 6)), draw(st.integers(1, 60))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    scale = draw(st.sampled_from([1.0, 10.0, 25.0, 100.0, 250.0]))

    def scores(*shape):
        values = draw(st.sampled_from([0.0, 1.0])) * scale * rng.normal(size=shape)
        values[rng.random(shape) < draw(st.sampled_from([0.0, 0.5, 0.8]))] = NEVER
        return values

    transition = scores(n_labels, n_labels)
    gains = sp.random_array((2, n_labels**2), density=0.2, format="csr", rng=rng)
    gains.data *= scale
    edges = TokenTransitions.from_gains(rng.integers(-1, 2, n_tokens), gains, transition)
    state = scores(n_tokens, n_labels)
    # A token without possible labels says nothing of those before it.
    state[np.arange(n_tokens), rng.integers(n_labels, size=n_tokens)] = -scale
    scores = Scores(state.astype(dtype), transition, scores(n_labels), scores(n_labels), edges)
    return np.array([0, n_tokens]), scores


@settings(max_examples=50)
@given(any_kernel, sparse_chains())
def test_few_transitions_are_possible(kernel, chain):
    offsets, scores = chain
    weight = np.ones(1)
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, in_logarithms(offsets, scores, weight), offsets, scores, weight)


@kernels
@both_types
@for_each("cost", [5.0, 20.0, 70.0, 100.0, 590.0, 700.0])
def test_what_is_lost_for_long_becomes_the_only_possibility(kernel, dtype, cost):
    # Every label is reached from the one before it only, at a cost; the end is in the last one.
    n_labels = 30
    transition = np.where(np.eye(n_labels, k=1) > 0, -cost, NEVER)
    np.fill_diagonal(transition, 0.0)
    at_end = np.full(n_labels, NEVER)
    at_end[-1] = 0.0
    scores = Scores.of(
        np.zeros((40, n_labels), dtype=dtype), transition, at_end[::-1].copy(), at_end
    )
    offsets, weight = np.array([0, 40]), np.ones(1)
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, in_logarithms(offsets, scores, weight), offsets, scores, weight)
    assert_allclose(ours[1].transition.sum(), 39, rtol=1e-4)


@kernels
@both_types
@for_each("forbids", [False, True])
@for_each("cost", [10.0, 40.0, 70.0, 300.0, 590.0])
def test_two_ways_that_cost_the_same_at_different_times(kernel, dtype, forbids, cost):
    # a b c e and a b d e: both pay for the first transition and for one of the others.
    a, b, c, d, e = range(5)
    transition = np.zeros((5, 5))
    transition[a, b] = transition[b, d] = transition[c, e] = -cost
    if forbids:
        transition[d, c] = NEVER
    state = np.full((4, 5), NEVER, dtype=dtype)
    state[[0, 1, 2, 2, 3], [a, b, c, d, e]] = 0.0
    scores = Scores.of(state, transition)
    log_z, counts = in_lock_step(kernel, np.array([0, 4]), scores, np.ones(1))
    assert_allclose(log_z, -2 * cost + np.log(2), rtol=1e-6)
    assert_allclose(counts.state[2], [0, 0, 0.5, 0.5, 0], atol=1e-5)


@kernels
@both_types
def test_what_would_follow_an_unreachable_label_may_be_huge(kernel, dtype):
    state = np.zeros((100, 3), dtype=dtype)
    state[:, 1] = 20.0
    transition = np.where(np.eye(3) > 0, 0.0, NEVER)
    scores = Scores.of(state, transition, np.array([0.0, NEVER, 1.0]))
    offsets, weight = np.array([0, 100]), np.ones(1)
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, in_logarithms(offsets, scores, weight), offsets, scores, weight)


@kernels
@both_types
@for_each("gain", [60.0, 100.0, 600.0, 720.0])
def test_an_edge_from_an_unreachable_label_may_be_huge(kernel, dtype, gain):
    gains = sp.csr_array(np.array([[0.0, gain, 0.0, 0.0]]))
    edges = TokenTransitions.from_gains(np.zeros(5), gains, np.zeros((2, 2)))
    state = np.array([[0.0, NEVER]] * 5, dtype=dtype)
    scores = Scores.of(state, np.zeros((2, 2)))._replace(token_transitions=edges)
    offsets, weight = np.array([0, 5]), np.ones(1)
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, by_enumeration(offsets, scores, weight), offsets, scores, weight)


@kernels
@both_types
@for_each("gain", [10.0, 25.0, 30.0, 45.0, 60.0, 180.0, 240.0, 300.0])
def test_edges_may_be_huge_one_after_the_other(kernel, dtype, gain):
    gains = sp.csr_array(np.array([[gain], [1.5 * gain]]))
    edges = TokenTransitions.from_gains(np.array([-1, 0, 1, 0, 1]), gains, np.zeros((1, 1)))
    scores = Scores.of(np.zeros((5, 1), dtype=dtype), np.zeros((1, 1)))._replace(
        token_transitions=edges
    )
    log_z, counts = in_lock_step(kernel, np.array([0, 5]), scores, np.ones(1))
    assert_allclose(log_z, 5 * gain)
    assert_allclose(counts.state, 1.0, rtol=1e-5)
    assert_allclose(counts.token_transitions, 2.0, rtol=1e-5)


@kernels
@both_types
def test_sequences_without_a_path_among_others(kernel, dtype):
    offsets, scores = random_chain([5, 4, 0, 3, 2], 4, dtype)
    scores.state[6] = NEVER
    log_z, counts = in_lock_step(kernel, offsets, scores, np.ones(5))
    assert_array_equal(np.isneginf(log_z), [False, True, False, False, False])
    assert log_z[2] == 0.0
    assert_array_equal(counts.state[5:9], 0.0)
    without = by_enumeration(offsets, scores, np.ones(5))
    assert_same((log_z, counts), without, offsets, scores, np.ones(5))


@kernels
@both_types
def test_no_transition_is_possible_but_edges_are(kernel, dtype):
    gains = sp.csr_array(np.array([[0.0, 1.0, 2.0, 0.0], [0.5, 0.0, 0.0, 0.0]]))
    edges = TokenTransitions.from_gains(np.array([-1, 0, 1, 0]), gains, np.zeros((2, 2)))
    state = np.arange(8.0, dtype=dtype).reshape(4, 2)
    scores = Scores.of(state, np.full((2, 2), NEVER))._replace(token_transitions=edges)
    offsets, weight = np.array([0, 2, 4]), np.array([1.0, 3.0])
    ours = in_lock_step(kernel, offsets, scores, weight)
    assert_same(ours, by_enumeration(offsets, scores, weight), offsets, scores, weight)


# What is always so


@kernels
@both_types
def test_nothing_in_nothing_out(kernel, dtype):
    for offsets in ([0], [0, 0], [0, 0, 0]):
        scores = Scores.of(np.empty((0, 3), dtype=dtype), np.zeros((3, 3)))
        weight = np.ones(len(offsets) - 1)
        log_z, counts = in_lock_step(kernel, np.array(offsets), scores, weight)
        assert_array_equal(log_z, np.zeros(len(weight)))
        assert counts.state.shape == (0, 3)
        assert not any(part.any() for part in counts)


@kernels
@both_types
@for_each("scale", [1.0, 1e3])
def test_pullbacks_are_linear_in_the_weight(kernel, dtype, scale):
    offsets, scores = random_chain([9, 3, 0, 1, 70], 5, dtype, scale)
    u, v = np.array([1.0, -2.0, 5.0, 0.0, 0.25]), np.array([0.0, 1.0, 1.0, -1.0, 3.0])
    with using(kernel):
        _, pullback = Chain(offsets).log_partition(scores)
        first, again, both = pullback(u), pullback(u), pullback(u + v)
        assert not first.state[12:13].any()
        assert_counts_equal(again, first)
        assert pullback(v, first) is first
    for total, expected in zip(first, both, strict=True):
        assert_allclose(total, expected, atol=1e-4 if dtype == np.float32 else 1e-11)


@kernels
@both_types
@for_each("scale", [1.0, 1e3])
def test_counts_at_once_are_written_or_added(kernel, dtype, scale):
    offsets, scores = random_chain([9, 3, 0, 1, 70], 5, dtype, scale)
    weight, out = np.array([1.0, -2.0, 5.0, 0.0, 0.25]), np.empty_like(scores.state)
    _, expected = in_lock_step(kernel, offsets, scores, weight)
    with using(kernel):
        sums = Chain(offsets).log_partition_and_gradient
        _, counts = sums(scores, weight, out)
        assert counts.state is out
        assert_counts_equal(counts, expected)
        assert_counts_equal(sums(scores, weight)[1], expected)
        _, added = sums(scores, weight, ScoreGradient.zeros(scores, np.ones_like(scores.state)))
    assert_allclose(added.state, 1.0 + expected.state, rtol=1e-6)
    assert_allclose(added.transition, expected.transition)


@kernels
def test_a_weight_of_zero_leaves_out_what_has_no_sum(kernel):
    offsets, scores = random_chain([3, 4], 3)
    scores.state[:3] = NEVER
    _, counts = in_lock_step(kernel, offsets, scores, np.array([0.0, 1.0]))
    assert not counts.state[:3].any()
    assert_allclose(counts.state[3:].sum(axis=1), 1.0)


@kernels
@both_types
def test_every_token_has_one_label_and_every_transition_one_pair(kernel, dtype):
    lengths = [300, 5, 0, 1, 17]
    offsets, scores = random_chain(lengths, 22, dtype, scale=2.0)
    _, counts = in_lock_step(kernel, offsets, scores, np.ones(5))
    assert_allclose(counts.state.sum(axis=1), 1.0, rtol=1e-4 if dtype == np.float32 else 1e-11)
    n_pairs = sum(lengths) - 4
    assert_allclose(counts.transition.sum() + counts.token_transitions.sum(), n_pairs, rtol=1e-5)
    assert_allclose([counts.begin.sum(), counts.end.sum()], 4, rtol=1e-5)


@pytest.mark.parametrize("part", range(5), ids=ScoreGradient._fields[:5])
@given(any_kernel, chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_counts_are_derivatives(part, kernel, chain):
    offsets, scores = chain
    assume(np.isfinite(log_partition(kernel, offsets, scores)).all())
    # Derivatives by the scores of edges need these to stay above the scores of transitions.
    scores = scores._replace(
        token_transitions=scores.token_transitions._replace(
            score=scores.token_transitions.score + 1.0
        )
    )
    direction, step = random_direction(scores)[part], 1e-5
    weight = np.arange(1.0, len(offsets))

    def at(step):
        if part == 4:
            edges = scores.token_transitions._replace(
                score=scores.token_transitions.score + step * direction
            )
            return scores._replace(token_transitions=edges)
        name = Scores._fields[part]
        return scores._replace(**{name: scores[part] + step * direction})

    counts = in_lock_step(kernel, offsets, scores, weight)[1]
    above, below = (log_partition(kernel, offsets, at(sign * step)) for sign in (1, -1))
    slope = weight @ (above - below) / (2 * step)
    assert_allclose((counts[part] * direction).sum(), slope, rtol=1e-5, atol=1e-6)


def test_the_instruction_sets_agree():
    offsets, scores = random_chain([30, 2, 64], 23)
    first, *others = (
        in_lock_step(*kernel.values, offsets, scores, np.ones(3)) for kernel in KERNELS
    )
    for log_z, counts in others:
        assert_allclose(log_z, first[0], rtol=1e-13)
        assert_allclose(counts.transition, first[1].transition, rtol=1e-11)
