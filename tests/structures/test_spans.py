"""Probabilities of spans against the enumeration of all paths."""

import itertools
import time
from math import fsum

import numpy as np
import oracle
import pytest
from cases import for_each
from chains import chains
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from segmentations import CLASSES, random_case

from sklearn_crcrf.labels import roles_of
from sklearn_crcrf.structures import (
    Candidates,
    Chain,
    Lattice,
    LatticeScores,
    Scores,
    SemiMarkovChain,
)


def _random_spans(offsets, n_labels, rng, n_spans):
    start, stop = [], []
    for _ in range(n_spans):
        s = rng.choice(np.flatnonzero(np.diff(offsets)))
        a, b = np.sort(rng.choice(np.arange(offsets[s], offsets[s + 1] + 1), 2, replace=False))
        start.append(a)
        stop.append(b)
    start, stop = np.array(start), np.array(stop)
    return start, stop, rng.integers(n_labels, size=(stop - start).sum())


def _enumerated(offsets, scores, start, stop, labels, following, preceding):
    """The probability of one span."""
    s = np.searchsorted(offsets, start, side="right") - 1
    a, b = offsets[s], offsets[s + 1]
    every, _, probability = oracle.distribution(scores, a, b)
    is_so = [
        tuple(labels) == path[start - a : stop - a]
        and (stop == b or following[path[stop - a]])
        and (start == a or preceding[path[start - a - 1]])
        for path in every
    ]
    return probability @ np.array(is_so, dtype=float)


@given(chains(), st.integers(0, 2**32 - 1))
def test_probabilities_are_sums_over_all_paths(chain, seed):
    offsets, scores = chain
    assume(offsets[-1] > 0)
    rng, n_spans, n_labels = np.random.default_rng(seed), 6, len(scores.transition)
    start, stop, labels = _random_spans(offsets, n_labels, rng, n_spans)
    cuts = np.append(0, np.cumsum(stop - start))
    anything = np.ones((n_spans, n_labels), dtype=bool)
    structure = Chain(offsets)
    masks = (None, rng.random(n_labels) < 0.5, rng.random((n_spans, n_labels)) < 0.5)
    for following, preceding in itertools.product(masks, masks):
        value = structure.span_log_probability(scores, start, stop, labels, following, preceding)
        after = anything & (True if following is None else following)
        before = anything & (True if preceding is None else preceding)
        for r, (a, b) in enumerate(itertools.pairwise(cuts)):
            span = start[r], stop[r], labels[a:b]
            expected = _enumerated(offsets, scores, *span, after[r], before[r])
            assert_allclose(np.exp(value[r]), expected, rtol=1e-6, atol=1e-12)


def _assert_windows_have_the_same_sums(structure, scores, spans, rng, n_labels):
    n_spans = len(spans[0])
    masks = rng.random(n_labels) < 0.5, rng.random((n_spans, n_labels)) < 0.5
    with pytest.MonkeyPatch.context() as patch:
        for following, preceding in itertools.product((None, *masks), (None, *masks)):
            values = []
            for longest in (3, 200):
                patch.setattr("sklearn_crcrf.structures.spans.LONG", longest)
                given = following, preceding
                values.append(structure.span_log_probability(scores, *spans, *given))
            assert_allclose(*np.exp(values), rtol=1e-9, atol=1e-12)


@given(chains(), st.integers(0, 2**32 - 1))
def test_spans_of_long_sequences_have_the_sums_before_and_after_them(chain, seed):
    offsets, scores = chain
    assume(offsets[-1] > 0)
    rng, n_labels = np.random.default_rng(seed), len(scores.transition)
    spans = _random_spans(offsets, n_labels, rng, 6)
    _assert_windows_have_the_same_sums(Chain(offsets), scores, spans, rng, n_labels)


@for_each("order", [1, 2, 3])
@for_each("dtype", [np.float32, np.float64])
@for_each("scale", [1.0, 300.0])
@for_each("seed", range(5))
def test_spans_of_long_lattices(order, dtype, scale, seed):
    rng, lengths = np.random.default_rng(seed), (4, 0, 1, 9, 2, 3, 14)
    offsets = np.append(0, np.cumsum(lengths))
    candidates = Candidates.above(rng.random((offsets[-1], 4)), 0.4)
    lattice = Lattice(offsets, candidates, order)
    scores = scale * rng.normal(size=lattice.n_runs)
    if scale > 1:
        scores[rng.random(len(scores)) < 0.1] = -np.inf
    scores = LatticeScores(scores.astype(dtype), candidates)
    starts, stops, _ = _random_spans(offsets, 4, rng, 12)
    _, path = lattice.maximum(scores)
    tokens = np.concatenate([np.arange(*span) for span in zip(starts, stops, strict=True)])
    likely = np.where(
        rng.random(len(tokens)) < 0.9, path[tokens], rng.integers(4, size=len(tokens))
    )
    _assert_windows_have_the_same_sums(lattice, scores, (starts, stops, likely), rng, 4)


@for_each("scheme", list(CLASSES))
@for_each("max_length", [1, 2, 4])
@for_each("seed", range(5))
def test_spans_of_long_sequences_of_segments(scheme, max_length, seed):
    structure, scores = random_case(seed, scheme, max_length, (3, 0, 1, 9, 5))
    with pytest.MonkeyPatch.context() as patch:
        # Segments of more than max_length tokens are long, or too long.
        patch.setattr("sklearn_crcrf.structures.segments.semi_markov.STEPS", 2 ** (22 * (seed % 2)))
        _assert_segments_have_the_same_sums(structure, scores, seed)


def _assert_segments_have_the_same_sums(structure, scores, seed):
    rng, n_labels = np.random.default_rng(seed), len(structure.roles.kind)
    _, y = structure.maximum(scores)
    start, stop, _, _ = structure.segments(y)
    more = _random_spans(structure.offsets, n_labels, rng, 6)
    labels = [y[a:b] for a, b in zip(start, stop, strict=True)]
    spans = np.append(start, more[0]), np.append(stop, more[1]), np.concatenate([*labels, more[2]])
    _assert_windows_have_the_same_sums(structure, scores, spans, rng, n_labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_crcrf.structures.spans.LONG", 1)
        segments = start, stop, np.concatenate([*labels, []])
        end = ~structure.roles.continues().any(axis=0)
        found = structure.span_log_probability(scores, *segments, end)
        patch.setattr("sklearn_crcrf.structures.spans.LONG", 200)
        wanted = structure.span_log_probability(scores, *segments, end)
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_the_time_of_many_spans_in_one_sequence_is_linear():
    n = 30_000
    rng = np.random.default_rng(0)
    scores = Scores.of(rng.normal(size=(n, 5)), rng.normal(size=(5, 5)))
    start = np.arange(0, n - 5, 5)
    labels = rng.integers(5, size=2 * len(start))
    began = time.process_time()
    value = Chain(np.array([0, n])).span_log_probability(scores, start, start + 2, labels)
    assert time.process_time() - began < 5
    marginals = Chain(np.array([0, n])).pair_marginals(scores)[start]
    found = marginals[np.arange(len(start)), labels[::2], labels[1::2]]
    assert_allclose(np.exp(value), found, rtol=1e-9)


@pytest.mark.parametrize("kind", ["lattice", "segments"])
def test_the_time_of_many_spans_in_one_lattice_or_chain_of_segments_is_linear(kind):
    n, rng = 30_000, np.random.default_rng(0)
    offsets, start = np.array([0, n]), np.arange(0, n - 5, 5)
    if kind == "lattice":
        structure = Lattice(offsets, Candidates.above(rng.random((n, 5)), 0.5), 2)
        scores = LatticeScores(rng.normal(size=structure.n_runs), structure.candidates)
        _, y = structure.maximum(scores)
        labels, following = y[start[:, None] + [0, 1]].ravel(), None
    else:
        roles = roles_of(["B-X", "I-X", "O"], "IOB2")
        structure = SemiMarkovChain(offsets, roles, 1)  # all spans are longer
        scores = Scores.of(rng.normal(size=(n, 3)), rng.normal(size=(3, 3)))
        labels, following = np.tile([0, 1], len(start)), np.array([True, False, True])
    began = time.process_time()
    value = structure.span_log_probability(scores, start, start + 2, labels, following)
    assert time.process_time() - began < 5
    allowed = following if following is None else np.broadcast_to(following, (5, 3))
    few = structure._by_sums(scores, start[:5], start[:5] + 2, labels[:10], allowed, None)
    assert_allclose(value[:5], few, rtol=1e-9, atol=1e-9)


def test_probabilities_of_segments_follow_from_those_of_all_paths():
    # B = 0, I = 1, O = 2: a segment ends where the next label is not I.
    rng = np.random.default_rng(0)
    transition = rng.normal(size=(3, 3))
    transition[2, 1] = -np.inf
    scores = Scores.of(rng.normal(size=(5, 3)), transition)._replace(
        begin=np.array([0, -np.inf, 0])
    )
    segments = [(a, b) for a in range(5) for b in range(a + 1, 6)]
    start, stop = np.array(segments).T
    labels = np.concatenate([[0] + [1] * (b - a - 1) for a, b in segments])
    offsets, not_inside = np.array([0, 5]), np.array([True, False, True])
    value = Chain(offsets).span_log_probability(scores, start, stop, labels, not_inside)
    _, marginals = Chain(offsets).marginals(scores)
    # The segments that begin at a token exclude each other, and one of them is there if it is B.
    assert_allclose(np.bincount(start, np.exp(value)), marginals[:, 0])


def test_the_span_of_all_tokens_is_the_path_of_a_long_sequence():
    n_tokens, rng = 20_000, np.random.default_rng(0)
    scores = Scores.of(1e3 * rng.normal(size=(n_tokens, 3)), 1e3 * rng.normal(size=(3, 3)))
    chain = Chain(np.array([0, n_tokens]))
    _, y = chain.maximum(scores)
    value = chain.span_log_probability(scores, [0], [n_tokens], y)
    path_scores = np.append(scores.state[np.arange(n_tokens), y], scores.transition[y[:-1], y[1:]])
    assert_allclose(value, fsum(path_scores) - chain.log_partition(scores)[0], atol=1e-6)
    assert value <= 0


@pytest.mark.parametrize(
    ("start", "stop", "labels", "message"),
    [
        ([0], [0], [], "span 0 is not a part of one sequence"),
        ([0, 1], [1, 3], [0, 0, 0], "span 1 is not a part of one sequence"),
        ([-1], [1], [0, 0], "span 0 is not a part"),
        ([4], [5], [0], "span 0 is not a part"),
        ([0], [2], [0], "do not belong together"),
        ([0, 1], [2], [0, 0], "do not belong together"),
        ([0], [1], [2], r"labels must be in \[0, 1\]"),
    ],
)
def test_what_is_no_span(start, stop, labels, message):
    scores = Scores.of(np.zeros((4, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=message):
        Chain(np.array([0, 2, 4])).span_log_probability(scores, start, stop, labels)


def test_no_spans():
    scores = Scores.of(np.zeros((4, 2)), np.zeros((2, 2)))
    assert Chain(np.array([0, 4])).span_log_probability(scores, [], [], []).shape == (0,)


def test_an_impossible_sequence_has_no_probabilities():
    state = np.zeros((4, 2))
    state[1] = -np.inf
    chain, scores = Chain(np.array([0, 2, 4])), Scores.of(state, np.zeros((2, 2)))
    value = chain.span_log_probability(scores, [0, 2], [1, 3], [0, 0], np.array([True, False]))
    assert_array_equal(np.isnan(value), [True, False])
    assert_allclose(value[1], np.log(0.25))
