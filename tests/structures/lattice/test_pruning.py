"""Likely labels: a cascade beside exact posteriors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Candidates, Chain, Forest, HigherOrderChain, Scores

OFFSETS = np.array([0, 4, 4, 5, 12])


def random_scores(n_labels, seed=0, scale=2.0):
    rng = np.random.default_rng(seed)
    state = scale * rng.normal(size=(OFFSETS[-1], n_labels))
    return Scores.of(state, rng.normal(size=(n_labels, n_labels)), rng.normal(size=n_labels))


def trigram_score(i, j, k):
    return np.sin(3.0 * i + 5.0 * j + 7.0 * k)


def structures(n_labels):
    return {
        "chain": Chain(OFFSETS),
        "second order": HigherOrderChain(OFFSETS, [trigram_score]),
        "forest": Forest(OFFSETS, np.where(np.isin(np.arange(12), OFFSETS), -1, np.arange(12) - 1)),
    }


@pytest.mark.parametrize("threshold", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("name", ["chain", "second order", "forest"])
def test_with_few_labels_the_posteriors_are_exact(name, threshold):
    """Up to the paths that the first step leaves out, whose probability is about the threshold."""
    structure, scores = structures(5)[name], random_scores(5)
    log_z, found = structure.likely_labels(scores, threshold * 1e-3)
    exact_log_z, exact = structure.marginals(scores)
    assert_allclose(log_z, exact_log_z, atol=1e-2)
    expected = Candidates.above(exact, threshold)
    found = found.pruned(np.exp(found.log_probability), threshold)
    assert_array_equal(found.indptr, expected.indptr)
    assert_array_equal(found.label, expected.label)
    assert_allclose(found.log_probability, expected.log_probability, atol=1e-2)


@pytest.mark.parametrize("name", ["chain", "second order", "forest"])
def test_gold_labels_are_always_candidates(name):
    scores, gold = random_scores(5), np.arange(12) % 5
    gold[3] = -1
    _, found = structures(5)[name].likely_labels(scores, 0.9, gold)
    known = gold >= 0
    assert (found.find(gold)[known] >= 0).all()
    assert (np.diff(found.indptr) >= 1).all()
    assert (np.diff(found.indptr) <= 2).all()


def test_of_many_labels_the_best_ones_are_summed_over():
    scores = random_scores(40, scale=0.1)
    _, found = Chain(OFFSETS).likely_labels(scores, 1e-9)
    assert_array_equal(np.diff(found.indptr), 16)
    for t in range(OFFSETS[-1]):
        best = np.sort(np.argsort(-scores.state[t])[:16])
        assert_array_equal(found.label[found.indptr[t] : found.indptr[t + 1]], best)


def test_sums_of_second_order_are_over_the_most_probable_labels():
    scores, gold = random_scores(40, scale=0.1), np.full(12, -1)
    first = Chain(OFFSETS).likely_labels(scores, 1e-9)[1]
    gold[5] = first.label[first.indptr[5] : first.indptr[6]][
        first.log_probability[first.indptr[5] : first.indptr[6]].argmin()
    ]
    _, found = HigherOrderChain(OFFSETS, [trigram_score]).likely_labels(scores, 1e-8, gold)
    expected = first.most_probable(8, gold)
    assert_array_equal(found.indptr, expected.indptr)
    assert_array_equal(found.label, expected.label)
    sizes = np.full(12, 8)
    sizes[5] = 9
    assert_array_equal(np.diff(found.indptr), sizes)
    for t in np.flatnonzero(gold < 0):
        probability = first.log_probability[first.indptr[t] : first.indptr[t + 1]]
        labels = first.label[first.indptr[t] : first.indptr[t + 1]]
        best = np.sort(labels[np.argsort(-probability)[:8]])
        assert_array_equal(found.label[found.indptr[t] : found.indptr[t + 1]], best)


def test_without_tokens():
    scores = Scores.of(np.zeros((0, 3)), np.zeros((3, 3)))
    for structure in (
        Chain(np.array([0, 0])),
        HigherOrderChain(np.array([0, 0]), [trigram_score]),
    ):
        log_z, found = structure.likely_labels(scores, 0.1)
        assert_array_equal(log_z, [0.0])
        assert_array_equal(found.indptr, [0])
