"""Conditional Markov models against products of the probabilities of single labels."""

from itertools import pairwise

import numpy as np
import oracle
from chains import chains
from hypothesis import given
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from sklearn_crcrf.structures import Chain, Scores
from sklearn_crcrf.structures.local import local_partition
from sklearn_crcrf.structures.scores import ends, with_ends


def local_scores(offsets, scores, t):
    """Scores of the labels of a token, in one row for each label before it."""
    state, n = with_ends(scores, ends(offsets))[t], len(scores.transition)
    if t in offsets:
        return np.tile(state, (n, 1))
    return np.array(
        [[oracle.transition_score(scores, t, i, j) for j in range(n)] for i in range(n)]
    ) + (state)


@given(chains())
def test_sums_over_the_labels_of_a_token(chain):
    offsets, scores = chain
    sums = local_partition(Chain(offsets), scores)
    assert sums.shape == scores.state.shape
    for t, row in enumerate(sums):
        assert_allclose(row, logsumexp(local_scores(offsets, scores, t), axis=1), rtol=1e-9)


@given(chains())
def test_probabilities_are_products_of_local_ones(chain):
    offsets, scores = chain
    local = Chain(offsets).locally_normalised(scores)
    for start, stop in pairwise(offsets):
        path_scores = [local_scores(offsets, scores, t) for t in range(start, stop)]
        with np.errstate(invalid="ignore"):
            steps = [s - logsumexp(s, axis=1, keepdims=True) for s in path_scores]
        every, found = oracle.paths(local, start, stop)
        for path, value in zip(every, found, strict=True):
            terms = [p[i, j] for p, i, j in zip(steps, (0, *path), path, strict=False)]
            expected = sum(terms)
            # After a label that none can follow there are no probabilities: it is impossible.
            assert_allclose(value, -np.inf if np.isnan(expected) else expected, atol=1e-6)


@given(chains(scales=(1.0, 30.0)))
def test_nothing_is_left_to_normalise(chain):
    offsets, scores = chain
    finite = [np.where(np.isneginf(part), -50.0, part) for part in scores[:4]]
    scores = Scores(
        *finite,
        scores.token_transitions._replace(score=np.maximum(scores.token_transitions.score, -50.0)),
    )
    log_z, _ = Chain(offsets).log_partition(Chain(offsets).locally_normalised(scores))
    assert_allclose(log_z, 0.0, atol=1e-9)


def test_labels_that_none_can_follow_are_impossible():
    transition = np.array([[0.0, 0.0], [-np.inf, -np.inf]])
    chain, scores = Chain(np.array([0, 2])), Scores.of(np.zeros((2, 2)), transition)
    _, marginals = chain.marginals(chain.locally_normalised(scores))
    assert_allclose(marginals, [[1.0, 0.0], [0.5, 0.5]])
