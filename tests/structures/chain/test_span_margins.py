"""Margins of spans against the enumeration of all paths."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores


def _random_spans(offsets, scores, rng, n_spans):
    """Spans that often have the labels of the best path."""
    best, n_labels = Chain(offsets).maximum(scores)[1], len(scores.transition)
    start, stop, labels = [], [], []
    for _ in range(n_spans):
        s = rng.choice(np.flatnonzero(np.diff(offsets)))
        a, b = np.sort(rng.choice(np.arange(offsets[s], offsets[s + 1] + 1), 2, replace=False))
        start.append(a)
        stop.append(b)
        labels.extend(best[a:b] if rng.random() < 0.5 else rng.integers(n_labels, size=b - a))
    return np.array(start), np.array(stop), np.array(labels)


def _contain(every, first, last, start, stop, labels, following, preceding):
    """Which paths of the sequence of a span contain it."""
    return np.array(
        [
            tuple(labels) == path[start - first : stop - first]
            and (stop == last or following[path[stop - first]])
            and (start == first or preceding[path[start - first - 1]])
            for path in every
        ]
    )


@given(chains(), st.integers(0, 2**32 - 1))
def test_margins_are_those_of_the_best_of_all_paths(chain, seed):
    offsets, scores = chain
    assume(offsets[-1] > 0)
    rng, n_spans, n_labels = np.random.default_rng(seed), 6, len(scores.transition)
    start, stop, labels = _random_spans(offsets, scores, rng, n_spans)
    cuts = np.append(0, np.cumsum(stop - start))
    anything = np.ones((n_spans, n_labels), dtype=bool)
    bounds = [(offsets[s], offsets[s + 1]) for s in np.searchsorted(offsets, start, "right") - 1]
    paths = {ends: oracle.paths(scores, *ends) for ends in set(bounds)}
    masks = (None, rng.random(n_labels) < 0.5, rng.random((n_spans, n_labels)) < 0.5)
    for following, preceding in itertools.product(masks, masks):
        value, pullback = Chain(offsets).span_margin(
            scores, start, stop, labels, following, preceding
        )
        after = anything & (True if following is None else following)
        before = anything & (True if preceding is None else preceding)
        for r, (a, b) in enumerate(itertools.pairwise(cuts)):
            span = start[r], stop[r], labels[a:b]
            every, path_scores = paths[bounds[r]]
            contain = _contain(every, *bounds[r], *span, after[r], before[r])
            inside = path_scores[contain].max(initial=-np.inf)
            outside = path_scores[~contain].max(initial=-np.inf)
            with np.errstate(invalid="ignore"):
                assert_allclose(value[r], inside - outside, rtol=1e-9, atol=1e-12 * abs(inside))
            one = np.zeros(n_spans)
            one[r] = 2.0
            expected = ScoreGradient.zeros(scores)
            for which, weight in ((contain, 2.0), (~contain, -2.0)):
                if path_scores[which].max(initial=-np.inf) > -np.inf:
                    best = np.flatnonzero(which)[path_scores[which].argmax()]
                    oracle.count(scores, bounds[r][0], every[best], weight, expected)
            for ours, theirs in zip(pullback(one), expected, strict=True):
                assert_allclose(ours, theirs, atol=1e-9)
                assert ours.dtype == theirs.dtype


@given(chains(), st.integers(0, 2**32 - 1))
def test_counts_of_several_spans_add_up(chain, seed):
    offsets, scores = chain
    assume(offsets[-1] > 0)
    rng = np.random.default_rng(seed)
    spans = _random_spans(offsets, scores, rng, 5)
    _, pullback = Chain(offsets).span_margin(scores, *spans)
    weight, total = rng.normal(size=5), ScoreGradient.zeros(scores)
    for r in range(5):
        assert pullback(np.where(np.arange(5) == r, weight, 0.0), total) is total
    for ours, theirs in zip(pullback(weight), total, strict=True):
        assert_allclose(ours, theirs, atol=1e-5 if ours.dtype == np.float32 else 1e-12)


def test_a_segment_that_goes_on_is_another_one():
    # B = 0, I = 1, O = 2: the best path B I I does not contain the segment B I.
    state = np.array([[4.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 2.0, 1.5]])
    scores, chain = Scores.of(state, np.zeros((3, 3))), Chain(np.array([0, 3]))
    not_inside = np.array([True, False, True])
    open_ended, _ = chain.span_margin(scores, [0], [2], [0, 1])
    closed, pullback = chain.span_margin(scores, [0], [2], [0, 1], not_inside)
    assert_allclose(open_ended, 3.0)
    assert_allclose(closed, -0.5)
    assert_allclose(pullback(np.ones(1)).state[2], [0.0, -1.0, 1.0])


def test_the_span_of_all_tokens_is_a_path_and_all_else_are_the_others():
    n_tokens, rng = 20_000, np.random.default_rng(0)
    scores = Scores.of(10 * rng.normal(size=(n_tokens, 3)), rng.normal(size=(3, 3)))
    chain = Chain(np.array([0, n_tokens]))
    _, y = chain.maximum(scores)
    value, pullback = chain.span_margin(scores, [0], [n_tokens], y)
    other, path = chain.best_excluding(scores, y)
    assert_allclose(value, chain.score(scores, y)[0] - other, atol=1e-8)
    counts = chain.score(scores, y)[1](np.ones(1))
    chain.score(scores, path)[1](-np.ones(1), counts)
    for ours, theirs in zip(pullback(np.ones(1)), counts, strict=True):
        assert_allclose(ours, theirs)


def test_what_all_paths_have_and_what_none_has():
    state = np.zeros((3, 2))
    state[0, 1] = state[1] = -np.inf
    scores = Scores.of(state, np.zeros((2, 2)))
    value, pullback = Chain(np.array([0, 1, 2, 3])).span_margin(
        scores, [0, 0, 1], [1, 1, 2], [0, 1, 0]
    )
    assert_array_equal(value, [np.inf, -np.inf, np.nan])
    assert_array_equal(pullback(np.array([1.0, 0.0, 1.0])).state, [[1, 0], [0, 0], [0, 0]])


@pytest.mark.parametrize("offsets", [[0, 4], [0, 0, 4, 4]])
def test_no_spans(offsets):
    scores = Scores.of(np.zeros((4, 2)), np.zeros((2, 2)))
    value, pullback = Chain(np.array(offsets)).span_margin(scores, [], [], [])
    assert value.shape == (0,)
    for part in pullback(np.empty(0)):
        assert_array_equal(part, 0.0)


def test_what_is_no_span():
    scores = Scores.of(np.zeros((4, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="span 0 is not a part of one sequence"):
        Chain(np.array([0, 2, 4])).span_margin(scores, [1], [3], [0, 0])
