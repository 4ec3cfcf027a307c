"""Transitions that depend on the token, against a matrix of transitions for each token."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.linear.corpus import Chunk
from sklearn_crcrf.linear.terms import TransitionFeature
from sklearn_crcrf.structures import Chain, ScoreGradient, Scores

N_LABELS = 3
LENGTHS = [3, 0, 1, 4, 2]
OFFSETS = np.append(0, np.cumsum(LENGTHS))
BEFORE = 2  # tokens of other batches


def attributes(n_attributes, dtype=float):
    """Of which some tokens have none, and many have the same."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 3, size=(4, n_attributes)) * (rng.random((4, n_attributes)) < 0.7)
    rows[0] = 0
    return sp.csr_array(rows[rng.integers(4, size=BEFORE + OFFSETS[-1] + 1)].astype(dtype))


def example(n_attributes, dtype=float, forbidden=False):
    rng, n = np.random.default_rng(1), N_LABELS
    transition = rng.normal(size=(n, n))
    begin, end, weights = *rng.normal(size=(2, n)), rng.normal(size=(n_attributes, n, n))
    of_tokens = attributes(n_attributes, dtype)
    if forbidden:
        transition[[0, 2], [1, 2]] = -np.inf
    scores = Scores.of(rng.normal(size=(OFFSETS[-1], n)).astype(dtype), transition, begin, end)
    rows = of_tokens[BEFORE : BEFORE + OFFSETS[-1]].toarray()
    return TransitionFeature(of_tokens, n), scores, weights, rows


CHUNK = Chunk(BEFORE, BEFORE + int(OFFSETS[-1]), Chain(OFFSETS), None, None, None)


def paths_of(scores, weights, rows, start, stop):
    """Every path of a sequence, and its score by its definition."""
    transition = scores.transition + np.einsum("tk,kij->tij", rows, weights)
    every = list(itertools.product(range(N_LABELS), repeat=stop - start))
    path_scores = []
    for path in every:
        score = sum(scores.state[start + t, j] for t, j in enumerate(path))
        score += sum(transition[start + t][path[t - 1 : t + 1]] for t in range(1, len(path)))
        path_scores.append(score + (scores.begin[path[0]] + scores.end[path[-1]] if path else 0.0))
    return every, np.array(path_scores)


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_attributes", [1, 4])
def test_scores_and_expectations_of_all_paths(n_attributes, dtype, forbidden):
    term, scores, weights, rows = example(n_attributes, dtype, forbidden)
    chain, w = Chain(OFFSETS), np.linspace(-1.0, 2.0, len(LENGTHS))
    with_term = term.add_scores(weights, CHUNK, scores)
    log_z, pullback = chain.log_partition(with_term)
    found = np.zeros_like(weights)
    gradient = term.add_gradient(CHUNK, pullback(w), found)
    transition, edges = np.zeros((N_LABELS, N_LABELS)), np.zeros_like(weights)
    value, y = chain.maximum(with_term)
    for s, (a, b) in enumerate(itertools.pairwise(OFFSETS)):
        every, path_scores = paths_of(scores, weights, rows, a, b)
        assert_allclose(log_z[s], logsumexp(path_scores), rtol=1e-5)
        assert_allclose(value[s], path_scores.max(), rtol=1e-5)
        assert tuple(y[a:b]) == every[path_scores.argmax()]
        for path, p in zip(every, np.exp(path_scores - logsumexp(path_scores)), strict=True):
            for t, pair in enumerate(itertools.pairwise(path), a + 1):
                transition[pair] += w[s] * p
                edges[:, *pair] += w[s] * p * rows[t]
    assert_allclose(gradient.transition, transition, atol=1e-5)
    assert_allclose(found, edges, atol=1e-5)


def test_counts_of_paths():
    term, scores, weights, rows = example(2)
    y = np.random.default_rng(0).integers(N_LABELS, size=OFFSETS[-1])
    score, pullback = Chain(OFFSETS).score(term.add_scores(weights, CHUNK, scores), y)
    found, edges = np.zeros_like(weights), np.zeros_like(weights)
    term.add_gradient(CHUNK, pullback(np.ones(len(LENGTHS))), found)
    for s, (a, b) in enumerate(itertools.pairwise(OFFSETS)):
        every, path_scores = paths_of(scores, weights, rows, a, b)
        assert_allclose(score[s], path_scores[every.index(tuple(y[a:b]))])
        for t in range(a + 1, b):
            edges[:, y[t - 1], y[t]] += rows[t]
    assert_allclose(found, edges, atol=1e-12)


def test_the_direction_is_linear_and_in_the_order_of_the_scores():
    term, scores, weights, _ = example(4)
    nothing = ScoreGradient(*scores[:4], np.zeros(0))
    ahead = term.along(weights, CHUNK, nothing).token_transitions
    assert_array_equal(ahead, term.add_scores(weights, CHUNK, scores).token_transitions.score)
    double = nothing._replace(transition=2 * scores.transition)
    assert_allclose(term.along(2 * weights, CHUNK, double).token_transitions, 2 * ahead)


def test_equal_tokens_share_a_combination():
    term, scores, weights, rows = example(4)
    transitions = term.add_scores(weights, CHUNK, scores).token_transitions
    assert len(transitions.indptr) - 1 <= 4
    into = np.flatnonzero(transitions.row >= 0)
    gains = np.einsum("tk,kij->tij", rows[into], weights) + scores.transition
    of_tokens = transitions.score.reshape(-1, N_LABELS, N_LABELS)[transitions.row[into]]
    assert_allclose(of_tokens.transpose(0, 2, 1), gains, atol=1e-12)
    first = OFFSETS[:-1][np.diff(OFFSETS) > 0]
    assert_array_equal(np.setdiff1d(np.arange(OFFSETS[-1]), into), first)
