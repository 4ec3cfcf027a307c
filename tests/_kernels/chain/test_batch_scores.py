"""The objects that hold the scores of a batch, and its counts."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn_crcrf._kernels.chain.paths import labelling_scores
from sklearn_crcrf._kernels.chain.scores import BatchCounts, BatchScores

from sklearn_crcrf.structures import ScoreGradient, Scores, TokenTransitions

OFFSETS = np.array([0, 2], dtype=np.int64)


def scores_with_an_edge():
    """The transition from 1 to 0 at the second token scores 7."""
    ids, scores = np.ones(1, dtype=np.int32), Scores.of(np.zeros((2, 2)), np.zeros((2, 2)))
    edges = TokenTransitions(np.array([-1, 0]), np.array([0, 1]), ids, 1 - ids, np.array([7.0]))
    return scores._replace(token_transitions=edges)


def test_all_arrays_live_as_long_as_the_object():
    batch, value = BatchScores(OFFSETS.copy(), scores_with_an_edge()), np.empty(1)
    in_their_place = [np.full(size, -5) for size in [1, 2, 3, 4] * 20]
    links = np.array([-1, 0]), np.array([1])
    y = np.array([1, 0], dtype=np.int32)
    labelling_scores(batch, *links, y, np.zeros((2, 2)), value)
    assert_array_equal(value, 7.0)
    assert len(in_their_place) == 80


@pytest.mark.parametrize("name", ["transition", "begin", "end"])
def test_scores_are_in_double_precision(name):
    scores = scores_with_an_edge()
    single = {name: getattr(scores, name).astype(np.float32)}
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        BatchScores(OFFSETS, scores._replace(**single))
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        BatchCounts(ScoreGradient.zeros(scores)._replace(**single))


def test_edges_have_five_arrays():
    scores = scores_with_an_edge()
    with pytest.raises(ValueError, match="unpack"):
        BatchScores(OFFSETS, scores._replace(token_transitions=scores.token_transitions[:4]))
