"""Forests against the enumeration of all labellings, and against chains where they are paths."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from chains import chains, drawn_labels, forests, random_direction, random_parents
from enumerated import Enumerated
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import (
    Chain,
    Forest,
    ScoreGradient,
    Scores,
    TokenTransitions,
    Unsupported,
)

MODERATE = (1.0, 30.0)
some_neighbours = st.sampled_from([(), (-1,), (1,), (-1, 1)])


def both(case):
    """The forest, the same by enumeration, scores, and a weight of each unit."""
    offsets, parent, scores = case
    forest = Forest(offsets, parent)
    enumerated = Enumerated(offsets, *forest.links())
    return forest, enumerated, scores, np.linspace(-1.0, 2.0, len(offsets) - 1)


def rounding(scores, dtype=None):
    """About the rounding error of the score of a labelling in the type of the state scores."""
    parts = (*scores[:4], scores.token_transitions.score)
    largest = max(np.abs(part[np.isfinite(part)]).max(initial=1.0) for part in parts)
    return 128 * np.finfo(dtype or scores.state.dtype).eps * largest


def assert_same(ours, theirs, atol, rtol=1e-6):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, atol=atol, rtol=rtol)


def labels_of(forest, scores, random):
    """The best labels of some units, and any labels of the other units."""
    y = forest.maximum(scores)[1].copy()
    for a, b in itertools.pairwise(forest.offsets):
        if random.random() < 0.5:
            y[a:b] = [random.randrange(len(scores.transition)) for _ in range(a, b)]
    return y


@given(forests())
def test_sums_over_all_labellings(case):
    forest, enumerated, scores, weight = both(case)
    (value, pullback), (expected, pull_expected) = (
        structure.log_partition(scores) for structure in (forest, enumerated)
    )
    atol = rounding(scores)
    assert_allclose(value, expected, rtol=0, atol=atol)
    gradient = pullback(weight)
    assert gradient.state.dtype == scores.state.dtype
    assert_same(gradient, pull_expected(weight), 10 * min(atol, 1e-3))
    at_once, gradient_at_once = forest.log_partition_and_gradient(scores, weight)
    assert_array_equal(at_once, value)
    assert_same(gradient_at_once, gradient, 1e-12, rtol=0)


@given(forests())
def test_the_maximum_is_the_best_of_all_labellings(case):
    forest, enumerated, scores, _ = both(case)
    value, y = forest.maximum(scores)
    assert_allclose(value, enumerated.maximum(scores)[0], rtol=1e-12)
    possible = np.isfinite(value)
    assert_allclose(forest.score(scores, y)[0][possible], value[possible], rtol=1e-12)


@given(forests(), st.randoms())
def test_scores_of_labellings(case, random):
    forest, enumerated, scores, weight = both(case)
    y = labels_of(forest, scores, random)
    (value, pullback), (expected, pull_expected) = (
        structure.score(scores, y) for structure in (forest, enumerated)
    )
    assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    assert_same(pullback(weight), pull_expected(weight), 1e-6)


@given(forests(), st.randoms())
def test_the_best_other_labelling_is_the_best_of_all_others(case, random):
    forest, enumerated, scores, _ = both(case)
    y = labels_of(forest, scores, random)
    value, best = forest.best_excluding(scores, y)
    assert_allclose(value, enumerated.best_excluding(scores, y)[0], rtol=1e-12)
    for v, a, b in zip(value, forest.offsets[:-1], forest.offsets[1:], strict=True):
        assert np.isfinite(v) == (best[a:b] != y[a:b]).any()


def test_the_given_labelling_is_returned_where_none_is_possible():
    forest = Forest(np.array([0, 3]), np.array([-1, -1, -1]))
    state = np.array([[0.0, 1.0], [1.0, 0.0], [-np.inf, -np.inf]])
    y = np.array([0, 0, 0], dtype=np.int32)
    value, best = forest.best_excluding(Scores.of(state, np.zeros((2, 2))), y)
    assert value == -np.inf
    assert_array_equal(best, y)


@given(forests(), st.randoms())
def test_sums_over_other_labellings(case, random):
    forest, enumerated, scores, weight = both(case)
    y = labels_of(forest, scores, random)
    (value, pullback), (expected, pull_expected) = (
        structure.log_partition_excluding(scores, y) for structure in (forest, enumerated)
    )
    assert_allclose(value, expected, rtol=1e-12, atol=1e-9)
    atol = 1e-6 if scores.state.dtype == np.float32 else 1e-9 + rounding(scores)
    out = ScoreGradient.zeros(scores)
    assert pullback(weight, out) is out
    assert_same(out, pull_expected(weight), atol)


@given(forests())
def test_token_marginals(case):
    forest, enumerated, scores, _ = both(case)
    (value, pullback), (expected, pull_expected) = (
        structure.token_marginals(scores) for structure in (forest, enumerated)
    )
    atol = 10 * min(rounding(scores, float), 1e-3)
    assert value.dtype == np.float64
    assert_allclose(value, expected, atol=atol)
    slope = np.random.default_rng(0).normal(size=value.shape)
    atol = 1e-5 if scores.state.dtype == np.float32 else 10 * atol
    assert_same(pullback(slope), pull_expected(slope), atol)


def test_weights_of_marginals_may_be_huge():
    rng, parent = np.random.default_rng(0), np.array([-1, 0, 0, 1, 1, -1, 5])
    scores = Scores.of(rng.normal(size=(7, 3)), rng.normal(size=(3, 3)))
    forest, slope = Forest(np.array([0, 5, 7]), parent), rng.normal(size=(7, 3))
    pullback = forest.token_marginals(scores)[1]
    assert_same([part / 1e30 for part in pullback(1e30 * slope)], pullback(slope), 1e-12)


@given(forests())
def test_covariances(case):
    forest, enumerated, scores, weight = both(case)
    direction = random_direction(scores)
    (mean, pullback), (expected, pull_expected) = (
        structure.covariance(scores, direction) for structure in (forest, enumerated)
    )
    atol = 100 * min(rounding(scores, float), 1e-3)
    assert_allclose(mean, expected, atol=atol)
    atol = 1e-5 if scores.state.dtype == np.float32 else atol
    assert_same(pullback(weight), pull_expected(weight), atol)


@given(forests())
def test_entropy(case):
    forest, enumerated, scores, _ = both(case)
    atol = 1e-9 + 10 * rounding(scores, float)
    assert_allclose(forest.entropy(scores), enumerated.entropy(scores), atol=atol)


def test_a_token_transition_outweighs_a_state_score_that_is_almost_impossible():
    transition, gains = (
        np.array([[-500.0, -600.0], [0.0, 0.0]]),
        np.array([[0.0, 0.0, 1300.0, 0.0]]),
    )
    state = np.array([[1000.0, 0.0], [0.0, -760.0]])
    edges = TokenTransitions.from_gains(np.zeros(2, dtype=int), sp.csr_array(gains), transition)
    scores = Scores.of(state, transition)._replace(token_transitions=edges)
    case = np.array([0, 2]), np.array([-1, 0]), scores
    forest, enumerated, _, _ = both(case)
    messages, counts = forest.messages(scores), ScoreGradient.zeros(scores)
    marginals = messages.add_expected(np.ones(1), counts.transition, counts.token_transitions)
    assert_allclose(marginals, [[1.0, 0.0], [0.0, 1.0]], atol=1e-12)
    assert_allclose(forest.entropy(scores), enumerated.entropy(scores), atol=1e-12)


@given(forests(MODERATE), some_neighbours, st.randoms())
def test_scores_given_neighbours(case, neighbours, random):
    forest, enumerated, scores, _ = both(case)
    y = labels_of(forest, scores, random)
    (value, pullback), (expected, pull_expected) = (
        structure.conditional_scores(scores, y, neighbours) for structure in (forest, enumerated)
    )
    assert value.dtype == scores.state.dtype
    assert_allclose(value, expected, atol=10 * rounding(scores))
    slope = np.random.default_rng(0).normal(size=value.shape).astype(value.dtype)
    assert_same(pullback(slope), pull_expected(slope), 1e-5)


@given(forests(MODERATE), st.booleans())
def test_scores_of_pieces_add_up(case, with_tokens):
    forest, _, scores, weight = both(case)
    y = np.random.default_rng(0).integers(len(scores.transition), size=forest.n_tokens)
    pieces = forest.pieces(scores, with_tokens)
    of_pieces, pull_pieces = pieces.structure.score(pieces.scores, y[pieces.tokens])
    expected, pull_expected = forest.score(scores, y)
    sums = np.bincount(pieces.sequence, of_pieces, minlength=forest.n_units)
    assert_allclose(sums, expected, rtol=1e-5, atol=1e-4)
    gradient = pieces.pullback(pull_pieces(weight[pieces.sequence]))
    assert_same(gradient, pull_expected(weight), 1e-5)


def test_pieces_are_the_links_and_the_tokens_without_links():
    forest = Forest(np.array([0, 4, 4, 5]), np.array([2, 2, -1, 1, -1]))
    pieces = forest.pieces(Scores.of(np.zeros((5, 2)), np.zeros((2, 2))))
    cuts = itertools.pairwise(pieces.structure.offsets)
    assert [pieces.tokens[a:b].tolist() for a, b in cuts] == [[2, 0], [2, 1], [1, 3], [4]]
    assert pieces.sequence.tolist() == [0, 0, 0, 2]


@given(forests(MODERATE))
def test_local_probabilities(case):
    offsets, parent, scores = case
    forest = Forest(offsets, parent)
    y = np.random.default_rng(0).integers(len(scores.transition), size=forest.n_tokens)
    state = np.array(scores.state, dtype=float)
    state[forest.first_tokens()] += scores.begin
    state[forest.last_tokens()] += scores.end
    expected = np.zeros(forest.n_units)
    unit = np.repeat(np.arange(forest.n_units), np.diff(offsets))
    for t, p in enumerate(parent):
        labels, row = np.arange(len(scores.transition)), state[t]
        if p >= 0:
            into = np.full(len(labels), t), np.full(len(labels), y[p]), labels
            row = row + scores.of_transitions(*into)
        with np.errstate(invalid="ignore"):
            expected[unit[t]] += row[y[t]] - np.logaddexp.reduce(row)
    expected[np.isnan(expected)] = -np.inf
    assert_allclose(forest.score(forest.locally_normalised(scores), y)[0], expected, atol=1e-5)


def test_nothing_is_left_to_normalise():
    rng = np.random.default_rng(0)
    offsets = np.array([0, 9, 9, 10, 30])
    scores = Scores.of(rng.normal(size=(30, 4)), rng.normal(size=(4, 4)), *rng.normal(size=(2, 4)))
    forest = Forest(offsets, random_parents(offsets, rng, 0.2))
    log_z, _ = forest.log_partition(forest.locally_normalised(scores))
    assert_allclose(log_z, 0.0, atol=1e-12)


@settings(max_examples=20)
@given(forests(MODERATE))
def test_labellings_are_drawn_as_often_as_they_are_likely(case):
    forest, enumerated, scores, _ = both(case)
    assume(np.isfinite(forest.log_partition(scores)[0]).all())
    n_samples, n_labels = 2000, len(scores.transition)
    y = forest.sample(scores, n_samples, np.random.default_rng(0))
    assert y.shape == (n_samples, forest.n_tokens) and y.dtype == np.int32
    log_z = enumerated.log_partition(scores)[0]
    for u, (a, b) in enumerate(itertools.pairwise(forest.offsets)):
        found, counts = np.unique(y[:, a:b] @ n_labels ** np.arange(b - a), return_counts=True)
        drawn = np.zeros((len(found), forest.n_tokens), dtype=int)
        drawn[:, a:b] = found[:, None] // n_labels ** np.arange(b - a) % n_labels
        score = np.array([enumerated.score(scores, labels)[0][u] for labels in drawn])
        expected = n_samples * np.exp(score - log_z[u])
        assert (np.abs(counts - expected) <= 7 * np.sqrt(expected) + 7).all()


def test_an_impossible_unit_is_named():
    state = np.zeros((3, 2))
    state[2] = -np.inf
    forest = Forest(np.array([0, 2, 3]), np.array([1, -1, -1]))
    with pytest.raises(ValueError, match="no labelling of unit 1 is possible"):
        forest.sample(Scores.of(state, np.zeros((2, 2))), 1, np.random.default_rng(0))


# A path is a chain


def as_path(offsets):
    parent = np.arange(-1, offsets[-1] - 1)
    parent[offsets[:-1][np.diff(offsets) > 0]] = -1
    return Forest(offsets, parent), Chain(offsets)


@given(chains(), st.randoms())
def test_a_path_is_a_chain_bit_for_bit(case, random):
    offsets, scores = case
    path, chain = as_path(offsets)
    y, weight = drawn_labels(offsets, scores, random), np.arange(1.0, len(offsets))
    assert path.is_sequential()
    for step in ((-1,), (1,), (-1, 1)):
        ours, theirs = (s.conditional_scores(scores, y, step)[0] for s in (path, chain))
        assert_array_equal(ours, theirs)
    ours, theirs = (s.score(scores, y) for s in (path, chain))
    assert_array_equal(ours[0], theirs[0])
    for a, b in zip(ours[1](weight), theirs[1](weight), strict=True):
        assert_array_equal(a, b)
    for a, b in zip(*(s.locally_normalised(scores)[:4] for s in (path, chain)), strict=True):
        assert_array_equal(a, b)
    ours, theirs = (s.pieces(scores, with_tokens=True) for s in (path, chain))
    assert_array_equal(ours.tokens, theirs.tokens)
    assert_array_equal(ours.scores.state, theirs.scores.state)


@pytest.mark.parametrize("lengths", [[3000], [40, 0, 1, 2, 60, 7]])
def test_a_path_is_a_chain(lengths):
    rng, offsets = np.random.default_rng(0), np.append(0, np.cumsum(lengths))
    path, chain = as_path(offsets)
    scores = Scores.of(rng.normal(size=(offsets[-1], 5)), rng.normal(size=(5, 5)))
    scores = scores._replace(begin=rng.normal(size=5), end=rng.normal(size=5))
    y, weight = rng.integers(5, size=offsets[-1]), rng.normal(size=len(lengths))
    slope, direction = rng.normal(size=scores.state.shape), random_direction(scores)
    assert_array_equal(path.maximum(scores)[1], chain.maximum(scores)[1])
    assert_array_equal(path.best_excluding(scores, y)[1], chain.best_excluding(scores, y)[1])
    for name, *arguments in (
        ("maximum",),
        ("best_excluding", y),
        ("entropy",),
        ("marginals",),
        ("log_partition",),
        ("log_partition_excluding", y),
        ("token_marginals",),
        ("covariance", direction),
    ):
        ours, theirs = (getattr(s, name)(scores, *arguments) for s in (path, chain))
        values = (ours, theirs) if name == "entropy" else (ours[0], theirs[0])
        assert_allclose(*values, rtol=1e-12, atol=1e-12)
        if callable(ours[-1]):
            of_values = slope if name == "token_marginals" else weight
            # The derivatives by transitions are sums over all tokens.
            atol = 1e-13 * offsets[-1]
            assert_same(ours[1](of_values), theirs[1](of_values), max(atol, 1e-12), rtol=1e-10)


# Extreme shapes and scores


def test_a_star_of_ten_thousand_leaves():
    n, rng = 10_000, np.random.default_rng(0)
    state, transition = rng.normal(size=(n + 1, 3)), rng.normal(size=(3, 3))
    scores = Scores.of(state, transition, *rng.normal(size=(2, 3)))
    forest = Forest(np.array([0, n + 1]), np.append(np.full(n, n), -1))
    messages = np.logaddexp.reduce(transition[:, None] + (state[:n] + scores.end), axis=2)
    of_root = state[n] + scores.begin + messages.sum(axis=1)
    log_z, marginals = forest.marginals(scores)
    assert_allclose(log_z, np.logaddexp.reduce(of_root), rtol=1e-13)
    assert_allclose(marginals[n], np.exp(of_root - log_z), atol=1e-8)
    assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-10)
    value, y = forest.maximum(scores)
    best = (transition[:, None] + (state[:n] + scores.end)).max(axis=2).sum(axis=1)
    assert_allclose(value, (state[n] + scores.begin + best).max(), rtol=1e-13)
    second, _ = forest.best_excluding(scores, y)
    others, _ = forest.log_partition_excluding(scores, y)
    assert second <= value and second < others < log_z + 1e-9
    assert 0 < forest.entropy(scores)[0] < (n + 1) * np.log(3)


def test_a_deep_path_among_small_trees():
    rng, n_trees = np.random.default_rng(0), 300
    offsets = np.append([0, 3000], 3000 + 3 * np.arange(1, n_trees + 1))
    parent = np.append(np.append(np.arange(1, 3000), -1), np.full(3 * n_trees, -1))
    parent[3001::3] = parent[3002::3] = 3000 + 3 * np.arange(n_trees)
    scores = Scores.of(rng.normal(size=(offsets[-1], 4)), rng.normal(size=(4, 4)))
    forest = Forest(offsets, parent)
    log_z, gradient = forest.log_partition_and_gradient(scores, np.ones(n_trees + 1))
    assert_allclose(gradient.state.sum(axis=1), 1.0, rtol=1e-12)
    chain = Chain(np.array([0, 3000]))
    backwards = scores._replace(state=scores.state[2999::-1].copy())
    backwards = backwards._replace(
        token_transitions=scores.token_transitions._replace(row=scores.token_transitions.row[:3000])
    )
    assert_allclose(log_z[0], chain.log_partition(backwards)[0][0], rtol=1e-13)
    alone = forest.take(np.array([200])).log_partition(scores.tokens(slice(*offsets[200:202])))[0]
    assert_array_equal(alone, log_z[200:201])


@pytest.mark.parametrize("gap", [1.0, 50.0, 2000.0])
def test_nothing_cancels_where_the_given_labelling_outweighs_all_others(gap):
    y = np.array([0, 1, 2, 2, 1, 0])
    scores = Scores.of(np.zeros((6, 3)), np.zeros((3, 3)))
    scores.state[np.arange(6), y] = gap
    parent = np.array([-1, 0, 0, 1, 1, -1])
    forest, offsets = Forest(np.array([0, 6]), parent), np.array([0, 6])
    value, pullback = forest.log_partition_excluding(scores, y)
    expected = Enumerated(offsets, *forest.links()).log_partition_excluding(scores, y)[0]
    assert_allclose(value, expected, rtol=1e-12)
    gradient = pullback(np.ones(1))
    assert_allclose(gradient.state.sum(axis=1), 1.0)
    if gap > 40.0:
        # Only one token is wrong, and none rather than another.
        assert_allclose(gradient.state[np.arange(6), y], 5 / 6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_impossible_and_improper_units_spoil_no_other(dtype):
    rng, offsets = np.random.default_rng(0), np.array([0, 3, 6, 6, 9, 12])
    parent = np.array([1, -1, 1, -1, 3, 3, -1, 6, 7, -1, 9, 9])
    scores = Scores.of(rng.normal(size=(12, 3)).astype(dtype), rng.normal(size=(3, 3)))
    scores.state[4] = -np.inf
    scores.state[8, 1] = np.nan
    scores.state[10, 0] = np.inf
    forest, y, good = Forest(offsets, parent), np.zeros(12, dtype=int), slice(0, 3)
    alone = forest.take(slice(0, 1))
    of_one = scores.tokens(good)._replace(state=scores.state[good])
    values = {
        name: getattr(forest, name)(scores, *arguments)[0]
        for name, *arguments in (
            ("log_partition",),
            ("maximum",),
            ("marginals",),
            ("best_excluding", y),
            ("log_partition_excluding", y),
        )
    }
    for name, value in values.items():
        excludes = "excluding" in name
        assert_array_equal(value[1:3], [-np.inf, -np.inf if excludes else 0.0])
        assert np.isnan(value[3:]).all()
        own = getattr(alone, name)(of_one, *([y[good]] if excludes else []))[0]
        assert_array_equal(value[:1], own)
    gradient = forest.log_partition(scores)[1](np.array([1.0, 1.0, 1.0, 0.0, 0.0]))
    assert all(np.isfinite(part).all() for part in gradient)
    assert_array_equal(gradient.state[3:6], 0.0)
    entropy, direction = forest.entropy(scores), random_direction(scores)
    mean, pullback = forest.covariance(scores, direction)
    assert_array_equal(np.isnan(entropy[:3]), [False, True, False])
    assert_array_equal(np.isnan(mean[:3]), [False, True, False])
    assert_array_equal(pullback(np.array([1.0, 1.0, 1.0, 0.0, 0.0])).state[3:6], 0.0)


def test_one_label():
    forest = Forest(np.array([0, 3, 3, 4]), np.array([1, -1, 1, -1]))
    scores, y = Scores.of(np.arange(4.0)[:, None], np.ones((1, 1))), np.zeros(4, dtype=int)
    assert_allclose(forest.log_partition(scores)[0], [5.0, 0.0, 3.0])
    assert_allclose(forest.maximum(scores)[0], [5.0, 0.0, 3.0])
    assert_array_equal(forest.best_excluding(scores, y)[0], -np.inf)
    assert_array_equal(forest.best_excluding(scores, y)[1], y)
    value, pullback = forest.log_partition_excluding(scores, y)
    assert_array_equal(value, -np.inf)
    assert_same(pullback(np.ones(3)), ScoreGradient.zeros(scores), 0.0)
    assert_array_equal(forest.entropy(scores), 0.0)


@pytest.mark.parametrize("offsets", [np.zeros(1, dtype=int), np.zeros(3, dtype=int)])
def test_no_tokens(offsets):
    forest, nothing = Forest(offsets, np.empty(0, dtype=int)), np.empty(0, dtype=int)
    scores = Scores.of(np.zeros((0, 2)), np.zeros((2, 2)))
    assert_array_equal(forest.log_partition(scores)[0], np.zeros(len(offsets) - 1))
    assert_array_equal(forest.maximum(scores)[0], np.zeros(len(offsets) - 1))
    assert_array_equal(forest.entropy(scores), np.zeros(len(offsets) - 1))
    assert_array_equal(
        forest.best_excluding(scores, nothing)[0], np.full(len(offsets) - 1, -np.inf)
    )
    value, pullback = forest.log_partition_excluding(scores, nothing)
    assert_array_equal(value, np.full(len(offsets) - 1, -np.inf))
    assert_same(pullback(np.ones(len(value))), ScoreGradient.zeros(scores), 0.0)
    marginals, pullback = forest.token_marginals(scores)
    assert_same(pullback(marginals), ScoreGradient.zeros(scores), 0.0)
    assert forest.sample(scores, 2, np.random.default_rng(0)).shape == (2, 0)
    assert forest.pieces(scores).structure.n_units == 0


def test_ties_go_to_the_lowest_label():
    forest = Forest(np.array([0, 4]), np.array([1, -1, 1, -1]))
    assert_array_equal(forest.maximum(Scores.of(np.zeros((4, 3)), np.zeros((3, 3))))[1], 0)


# Units, and errors


def test_what_is_taken_has_its_own_parents():
    forest = Forest(np.array([0, 3, 3, 5, 6]), np.array([1, -1, 1, -1, 3, -1]))
    taken = forest.take(np.array([2, 3, 0]))
    assert_array_equal(taken.offsets, [0, 2, 3, 6])
    assert_array_equal(taken.parent, [-1, 0, -1, 4, -1, 4])
    run = forest.take(slice(1, 3))
    assert_array_equal(run.offsets, [0, 0, 2])
    assert_array_equal(run.parent, [-1, 0])
    assert run.is_sequential() and not forest.is_sequential()
    assert_array_equal(forest.links(), [[1, 1, 3], [0, 2, 4]])
    assert_array_equal(forest.first_tokens(), [1, 3, 5])
    assert_array_equal(forest.last_tokens(), [0, 2, 4, 5])


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ([-1, 0, 3, 2], "the parents of unit 1 make a cycle"),
        ([0, -1, -1, -1], "the parents of unit 0 make a cycle"),
        ([-1, 2, -1, -1], r"parent: token 1 of unit 0 has the parent 2, which is no token"),
        ([-1, 0, -1, -2], r"parent: token 1 of unit 1 has the parent -2, which is no token"),
        ([-1, 0, -1], "parent has 3 elements, but there are 4 tokens"),
    ],
)
def test_parents_that_make_no_trees(parent, message):
    with pytest.raises(ValueError, match=message):
        Forest(np.array([0, 2, 4]), np.array(parent))


@pytest.mark.parametrize("name", ["k_best", "span_log_probability", "span_margin"])
def test_what_forests_do_not_have(name):
    forest = Forest(np.array([0, 1]), np.array([-1]))
    assert not forest.can(name)
    with pytest.raises(Unsupported, match=f"^Forest does not have {name}$"):
        getattr(forest, name)(None, *[None] * (1 if name == "k_best" else 3))
