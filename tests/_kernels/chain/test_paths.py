"""Scores of single paths against their definition."""

import itertools

import numpy as np
import oracle
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.chain.paths import labelling_counts, labelling_scores
from sklearn_crcrf._kernels.chain.scores import BatchCounts, BatchScores

from sklearn_crcrf.structures import ScoreGradient, Scores, TokenTransitions

both_types = for_each("dtype", [np.float64, np.float32])
LENGTHS = [0, 1, 7, 0, 20, 2]
OFFSETS = np.append(0, np.cumsum(LENGTHS)).astype(np.int64)
TOKENS = np.arange(OFFSETS[-1])
LINKS = (
    np.where(np.isin(TOKENS, OFFSETS), -1, TOKENS - 1),
    np.flatnonzero(np.isin(TOKENS + 1, OFFSETS)),
)


def example(n_labels, dtype, density=0.3):
    rng = np.random.default_rng(n_labels)
    transition = rng.normal(size=(n_labels, n_labels))
    gains = sp.random_array((3, n_labels**2), density=density, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, OFFSETS[-1]), gains, transition)
    state = rng.normal(size=(OFFSETS[-1], n_labels)).astype(dtype)
    scores = Scores(state, transition, *rng.normal(size=(2, n_labels)), edges)
    y = rng.integers(n_labels, size=OFFSETS[-1]).astype(np.int32)
    for array in (y, *scores[:4], *edges):
        array.flags.writeable = False
    return scores, y


@both_types
@for_each("n_labels", [1, 2, 5, 22])
@for_each("density", [0.0, 0.3, 1.0])
def test_scores_and_counts_of_paths(dtype, n_labels, density):
    scores, y = example(n_labels, dtype, density)
    value, weight = np.empty(len(LENGTHS)), np.linspace(-2.0, 3.0, len(LENGTHS))
    where = BatchScores(OFFSETS, scores), *LINKS, y
    labelling_scores(*where, scores.state, value)
    counts, expected = ScoreGradient.zeros(scores), ScoreGradient.zeros(scores)
    labelling_counts(*where, weight, counts.state, BatchCounts(counts))
    for s, (a, b) in enumerate(itertools.pairwise(OFFSETS)):
        assert_allclose(value[s], oracle.score(scores, a, y[a:b]), rtol=1e-6, atol=1e-6)
        oracle.count(scores, a, y[a:b], weight[s], expected)
    for ours, theirs in zip(counts, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_an_impossible_path():
    scores, y = example(3, np.float64)
    state = scores.state.copy()
    state[3, y[3]] = -np.inf
    value = np.empty(len(LENGTHS))
    labelling_scores(BatchScores(OFFSETS, scores), *LINKS, y, state, value)
    assert_array_equal(np.isneginf(value), [False, False, True, False, False, False])
