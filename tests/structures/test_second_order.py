"""The second-order chain against the enumeration of all paths."""

import itertools

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.structures import Chain, Scores, SecondOrderChain, TokenTransitions

LENGTHS = [4, 0, 1, 2, 3]
OFFSETS = np.append(0, np.cumsum(LENGTHS))


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    n_labels, n_tokens = 3, OFFSETS[-1]
    transition = rng.normal(size=(n_labels, n_labels))
    gains = sp.random_array((3, n_labels**2), density=0.5, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, n_tokens), gains, transition)
    scores = Scores(
        rng.normal(size=(n_tokens, n_labels)), transition, *rng.normal(size=(2, n_labels)), edges
    )
    trigrams = rng.normal(size=(n_labels,) * 3)
    return scores, trigrams


def _paths(scores, trigrams, start, stop):
    every, path_scores = oracle.paths(scores, start, stop)
    more = [sum(trigrams[p[t - 2 : t + 1]] for t in range(2, len(p))) for p in every]
    return every, path_scores + np.array(more)


@pytest.mark.parametrize("threshold", [0.0, 1e-12])
def test_against_all_paths(chain, threshold):
    scores, trigrams = chain
    structure = SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], 3, threshold)
    value, y = structure.maximum(scores)
    log_z, marginals = structure.marginals(scores)
    best = structure.k_best(scores, 3)
    for s, (a, b) in enumerate(itertools.pairwise(OFFSETS)):
        every, path_scores = _paths(scores, trigrams, a, b)
        assert_allclose(value[s], path_scores.max())
        assert tuple(y[a:b]) == every[path_scores.argmax()]
        assert_allclose(log_z[s], logsumexp(path_scores))
        assert_allclose(best[s][0], np.sort(path_scores)[::-1][:3])
        assert tuple(best[s][1][0]) == every[path_scores.argmax()]
        probability = np.exp(path_scores - logsumexp(path_scores))
        for t in range(b - a):
            reference = np.bincount([p[t] for p in every], probability, 3)
            assert_allclose(marginals[a + t], reference)


def test_labels_below_the_threshold_are_left_out(chain):
    scores, trigrams = chain
    scores = scores.with_state(3 * scores.state)
    exact, pruned = (
        SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], 3, threshold).take(slice(5))
        for threshold in (0.0, 1e-3)
    )
    (log_z, marginals), (less, found) = (s.marginals(scores) for s in (exact, pruned))
    assert (found == 0.0).any()
    assert (less <= log_z).all()
    assert_allclose(found, marginals, atol=0.1)
    assert_array_equal(pruned.maximum(scores)[1], exact.maximum(scores)[1])


def test_no_label_is_left_out_if_no_path_would_be_possible():
    state, transition = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[-np.inf, 0.0], [0.0, 0.0]])
    scores, offsets = Scores.of(state, transition), np.array([0, 2])
    exact, pruned = (
        SecondOrderChain(offsets, lambda i, j, k: np.zeros(len(i)), 2, threshold)
        for threshold in (0.0, 0.9)
    )
    for ours, theirs in zip(pruned.marginals(scores), exact.marginals(scores), strict=True):
        assert_allclose(ours, theirs)
    assert_allclose(pruned.maximum(scores)[0], 1.0)


def test_no_trigrams_is_the_first_order_chain(chain):
    scores, _ = chain
    structure = SecondOrderChain(OFFSETS, lambda i, j, k: np.zeros(len(i)), n_candidates=3)
    for ours, theirs in zip(structure.maximum(scores), Chain(OFFSETS).maximum(scores), strict=True):
        assert_allclose(ours, theirs)


def test_only_the_best_labels_of_a_token_are_considered(chain):
    scores, trigrams = chain
    structure = SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], n_candidates=1)
    assert_array_equal(structure.maximum(scores)[1], scores.state.argmax(axis=1))


def test_entropy_against_all_paths(chain):
    scores, trigrams = chain
    structure = SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], n_candidates=3)
    for entropy, (a, b) in zip(structure.entropy(scores), itertools.pairwise(OFFSETS), strict=True):
        _, path_scores = _paths(scores, trigrams, a, b)
        probability = np.exp(path_scores - logsumexp(path_scores))
        assert_allclose(entropy, -(probability * np.log(probability)).sum(), atol=1e-12)


def test_samples_against_all_paths(chain):
    scores, trigrams = chain
    structure, n_samples = SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], 3), 20_000
    y = structure.sample(scores, n_samples, np.random.default_rng(0))
    for a, b in itertools.pairwise(OFFSETS):
        _, path_scores = _paths(scores, trigrams, a, b)
        probability = np.exp(path_scores - logsumexp(path_scores))
        observed = np.bincount(y[:, a:b] @ 3 ** np.arange(b - a)[::-1], minlength=len(path_scores))
        error = np.sqrt(probability * (1 - probability) / n_samples)
        assert_allclose(observed / n_samples, probability, atol=5 * error.max())


@pytest.mark.parametrize("n_candidates", [1, 2, 3])
def test_spans_against_all_paths(chain, n_candidates):
    scores, trigrams = chain
    structure = SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], n_candidates)
    considered = np.argsort(-scores.state, axis=1)[:, :n_candidates]
    following = np.array([True, False, True])
    spans = [
        (a, start, stop, b, labels)
        for a, b in itertools.pairwise(OFFSETS)
        for start, stop in itertools.combinations(range(a, b + 1), 2)
        for labels in itertools.product(range(3), repeat=stop - start)
    ]
    _, start, stop, _, labels = zip(*spans, strict=True)
    value = structure.span_log_probability(scores, start, stop, np.concatenate(labels), following)
    for ours, (a, start, stop, b, labels) in zip(value, spans, strict=True):
        every, path_scores = _paths(scores, trigrams, a, b)
        path_scores[
            [any(j not in considered[a + t] for t, j in enumerate(p)) for p in every]
        ] = -np.inf
        probability = np.exp(path_scores - logsumexp(path_scores))
        is_so = [
            p[start - a : stop - a] == labels and (stop == b or following[p[stop - a]])
            for p in every
        ]
        assert_allclose(np.exp(ours), probability @ is_so, atol=1e-12)


def test_no_spans(chain):
    scores, trigrams = chain
    structure = SecondOrderChain(OFFSETS, lambda i, j, k: trigrams[i, j, k], n_candidates=2)
    assert structure.span_log_probability(scores, [], [], []).shape == (0,)
    with pytest.raises(ValueError, match="span 0 is not a part of one sequence"):
        structure.span_log_probability(scores, [3], [5], [0, 0])
