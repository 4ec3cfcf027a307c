"""Losses against their definitions over all paths, and against each other where they meet."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains
from hypothesis import assume, given, settings
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
from sklearn_crcrf.structures import Chain, Parts

exact_chains = chains(scales=(1.0, 30.0, 1000.0), dtypes=(np.float64,))
costs = st.sampled_from([0.0, 0.5, 3.0])


def possible_labels(offsets, parts):
    """Random labels, or the best ones where random ones are impossible."""
    y = np.random.default_rng(0).integers(len(parts.transition), size=len(parts.state))
    value, best = Chain(offsets).maximum(parts)
    assume(np.isfinite(value).all())
    for a, b in itertools.pairwise(offsets):
        if not np.isfinite(oracle.score(parts, a, y[a:b])):
            y[a:b] = best[a:b]
    return y


def partial_labels(offsets, parts):
    """Some labels more than the possible ones are allowed."""
    n_labels = len(parts.transition)
    known = possible_labels(offsets, parts)[:, None] == np.arange(n_labels)
    return known | (np.random.default_rng(1).random(known.shape) < 0.3)


def any_labels(offsets, parts, partial):
    return (partial_labels if partial else possible_labels)(offsets, parts)


def as_allowed(y, n_labels):
    return y if y.ndim == 2 else y[:, None] == np.arange(n_labels)


def enumerated(offsets, parts, y):
    """For each sequence: its scores and errors of all paths, and which of them agree with y."""
    allowed = as_allowed(y, len(parts.transition))
    for a, b in itertools.pairwise(offsets):
        every, scores = oracle.paths(parts, a, b)
        right = np.array([allowed[np.arange(a, b), list(path)] for path in every], dtype=bool)
        yield scores, (~right).sum(axis=1), right.all(axis=1)


def assert_losses(losses, expected, parts):
    finite = [np.abs(x[np.isfinite(x)]).max(initial=1.0) for x in (*parts[:4], parts.edges.score)]
    assert_allclose(losses, expected, rtol=1e-9, atol=1e-11 * max(finite))


@settings(max_examples=80)
@given(exact_chains, costs, st.booleans())
def test_max_margin(chain, cost, partial):
    offsets, parts = chain
    y = any_labels(offsets, parts, partial)
    losses, _ = MaxMargin(cost)(Chain(offsets), parts, y)
    expected = [
        np.max(scores + cost * errors) - scores[agrees].max()
        for scores, errors, agrees in enumerated(offsets, parts, y)
    ]
    assert_losses(losses, expected, parts)
    assert (losses >= 0).all() or partial


@settings(max_examples=80)
@given(exact_chains, costs, st.booleans())
def test_softmax_margin(chain, cost, partial):
    offsets, parts = chain
    y = any_labels(offsets, parts, partial)
    losses, _ = SoftmaxMargin(cost)(Chain(offsets), parts, y)
    expected = [
        logsumexp(scores + cost * errors) - logsumexp(scores[agrees])
        for scores, errors, agrees in enumerated(offsets, parts, y)
    ]
    assert_losses(losses, expected, parts)


@settings(max_examples=80)
@given(exact_chains, st.booleans())
def test_expected_cost(chain, partial):
    offsets, parts = chain
    y = any_labels(offsets, parts, partial)
    losses, _ = expected_cost(Chain(offsets), parts, y)
    expected = [softmax(scores) @ errors for scores, errors, _ in enumerated(offsets, parts, y)]
    assert_allclose(losses, expected, atol=1e-9)


def enumerated_marginals(offsets, parts):
    marginals = np.zeros(parts.state.shape)
    for a, b in itertools.pairwise(offsets):
        every, _, probability = oracle.distribution(parts, a, b)
        for path, p in zip(every, probability, strict=True):
            marginals[np.arange(a, b), list(path)] += p
    return marginals


def sums_over_tokens(offsets, values):
    return [values[a:b].sum() for a, b in itertools.pairwise(offsets)]


@settings(max_examples=80)
@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_marginal_likelihood(chain):
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    losses, _ = marginal_likelihood(Chain(offsets), parts, y)
    gold = enumerated_marginals(offsets, parts)[np.arange(len(y)), y]
    assert_losses(losses, sums_over_tokens(offsets, -np.log(gold)), parts)


@settings(max_examples=80)
@given(exact_chains, st.sampled_from([0.1, 5.0, 100.0]))
def test_token_error(chain, slope):
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    losses, _ = TokenError(slope)(Chain(offsets), parts, y)
    marginals = enumerated_marginals(offsets, parts)
    is_gold = y[:, None] == np.arange(len(parts.transition))
    rival = np.where(is_gold, 0.0, marginals).max(axis=1, initial=0.0)
    error = expit(-slope * (marginals[is_gold] - rival))
    assert_allclose(losses, sums_over_tokens(offsets, error), atol=1e-8)


@settings(max_examples=80)
@given(exact_chains)
def test_pseudo_likelihood(chain):
    # p(y_t | all the others) from the scores of paths that differ from y in one label.
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    losses, _ = pseudo_likelihood(Chain(offsets), parts, y)
    expected = np.zeros(len(offsets) - 1)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        for t in range(a, b):
            scores = []
            for j in range(len(parts.transition)):
                path = y[a:b].copy()
                path[t - a] = j
                scores.append(oracle.score(parts, a, path))
            expected[s] += logsumexp(scores) - scores[y[t]]
    assert_losses(losses, expected, parts)


@settings(max_examples=80)
@given(exact_chains)
def test_local_log_loss(chain):
    # p(y_t | y_{t-1}) from the scores of beginnings of paths; the end counts at the last token.
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    losses, _ = local_log_loss(Chain(offsets), parts, y)
    expected = np.zeros(len(offsets) - 1)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        for t in range(a, b):
            without_end = parts._replace(end=np.zeros_like(parts.end))
            longer = parts if t == b - 1 else without_end
            before = oracle.score(without_end, a, y[a:t]) if t > a else 0.0
            scores = np.array(
                [
                    oracle.score(longer, a, [*y[a:t], j]) - before
                    for j in range(len(parts.transition))
                ]
            )
            expected[s] += logsumexp(scores) - scores[y[t]]
    assert_losses(losses, expected, parts)


def pieces_of(a, b, with_tokens):
    """The pieces of the sequence from a to b."""
    edges = [(t - 1, t) for t in range(a + 1, b)]
    return edges + [(t,) for t in range(a, b) if with_tokens or b - a == 1]


@settings(max_examples=80)
@given(exact_chains, st.booleans(), st.booleans())
def test_piecewise(chain, with_tokens, partial):
    offsets, parts = chain
    y = any_labels(offsets, parts, partial)
    losses, _ = Piecewise("edges+tokens" if with_tokens else "edges")(Chain(offsets), parts, y)
    allowed, expected = as_allowed(y, len(parts.transition)), np.zeros(len(offsets) - 1)
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        pieces = pieces_of(a, b, with_tokens)
        state = parts.state[a:b].copy()
        if b > a:
            state[0] += parts.begin
            state[-1] += parts.end
        for piece in pieces:
            agreeing, scores = [], []
            for labels in itertools.product(range(len(parts.transition)), repeat=len(piece)):
                score = sum(
                    state[t - a, j] / sum(t in other for other in pieces)
                    for t, j in zip(piece, labels, strict=True)
                )
                if len(piece) == 2:
                    score += oracle.transition_score(parts, piece[1], *labels)
                scores.append(score)
                agreeing.append(all(allowed[t, j] for t, j in zip(piece, labels, strict=True)))
            expected[s] += logsumexp(scores) - logsumexp(np.array(scores)[agreeing])
    assert_losses(losses, expected, parts)


# Where criteria meet


@settings(max_examples=50)
@given(exact_chains, st.sampled_from(["edges", "edges+tokens"]))
def test_piecewise_is_an_upper_bound_of_the_log_loss(chain, pieces):
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    bound, _ = Piecewise(pieces)(Chain(offsets), parts, y)
    losses, _ = log_loss(Chain(offsets), parts, y)
    assert (bound >= losses - 1e-9 * (1 + np.abs(losses))).all()
    if pieces == "edges":
        short = np.diff(offsets) <= 2
        assert_losses(bound[short], losses[short], parts)


@pytest.mark.parametrize("cost", [0.0, 2.0])
@settings(max_examples=50)
@given(exact_chains)
def test_softmax_margin_is_an_upper_bound_of_the_margin(cost, chain):
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    bound, _ = SoftmaxMargin(cost)(Chain(offsets), parts, y)
    hinge, _ = MaxMargin(cost)(Chain(offsets), parts, y)
    assert (bound >= hinge - 1e-9 * (1 + hinge)).all()
    if cost == 0.0:
        assert_array_equal(bound, log_loss(Chain(offsets), parts, y)[0])


@pytest.mark.parametrize("criterion", [pseudo_likelihood, local_log_loss, marginal_likelihood])
@settings(max_examples=50)
@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_of_single_tokens_they_are_the_log_loss(criterion, chain):
    offsets, parts = chain
    y = possible_labels(offsets, parts)
    losses, _ = criterion(Chain(offsets), parts, y)
    short = np.diff(offsets) <= 1
    assert_losses(losses[short], log_loss(Chain(offsets), parts, y)[0][short], parts)


@pytest.mark.parametrize("criterion", [pseudo_likelihood, local_log_loss, marginal_likelihood])
def test_of_independent_tokens_they_are_the_log_loss(criterion):
    rng = np.random.default_rng(0)
    structure, parts = (
        Chain(np.array([0, 6, 10])),
        Parts.of(rng.normal(size=(10, 3)), np.eye(3) * 0),
    )
    y = rng.integers(3, size=10)
    weight = rng.normal(size=2)
    losses, pullback = criterion(structure, parts, y)
    expected, expected_pullback = log_loss(structure, parts, y)
    assert_allclose(losses, expected)
    assert_allclose(pullback(weight).state, expected_pullback(weight).state, atol=1e-12)


def sharp_batch():
    rng = np.random.default_rng(0)
    parts = Parts.of(1e4 * rng.normal(size=(9, 3)), 1e4 * rng.normal(size=(3, 3)))
    structure = Chain(np.array([0, 4, 9]))
    y = rng.integers(3, size=9)
    wrong = structure.maximum(parts)[1] != y
    return structure, parts, y, [wrong[:4].sum(), wrong[4:].sum()]


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
    parts = Parts.of(1.5 * np.eye(3)[y], np.zeros((3, 3)))
    losses, pullback = MaxMargin()(structure, parts, y)
    assert losses == 0.0
    assert_array_equal(pullback(np.ones(1)).state, 0.0)
    assert_allclose(MaxMargin(cost=2.0)(structure, parts, y)[0], 4 * 0.5)
