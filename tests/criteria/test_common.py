"""What every criterion must do, whatever its loss."""

import itertools

import numpy as np
import pytest
from cases import for_each
from chains import chains, random_direction
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_crcrf.criteria import (
    CRITERIA,
    MaxMargin,
    Piecewise,
    SoftmaxMargin,
    TokenError,
    as_criterion,
    local_log_loss,
)
from sklearn_crcrf.structures import Chain, ScoreGradient, Scores

VARIANTS = {
    "local_log_loss": local_log_loss,
    "edges+tokens": Piecewise("edges+tokens"),
    "margin of 3": MaxMargin(cost=3.0),
    "margin of 0": MaxMargin(cost=0.0),
    "softmax-margin of 3": SoftmaxMargin(cost=3.0),
    "steep token error": TokenError(slope=20.0),
}
LABELS = np.array(["O", "B-X", "I-X", "B-Y"])
EVERY = {**CRITERIA, **VARIANTS}
CONVEX = [name for name, criterion in EVERY.items() if criterion.convex]
CURVED = [name for name, criterion in EVERY.items() if criterion.has_curvature]
all_criteria = pytest.mark.parametrize("criterion", EVERY)
convex_criteria = pytest.mark.parametrize("criterion", CONVEX)


def callable_of(name, n_labels):
    """The criterion of that name, for some labels if it wants to know them."""
    return EVERY[name].for_labels(LABELS[:n_labels])


def possible_labels(offsets, scores):
    """Random labels, or the best ones where random ones are impossible."""
    y = np.random.default_rng(0).integers(len(scores.transition), size=len(scores.state))
    structure = Chain(offsets)
    value, best = structure.maximum(scores)
    assume(np.isfinite(value).all())
    possible = np.isfinite(structure.score(scores, y)[0])
    return np.where(np.repeat(possible, np.diff(offsets)), y, best).astype(np.int32)


def random_weights(losses, seed=1):
    return np.random.default_rng(seed).normal(size=losses.shape)


def shifted(scores, direction, step):
    path_scores = (a + step * b for a, b in zip(scores[:4], direction[:4], strict=True))
    return Scores(
        *path_scores,
        scores.token_transitions._replace(
            score=scores.token_transitions.score + step * direction.token_transitions
        ),
    )


def random_batch(lengths, n_labels=3, dtype=np.float64, seed=0):
    """Structure, scores and labels."""
    rng = np.random.default_rng(seed)
    state, transition = rng.normal(size=(sum(lengths), n_labels)), rng.normal(size=(n_labels,) * 2)
    scores = Scores.of(state.astype(dtype), transition, *rng.normal(size=(2, n_labels)))
    y = rng.integers(n_labels, size=sum(lengths)).astype(np.int32)
    return Chain(np.append(0, np.cumsum(lengths))), scores, y


def assert_close(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, **tolerance)


@all_criteria
@given(chains(scales=(1.0, 3.0), dtypes=(np.float64,)))
def test_pullbacks_are_the_derivatives(criterion, chain):
    offsets, scores = chain
    y, criterion = possible_labels(offsets, scores), callable_of(criterion, len(scores.transition))
    # TokenTransitions must stay above the common scores.
    scores = scores._replace(
        token_transitions=scores.token_transitions._replace(
            score=scores.token_transitions.score + 1.0
        )
    )
    direction, step = random_direction(scores), 1e-5
    losses, pullback = criterion(Chain(offsets), scores, y)
    weight = random_weights(losses)
    above, below = (
        np.sum(weight * criterion(Chain(offsets), shifted(scores, direction, sign * step), y)[0])
        for sign in (1, -1)
    )
    counts = pullback(weight)
    along = sum(np.sum(a * b) for a, b in zip(counts, direction, strict=True))
    assert_allclose(along, (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("criterion", CURVED)
@settings(max_examples=15)
@given(chains(scales=(1.0, 3.0), dtypes=(np.float64,)), st.booleans())
def test_curvatures_are_the_derivatives_of_pullbacks(criterion, chain, partial):
    offsets, scores = chain
    y, criterion = possible_labels(offsets, scores), callable_of(criterion, len(scores.transition))
    if partial:
        y = np.arange(len(scores.transition)) <= y[:, None]
    scores = scores._replace(
        token_transitions=scores.token_transitions._replace(
            score=scores.token_transitions.score + 1.0
        )
    )
    direction, step, weight = random_direction(scores), 1e-5, np.arange(1.0, len(offsets))
    try:
        above, below = (
            criterion(Chain(offsets), shifted(scores, direction, sign * step), y)[1](weight)
            for sign in (1, -1)
        )
    except ValueError as error:
        assert partial and "label" in str(error)
        return
    counts = criterion.curvature(Chain(offsets), scores, y, direction)(weight)
    expected = ((a - b) / (2 * step) for a, b in zip(above, below, strict=True))
    assert_close(counts, expected, rtol=1e-5, atol=1e-6)


@all_criteria
@pytest.mark.parametrize("partial", [False, True])
@settings(max_examples=20)
@given(chains())
def test_values_and_gradients_at_once_are_the_same(criterion, partial, chain):
    offsets, scores = chain
    y, criterion = possible_labels(offsets, scores), callable_of(criterion, len(scores.transition))
    if partial:
        y = np.arange(len(scores.transition)) <= y[:, None]
    try:
        losses, pullback = criterion(Chain(offsets), scores, y)
    except ValueError as error:
        assert partial and "label" in str(error)
        return
    weight, out = random_weights(losses), np.full_like(scores.state, np.nan)
    at_once, counts = criterion.value_and_gradient(Chain(offsets), scores, y, weight, out)
    assert_array_equal(at_once, losses)
    for ours, theirs in zip(counts, pullback(weight), strict=True):
        assert_array_equal(ours, theirs)


@convex_criteria
@settings(max_examples=20)
@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)))
def test_what_is_said_to_be_convex_lies_below_its_chords(criterion, chain):
    offsets, scores = chain
    y, criterion = possible_labels(offsets, scores), callable_of(criterion, len(scores.transition))
    direction = random_direction(scores)
    scores = scores._replace(
        token_transitions=scores.token_transitions._replace(
            score=scores.token_transitions.score + 1.0
        )
    )
    low, middle, high = (
        criterion(Chain(offsets), shifted(scores, direction, step), y)[0] for step in (0, 0.1, 0.2)
    )
    assert (middle <= (low + high) / 2 + 1e-9 * (1 + np.abs(low))).all()


@all_criteria
@settings(max_examples=20)
@given(chains(dtypes=(np.float64,)))
def test_losses_and_derivatives_are_finite(criterion, chain):
    offsets, scores = chain
    y, criterion = possible_labels(offsets, scores), callable_of(criterion, len(scores.transition))
    losses, pullback = criterion(Chain(offsets), scores, y)
    assert np.isfinite(losses).all()
    counts = pullback(np.ones_like(losses))
    assert all(np.isfinite(values).all() for values in counts)


@all_criteria
def test_single_precision(criterion):
    structure, scores, y = random_batch([5, 0, 1, 9], dtype=np.float32)
    criterion = callable_of(criterion, 3)
    losses, pullback = criterion(structure, scores, y)
    weight = random_weights(losses)
    exact, exact_pullback = criterion(structure, scores.tokens(slice(None)), y)
    assert losses.dtype == np.float64
    assert_allclose(losses, exact, rtol=1e-4, atol=1e-5)
    counts, expected = pullback(weight), exact_pullback(weight)
    assert [values.dtype for values in counts] == [np.float32, *[np.float64] * 5]
    assert_close(counts, expected, rtol=1e-4, atol=1e-5)


@all_criteria
def test_derivatives_are_added_to_what_is_there(criterion):
    structure, scores, y = random_batch([5, 0, 1, 9])
    losses, pullback = callable_of(criterion, 3)(structure, scores, y)
    weight, before = random_weights(losses), random_direction(scores)
    out = ScoreGradient(*(values.copy() for values in before))
    assert pullback(weight, out) is out
    once = pullback(weight)
    assert_close(out, (a + b for a, b in zip(before, once, strict=True)), atol=1e-12)


@all_criteria
def test_derivatives_go_into_an_array_whatever_is_in_it(criterion):
    structure, scores, y = random_batch([5, 0, 1, 9])
    losses, pullback = callable_of(criterion, 3)(structure, scores, y)
    weight, state = random_weights(losses), np.full_like(scores.state, np.nan)
    counts = pullback(weight, state)
    assert counts.state is state
    for ours, expected in zip(counts, pullback(weight), strict=True):
        assert_array_equal(ours, expected)


@all_criteria
def test_weights_are_those_of_the_sequences(criterion):
    structure, scores, y = random_batch([5, 3, 1, 9])
    losses, pullback = callable_of(criterion, 3)(structure, scores, y)
    weight = random_weights(losses)
    together, one_by_one = pullback(weight), ScoreGradient.zeros(scores)
    for s, (start, stop) in enumerate(itertools.pairwise(structure.offsets)):
        alone = np.zeros_like(weight)
        alone[s] = weight[s]
        counts = pullback(alone)
        others = np.delete(counts.state, np.arange(start, stop), axis=0)
        assert_allclose(others, 0.0, atol=1e-12)
        pullback(alone, one_by_one)
    assert_close(together, one_by_one, atol=1e-12)


@all_criteria
def test_sequences_are_independent_and_may_be_empty(criterion):
    structure, scores, y = random_batch([0, 4, 0, 0, 2, 1, 0])
    criterion = callable_of(criterion, 3)
    losses, pullback = criterion(structure, scores, y)
    assert len(losses) == 7
    assert_array_equal(losses[[0, 2, 3, 6]], 0.0)
    weight = random_weights(losses)
    counts = pullback(weight)
    for s in (1, 4, 5):
        start, stop = structure.offsets[s : s + 2]
        alone, pull_alone = criterion(
            Chain(np.array([0, stop - start])),
            Scores.of(scores.state[start:stop], *scores[1:4]),
            y[start:stop],
        )
        assert_allclose(losses[s], alone[0], rtol=1e-10, atol=1e-12)
        of_tokens = pull_alone(weight[s : s + 1]).state
        assert_allclose(counts.state[start:stop], of_tokens, atol=1e-10)


@all_criteria
def test_no_tokens(criterion):
    structure, scores, y = random_batch([0, 0])
    losses, pullback = callable_of(criterion, 3)(structure, scores, y)
    assert_array_equal(losses, np.zeros_like(losses))
    for values in pullback(np.ones_like(losses)):
        assert_array_equal(values, np.zeros_like(values))


@all_criteria
def test_of_one_label_there_is_nothing_to_learn(criterion):
    structure, scores, y = random_batch([4, 1], n_labels=1)
    losses, pullback = callable_of(criterion, 1)(structure, scores, y)
    assert np.isfinite(losses).all()
    for values in pullback(np.ones_like(losses)):
        assert_allclose(values, 0.0, atol=1e-12)


@all_criteria
def test_partial_labels_that_leave_no_choice_are_labels(criterion):
    structure, scores, y = random_batch([5, 3, 1])
    criterion = callable_of(criterion, 3)
    partial = y[:, None] == np.arange(3)
    try:
        losses, pullback = criterion(structure, scores, partial)
    except ValueError as error:
        assert "label" in str(error)
        return
    expected, expected_pullback = criterion(structure, scores, y)
    assert_allclose(losses, expected)
    weight = random_weights(losses)
    assert_close(pullback(weight), expected_pullback(weight), atol=1e-12)


@for_each("name", CRITERIA)
def test_criteria_with_parameters_can_be_cloned(name):
    twin = clone(CRITERIA[name])
    assert twin is not CRITERIA[name]
    assert twin.get_params() == CRITERIA[name].get_params()


@for_each(
    "criterion, name",
    [
        (Piecewise("words"), "pieces"),
        (MaxMargin(cost=-1.0), "cost"),
        (SoftmaxMargin(cost=np.inf), "cost"),
        (TokenError(slope=0.0), "slope"),
    ],
)
def test_parameters_that_make_no_sense(criterion, name):
    with pytest.raises(ValueError, match=name):
        criterion(*random_batch([3]))


def test_unknown_names():
    with pytest.raises(ValueError, match=r"criterion must be one of .*'mce_f1'.*, got 'margin'"):
        as_criterion("margin")
