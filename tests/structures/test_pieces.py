"""Pieces of sequences: which they are, and that nothing of a path's score is lost or doubled."""

import itertools

import numpy as np
import pytest
from chains import chains
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores


@pytest.mark.parametrize(
    "with_tokens, expected",
    [
        (False, [[0], [1, 2], [3, 4], [4, 5]]),
        (True, [[0], [1], [1, 2], [2], [3], [3, 4], [4], [4, 5], [5]]),
    ],
)
def test_pieces_of_sequences(with_tokens, expected):
    scores = Scores.of(np.ones((6, 2)), np.zeros((2, 2)))
    pieces = Chain(np.array([0, 1, 1, 3, 6])).pieces(scores, with_tokens)
    found = [pieces.tokens[a:b].tolist() for a, b in itertools.pairwise(pieces.structure.offsets)]
    assert found == expected
    first = np.array([tokens[0] for tokens in expected])
    assert pieces.sequence.tolist() == np.array([0, 2, 2, 3, 3, 3])[first].tolist()


@given(chains(scales=(1.0,)), st.booleans())
def test_scores_of_pieces_add_up_to_those_of_paths(chain, with_tokens):
    offsets, scores = chain
    y = np.random.default_rng(0).integers(len(scores.transition), size=len(scores.state))
    structure = Chain(offsets)
    pieces = structure.pieces(scores, with_tokens)
    assert pieces.scores.state.dtype == scores.state.dtype
    path_scores, pull_scores = pieces.structure.score(pieces.scores, y[pieces.tokens])
    expected, pull_expected = structure.score(scores, y)
    sums = np.bincount(pieces.sequence, path_scores, minlength=len(expected))
    assert_allclose(sums, expected, rtol=1e-5, atol=1e-5)
    weight = np.arange(1.0, len(offsets))
    counts = pieces.pullback(pull_scores(weight[pieces.sequence]))
    for ours, theirs in zip(counts, pull_expected(weight), strict=True):
        assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    twice = pieces.pullback(
        pull_scores(weight[pieces.sequence]), ScoreGradient(*(values.copy() for values in counts))
    )
    for ours, theirs in zip(twice, counts, strict=True):
        assert_allclose(ours, 2 * theirs, rtol=1e-5, atol=1e-6)
