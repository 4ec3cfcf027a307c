"""Expected scores, and the expected log-likelihood, against enumeration and finite differences."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains, forests, random_direction, shifted
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from soft_labels import labellings, random_markov, random_rows

from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.data.sequences import as_sequences
from sklearn_crcrf.labels.soft import soft_labels
from sklearn_crcrf.structures import (
    Chain,
    Forest,
    HigherOrderChain,
    ScoreGradient,
    Scores,
    Unsupported,
)

seeds = st.integers(0, 2**32 - 1)


def drawn(offsets, n_labels, seed, markov):
    """Probabilities of labels, and of pairs or None, of each sequence."""
    rng, lengths = np.random.default_rng(seed), np.diff(offsets)
    if markov:
        return [random_markov(n, n_labels, rng) for n in lengths]
    return [(random_rows(n, n_labels, rng), None) for n in lengths]


def read(given, n_labels):
    X = as_sequences([["a"] * len(rows) for rows, _ in given])
    rows, pairs = zip(*given, strict=True)
    pairs = None if pairs[0] is None else [*pairs]
    return soft_labels([*rows], [*range(n_labels)], pairs).read(X)


@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)), seeds, st.booleans())
def test_chains_against_enumeration(chain, seed, markov):
    offsets, scores = chain
    given = drawn(offsets, len(scores.transition), seed, markov)
    value, pullback = Chain(offsets).expected_score(scores, read(given, len(scores.transition)))
    weight = np.random.default_rng(seed).random(len(value))
    counts, expected = ScoreGradient.zeros(scores), np.zeros(len(value))
    for u, (start, (rows, pairs)) in enumerate(zip(offsets, given, strict=False)):
        for y, p in labellings(rows, pairs):
            expected[u] += p * oracle.score(scores, start, y)
            oracle.count(scores, start, y, weight[u] * p, counts)
    assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    for a, b in zip(pullback(weight), counts, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@given(forests(scales=(1.0, 30.0), dtypes=(np.float64,)), seeds)
def test_forests_against_enumeration(forest, seed):
    offsets, parents, scores = forest
    structure, given = Forest(offsets, parents), drawn(offsets, len(scores.transition), seed, False)
    value, pullback = structure.expected_score(scores, read(given, len(scores.transition)))
    counts = ScoreGradient.zeros(scores)
    every = [labellings(rows) for rows, _ in given]
    expected = np.zeros(len(value))
    for u, (a, b) in enumerate(itertools.pairwise(offsets)):
        unit = structure.take(slice(u, u + 1))
        row = scores.token_transitions.row[a:b]
        own = scores._replace(
            state=scores.state[a:b], token_transitions=scores.token_transitions._replace(row=row)
        )
        for y, p in every[u]:
            score, pull = unit.score(own, np.array(y, dtype=np.int32))
            expected[u] += p * score[0]
            used = pull(np.array([p]))
            counts.state[a:b] += used.state
            for total, part in zip(counts[1:], used[1:], strict=True):
                total += part
    assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    for a, b in zip(pullback(np.ones(len(value))), counts, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@given(chains(scales=(1.0,), dtypes=(np.float64,)), seeds, st.booleans())
def test_derivatives_of_the_loss(chain, seed, markov):
    offsets, scores = chain
    finite = [np.where(np.isneginf(part), -5.0, part) for part in scores[:4]]
    edges = scores.token_transitions
    edges = edges._replace(score=np.where(np.isneginf(edges.score), -5.0, edges.score))
    scores, structure = Scores(*finite, edges), Chain(offsets)
    y = read(drawn(offsets, len(scores.transition), seed, markov), len(scores.transition))
    weight = np.random.default_rng(seed).random(len(offsets) - 1)
    direction, step = random_direction(scores, seed % 1000), 1e-4
    values = [log_loss(structure, shifted(scores, direction, s), y)[0] for s in (step, -step)]
    slope = weight @ (values[0] - values[1]) / (2 * step)
    loss, pullback = log_loss(structure, scores, y)
    both = log_loss.value_and_gradient(structure, scores, y, weight)
    assert_allclose(both[0], loss)
    for gradient in (pullback(weight), both[1]):
        along = sum((a * b).sum() for a, b in zip(gradient, direction, strict=True))
        assert_allclose(along, slope, rtol=1e-5, atol=1e-6)
    ahead, behind = (
        log_loss(structure, shifted(scores, direction, s), y)[1](weight) for s in (step, -step)
    )
    curvature = log_loss.curvature(structure, scores, y, direction)(weight)
    for a, b, c in zip(ahead, behind, curvature, strict=True):
        assert_allclose((a - b) / (2 * step), c, rtol=1e-4, atol=1e-5)


def test_the_loss_is_least_for_the_given_distribution():
    rng = np.random.default_rng(0)
    rows, pairs = random_markov(4, 3, rng, zeros=0.0)
    y = read([(rows, pairs)], 3)
    with np.errstate(divide="ignore"):
        # The scores whose distribution is this Markov chain.
        given = [np.log(pair / pair.sum(axis=1, keepdims=True)) for pair in pairs]
    assert_allclose(np.exp(given).sum(axis=2), 1.0)
    entropy = -sum(p * np.log(p) for _, p in labellings(rows, pairs))
    state = np.log(rows)
    loss, _ = log_loss(Chain(np.array([0, 4])), Scores.of(state, np.zeros((3, 3))), y)
    assert loss[0] > entropy  # of independent labels, which are not the given ones
    independent = read([(rows, None)], 3)
    loss, _ = log_loss(Chain(np.array([0, 4])), Scores.of(state, np.zeros((3, 3))), independent)
    assert_allclose(loss[0], -(rows * np.log(rows)).sum())


def test_in_place():
    rng = np.random.default_rng(0)
    y = read([(random_rows(3, 2, rng), None)], 2)
    scores, chain = Scores.of(rng.normal(size=(3, 2)), rng.normal(size=(2, 2))), Chain([0, 3])
    state = np.full((3, 2), 7.0)
    gradient = chain.expected_score(scores, y)[1](np.ones(1), state)
    assert gradient.state is state
    assert_allclose(state, y.tokens.toarray())
    chain.expected_score(scores, y)[1](np.ones(1), gradient)
    assert_allclose(state, 2 * y.tokens.toarray())


def test_other_structures_do_not_have_it():
    y = read([(random_rows(3, 2, np.random.default_rng(0)), None)], 2)
    scores = Scores.of(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(Unsupported, match="HigherOrderChain does not have expected_score"):
        HigherOrderChain(np.array([0, 3]), [None]).gold_score(scores, y)
