"""Scores of labels given their neighbours, against the scores of paths that differ in one label."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains, random_direction
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores

some_neighbours = st.sampled_from([(), (-1,), (1,), (-1, 1)])


def by_definition(offsets, scores, y, neighbours):
    """What each label adds to the score of a path."""
    path_scores = scores.state.astype(float)
    for a, b in itertools.pairwise(offsets):
        for t, j in itertools.product(range(a, b), range(len(scores.transition))):
            path_scores[t, j] += scores.begin[j] if t == a else 0.0
            path_scores[t, j] += scores.end[j] if t == b - 1 else 0.0
            if -1 in neighbours and t > a:
                path_scores[t, j] += oracle.transition_score(scores, t, y[t - 1], j)
            if 1 in neighbours and t < b - 1:
                path_scores[t, j] += oracle.transition_score(scores, t + 1, j, y[t + 1])
    return path_scores


def labels_of(scores):
    return np.random.default_rng(0).integers(len(scores.transition), size=len(scores.state))


@given(chains(), some_neighbours)
def test_scores_given_neighbours(chain, neighbours):
    offsets, scores = chain
    y = labels_of(scores)
    path_scores, _ = Chain(offsets).conditional_scores(scores, y, neighbours)
    assert path_scores.dtype == scores.state.dtype
    expected = by_definition(offsets, scores, y, neighbours)
    tolerance = 16 * np.finfo(path_scores.dtype).eps
    finite = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    assert_allclose(path_scores, expected, rtol=tolerance, atol=tolerance * (finite + 1e5))


@given(chains(scales=(1.0,)), some_neighbours)
def test_the_pullback_is_the_transpose(chain, neighbours):
    offsets, scores = chain
    y, rng = labels_of(scores), np.random.default_rng(1)
    weight = rng.normal(size=scores.state.shape).astype(scores.state.dtype)
    _, pullback = Chain(offsets).conditional_scores(scores, y, neighbours)
    counts = pullback(weight)
    assert counts.state.dtype == scores.state.dtype
    direction = random_direction(scores)
    along = scores._replace(
        state=direction.state,
        transition=direction.transition,
        begin=direction.begin,
        end=direction.end,
        token_transitions=scores.token_transitions._replace(score=direction.token_transitions),
    )
    expected = np.sum(weight * by_definition(offsets, along, y, neighbours))
    inner = sum(np.sum(a * b) for a, b in zip(counts, direction, strict=True))
    assert_allclose(inner, expected, rtol=1e-5, atol=1e-5)
    out = ScoreGradient(*(values.copy() for values in counts))
    for twice, once in zip(pullback(weight, out), counts, strict=True):
        assert_allclose(twice, 2 * once, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lengths", [[0], [0, 0], [1], [0, 1, 0]])
def test_short_sequences(lengths):
    offsets = np.append(0, np.cumsum(lengths))
    rng = np.random.default_rng(0)
    begin, end = rng.normal(size=(2, 3))
    scores = Scores.of(rng.normal(size=(sum(lengths), 3)), rng.normal(size=(3, 3)), begin, end)
    path_scores, _ = Chain(offsets).conditional_scores(scores, np.zeros(sum(lengths), dtype=int))
    assert_allclose(path_scores, scores.state + begin + end)
