"""Losses against their definitions over all paths, and against each other where they meet."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logsumexp, softmax

from sklearn_crcrf.criteria import (
    MaxMargin,
    Piecewise,
    SoftmaxMargin,
    TokenError,
    expected_cost,
    local_log_loss,
    log_loss,
    marginal_likelihood,
    pseudo_likelihood,
)
from sklearn_crcrf.structures import Chain, Scores

exact_chains = chains(scales=(1.0, 30.0, 1000.0), dtypes=(np.float64,))
costs = st.sampled_from([0.0, 0.5, 3.0])


def possible_labels(offsets, scores):
    """Random labels, or the best ones where random ones are impossible."""
    y = np.random.default_rng(0).integers(len(scores.transition), size=len(scores.state))
    value, best = Chain(offsets).maximum(scores)
    assume(np.isfinite(value).all())
    for a, b in itertools.pairwise(offsets):
        if not np.isfinite(oracle.score(scores, a, y[a:b])):
            y[a:b] = best[a:b]
    return y


def partial_labels(offsets, scores):
    """Some labels more than the possible ones are allowed."""
    n_labels = len(scores.transition)
    known = possible_labels(offsets, scores)[:, None] == np.arange(n_labels)
    return known | (np.random.default_rng(1).random(known.shape) < 0.3)


def any_labels(offsets, scores, partial):
    return (partial_labels if partial else possible_labels)(offsets, scores)


def as_allowed(y, n_labels):
    return y if y.ndim == 2 else y[:, None] == np.arange(n_labels)


def enumerated(offsets, scores, y):
    """For each sequence: its scores and errors of all paths, and which of them agree with y."""
    allowed = as_allowed(y, len(scores.transition))
    for a, b in itertools.pairwise(offsets):
        every, path_scores = oracle.paths(scores, a, b)
        right = np.array([allowed[np.arange(a, b), list(path)] for path in every], dtype=bool)
        yield path_scores, (~right).sum(axis=1), right.all(axis=1)


def assert_losses(losses, expected, scores):
    finite = [
        np.abs(x[np.isfinite(x)]).max(initial=1.0)
        for x in (*scores[:4], scores.token_transitions.score)
    ]
    assert_allclose(losses, expected, rtol=1e-9, atol=1e-11 * max(finite))


@given(exact_chains, costs, st.booleans())
def test_max_margin(chain, cost, partial):
    offsets, scores = chain
    y = any_labels(offsets, scores, partial)
    losses, _ = MaxMargin(cost)(Chain(offsets), scores, y)
    expected = [
        np.max(path_scores + cost * errors) - path_scores[agrees].max()
        for path_scores, errors, agrees in enumerated(offsets, scores, y)
    ]
    assert_losses(losses, expected, scores)
    assert (losses >= 0).all() or partial


@given(exact_chains, costs, st.booleans())
def test_softmax_margin(chain, cost, partial):
    offsets, scores = chain
    y = any_labels(offsets, scores, partial)
    losses, _ = SoftmaxMargin(cost)(Chain(offsets), scores, y)
    expected = [
        logsumexp(path_scores + cost * errors) - logsumexp(path_scores[agrees])
        for path_scores, errors, agrees in enumerated(offsets, scores, y)
    ]
    assert_losses(losses, expected, scores)


@given(exact_chains, st.booleans())
def test_expected_cost(chain, partial):
    offsets, scores = chain
    y = any_labels(offsets, scores, partial)
    losses, _ = expected_cost(Chain(offsets), scores, y)
    expected = [
        softmax(path_scores) @ errors for path_scores, errors, _ in enumerated(offsets, scores, y)
    ]
    assert_allclose(losses, expected, atol=1e-9)


def enumerated_marginals(offsets, scores):
    marginals = np.zeros(scores.state.shape)
    for a, b in itertools.pairwise(offsets):
        every, _, probability = oracle.distribution(scores, a, b)
        for path, p in zip(every, probability, strict=True):
            marginals[np.arange(a, b), list(path)] += p
    return marginals


def sums_over_tokens(offsets, values):
    return [values[a:b].sum() for a, b in itertools.pairwise(offsets)]


@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_marginal_likelihood(chain):
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    losses, _ = marginal_likelihood(Chain(offsets), scores, y)
    gold = enumerated_marginals(offsets, scores)[np.arange(len(y)), y]
    # Smaller marginals count as 1e-250.
    assert_losses(losses, sums_over_tokens(offsets, -np.log(np.maximum(gold, 1e-250))), scores)


@given(exact_chains, st.sampled_from([0.1, 5.0, 100.0]))
def test_token_error(chain, slope):
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    losses, _ = TokenError(slope)(Chain(offsets), scores, y)
    marginals = enumerated_marginals(offsets, scores)
    is_gold = y[:, None] == np.arange(len(scores.transition))
    rival = np.where(is_gold, 0.0, marginals).max(axis=1, initial=0.0)
    error = expit(-slope * (marginals[is_gold] - rival))
    assert_allclose(losses, sums_over_tokens(offsets, error), atol=1e-8)


@given(exact_chains)
def test_pseudo_likelihood(chain):
    # p(y_t | all the others) from the scores of paths that differ from y in one label.
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    losses, _ = pseudo_likelihood(Chain(offsets), scores, y)
    expected = np.zeros(len(offsets) - 1)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        for t in range(a, b):
            path_scores = []
            for j in range(len(scores.transition)):
                path = y[a:b].copy()
                path[t - a] = j
                path_scores.append(oracle.score(scores, a, path))
            expected[s] += logsumexp(path_scores) - path_scores[y[t]]
    assert_losses(losses, expected, scores)


@given(exact_chains)
def test_local_log_loss(chain):
    # p(y_t | y_{t-1}) from the scores of beginnings of paths; the end counts at the last token.
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    losses, _ = local_log_loss(Chain(offsets), scores, y)
    expected = np.zeros(len(offsets) - 1)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        for t in range(a, b):
            without_end = scores._replace(end=np.zeros_like(scores.end))
            longer = scores if t == b - 1 else without_end
            before = oracle.score(without_end, a, y[a:t]) if t > a else 0.0
            path_scores = np.array(
                [
                    oracle.score(longer, a, [*y[a:t], j]) - before
                    for j in range(len(scores.transition))
                ]
            )
            expected[s] += logsumexp(path_scores) - path_scores[y[t]]
    assert_losses(losses, expected, scores)


def pieces_of(a, b, with_tokens):
    """The pieces of the sequence from a to b."""
    edges = [(t - 1, t) for t in range(a + 1, b)]
    return edges + [(t,) for t in range(a, b) if with_tokens or b - a == 1]


@given(exact_chains, st.booleans(), st.booleans())
def test_piecewise(chain, with_tokens, partial):
    offsets, scores = chain
    y = any_labels(offsets, scores, partial)
    losses, _ = Piecewise("edges+tokens" if with_tokens else "edges")(Chain(offsets), scores, y)
    allowed, expected = as_allowed(y, len(scores.transition)), np.zeros(len(offsets) - 1)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        pieces = pieces_of(a, b, with_tokens)
        state = scores.state[a:b].copy()
        if b > a:
            state[0] += scores.begin
            state[-1] += scores.end
        for piece in pieces:
            agreeing, path_scores = [], []
            for labels in itertools.product(range(len(scores.transition)), repeat=len(piece)):
                score = sum(
                    state[t - a, j] / sum(t in other for other in pieces)
                    for t, j in zip(piece, labels, strict=True)
                )
                if len(piece) == 2:
                    score += oracle.transition_score(scores, piece[1], *labels)
                path_scores.append(score)
                agreeing.append(all(allowed[t, j] for t, j in zip(piece, labels, strict=True)))
            expected[s] += logsumexp(path_scores) - logsumexp(np.array(path_scores)[agreeing])
    assert_losses(losses, expected, scores)


# Where criteria meet


@given(exact_chains, st.sampled_from(["edges", "edges+tokens"]))
def test_piecewise_is_an_upper_bound_of_the_log_loss(chain, pieces):
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    bound, _ = Piecewise(pieces)(Chain(offsets), scores, y)
    losses, _ = log_loss(Chain(offsets), scores, y)
    assert (bound >= losses - 1e-9 * (1 + np.abs(losses))).all()
    if pieces == "edges":
        short = np.diff(offsets) <= 2
        assert_losses(bound[short], losses[short], scores)


@pytest.mark.parametrize("cost", [0.0, 2.0])
@given(exact_chains)
def test_softmax_margin_is_an_upper_bound_of_the_margin(cost, chain):
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    bound, _ = SoftmaxMargin(cost)(Chain(offsets), scores, y)
    hinge, _ = MaxMargin(cost)(Chain(offsets), scores, y)
    assert (bound >= hinge - 1e-9 * (1 + hinge)).all()
    if cost == 0.0:
        assert_array_equal(bound, log_loss(Chain(offsets), scores, y)[0])


@pytest.mark.parametrize("criterion", [pseudo_likelihood, local_log_loss, marginal_likelihood])
@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_of_single_tokens_they_are_the_log_loss(criterion, chain):
    offsets, scores = chain
    y = possible_labels(offsets, scores)
    losses, _ = criterion(Chain(offsets), scores, y)
    short = np.diff(offsets) <= 1
    assert_losses(losses[short], log_loss(Chain(offsets), scores, y)[0][short], scores)


@pytest.mark.parametrize("criterion", [pseudo_likelihood, local_log_loss, marginal_likelihood])
def test_of_independent_tokens_they_are_the_log_loss(criterion):
    rng = np.random.default_rng(0)
    structure, scores = (
        Chain(np.array([0, 6, 10])),
        Scores.of(rng.normal(size=(10, 3)), np.eye(3) * 0),
    )
    y = rng.integers(3, size=10)
    weight = rng.normal(size=2)
    losses, pullback = criterion(structure, scores, y)
    expected, expected_pullback = log_loss(structure, scores, y)
    assert_allclose(losses, expected)
    assert_allclose(pullback(weight).state, expected_pullback(weight).state, atol=1e-12)


def sharp_batch():
    rng = np.random.default_rng(0)
    scores = Scores.of(1e4 * rng.normal(size=(9, 3)), 1e4 * rng.normal(size=(3, 3)))
    structure = Chain(np.array([0, 4, 9]))
    y = rng.integers(3, size=9)
    wrong = structure.maximum(scores)[1] != y
    return structure, scores, y, [wrong[:4].sum(), wrong[4:].sum()]


def test_where_the_model_is_certain_costs_are_the_errors_of_the_best_paths():
    *batch, errors = sharp_batch()
    assert_allclose(expected_cost(*batch)[0], errors, atol=1e-9)
    assert_allclose(TokenError(slope=100.0)(*batch)[0], errors, atol=1e-9)


def test_hopeless_labels_leave_the_marginal_likelihood_finite():
    *batch, errors = sharp_batch()
    losses, pullback = marginal_likelihood(*batch)
    assert_allclose(losses, np.multiply(errors, -np.log(1e-250)))
    assert_allclose(pullback(np.ones(2)).state, 0.0, atol=1e-9)


def test_what_wins_by_the_margin_costs_nothing():
    structure, y = Chain(np.array([0, 4])), np.array([0, 1, 1, 2])
    scores = Scores.of(1.5 * np.eye(3)[y], np.zeros((3, 3)))
    losses, pullback = MaxMargin()(structure, scores, y)
    assert losses == 0.0
    assert_array_equal(pullback(np.ones(1)).state, 0.0)
    assert_allclose(MaxMargin(cost=2.0)(structure, scores, y)[0], 4 * 0.5)
