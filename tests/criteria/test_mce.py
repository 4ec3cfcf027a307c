"""Minimum classification error against the enumeration of all labellings."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains, drawn_labels, random_direction, shifted
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logsumexp
from sklearn.base import clone

from sklearn_crcrf.criteria import CRITERIA, MCE, log_loss
from sklearn_crcrf.criteria._misclassification import LARGEST
from sklearn_crcrf.structures import Chain, ScoreGradient, Scores

MILD = (1.0, 5.0)


def misclassification(scores, y, a, b, criterion):
    """d, from all labellings of a sequence."""
    psi, averaged, measure = criterion.psi, criterion.averaged, criterion.measure
    every, path_scores = oracle.paths(scores, a, b)
    if measure == "difference":
        path_scores = path_scores - logsumexp(path_scores)
    is_gold = np.array([path == tuple(y[a:b]) for path in every])
    others = path_scores[~is_gold]
    if psi == np.inf:
        soft = others.max(initial=-np.inf)
    else:
        soft = logsumexp(psi * others) / psi if len(others) else -np.inf
        soft -= np.log(max(len(others), 1)) / psi if averaged else 0.0
    gold = path_scores[is_gold][0]
    values = {
        "score": lambda: soft - gold,
        "difference": lambda: np.exp(soft) - np.exp(gold),
        "ratio": lambda: np.exp(np.minimum(soft - gold, LARGEST)),
    }
    return values[measure]()


criteria = st.builds(
    MCE,
    smoothing=st.sampled_from(["sigmoid", "logistic"]),
    slope=st.sampled_from([0.5, 1.0, 3.0]),
    offset=st.sampled_from([0.0, -0.7, 2.0]),
    psi=st.sampled_from([0.3, 1.0, 4.0, np.inf]),
    averaged=st.booleans(),
    measure=st.sampled_from(["score", "difference", "ratio"]),
)


@settings(max_examples=50)
@given(chains(), criteria, st.randoms())
def test_values_are_those_of_all_labellings(chain, criterion, random):
    offsets, scores = chain
    y = drawn_labels(offsets, scores, random)
    loss, _ = criterion(Chain(offsets), scores, y)
    # Scores of states may be in single precision.
    level = 1e-5 if scores.state.dtype == np.float32 else 1e-9
    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        with np.errstate(invalid="ignore", over="ignore"):
            d = misclassification(scores, y, a, b, criterion)
            exponent = criterion.slope * d + criterion.offset
            if criterion.smoothing == "sigmoid":
                expected = expit(exponent)
            else:
                expected = np.logaddexp(0.0, exponent) / criterion.slope
        # An error of the scores is a relative error of their ratio.
        rtol = 1e3 * level if criterion.measure == "ratio" else level
        assert_allclose(loss[s], expected, rtol=rtol, atol=1e3 * level)


@given(chains(scales=MILD, dtypes=(np.float64,)), criteria, st.randoms())
def test_gradients_are_quotients_of_differences(chain, criterion, random):
    offsets, scores = chain
    y = drawn_labels(offsets, scores, random)
    structure, weight = Chain(offsets), np.arange(1.0, len(offsets))
    loss, pullback = criterion(structure, scores, y)
    assume((loss < 1e6).all())  # where gold is impossible, the ratio has no bound
    if criterion.psi == np.inf:
        # Away from the kinks, where two others are equally good.
        for a, b in itertools.pairwise(offsets):
            every, path_scores = oracle.paths(scores, a, b)
            others = [
                s for path, s in zip(every, path_scores, strict=True) if path != tuple(y[a:b])
            ]
            best = np.sort(others)[-2:]
            assume(len(best) < 2 or best[0] == -np.inf or best[1] - best[0] > 1e-3)
    direction, step = random_direction(scores, seed=1), 1e-5
    slope = sum(
        np.vdot(counts, along) for counts, along in zip(pullback(weight), direction, strict=True)
    )
    ahead, behind = (
        weight @ criterion(structure, shifted(scores, direction, h), y)[0] for h in (step, -step)
    )
    difference = (ahead - behind) / (2 * step)
    assert_allclose(slope, difference, rtol=1e-5, atol=1e-7)


@given(chains(scales=(1.0, 30.0), dtypes=(np.float64,)), st.randoms())
def test_logistic_smoothing_of_all_others_is_the_log_loss(chain, random):
    offsets, scores = chain
    y = drawn_labels(offsets, scores, random)
    structure, weight = Chain(offsets), np.arange(1.0, len(offsets))
    with np.errstate(invalid="ignore"):
        expected, pull_expected = log_loss(structure, scores, y)
    assume(np.isfinite(expected).all())
    loss, pullback = MCE("logistic", psi=1.0)(structure, scores, y)
    assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(pullback(weight), pull_expected(weight), strict=True):
        assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("measure", ["difference", "ratio"])
def test_measures_of_probabilities_by_hand(measure):
    # Four labellings of two tokens with probabilities 1/2, 1/4, 1/6 and 1/12; gold is the second.
    scores = Scores.of(np.log([[3.0, 1.0], [2.0, 1.0]]), np.zeros((2, 2)))
    chain, y = Chain(np.array([0, 2])), np.array([0, 1])
    root = np.sqrt((36 + 4 + 1) / 144)  # of the squares of the others
    expected = {"difference": (1 / 4, root - 1 / 4), "ratio": (2.0, 4 * root)}[measure]
    for psi, d in zip((np.inf, 2.0), expected, strict=True):
        loss, _ = MCE(measure=measure, psi=psi)(chain, scores, y)
        assert_allclose(loss, expit(d))
        mean, _ = MCE(measure=measure, psi=psi, averaged=True)(chain, scores, y)
        if psi == 2.0:
            shift = root * (1 - np.sqrt(1 / 3)) * (4 if measure == "ratio" else 1)
            assert_allclose(mean, expit(d - shift))


def test_a_ratio_beyond_all_numbers_is_a_loss_of_one():
    state = np.zeros((3, 2))
    state[:, 1] = 1e4
    chain, scores = Chain(np.array([0, 3])), Scores.of(state, np.zeros((2, 2)))
    loss, pullback = MCE(measure="ratio")(chain, scores, np.zeros(3, dtype=int))
    assert_array_equal(loss, 1.0)
    assert_array_equal(pullback(np.ones(1)).state, 0.0)


def _batch(seed=0, n_labels=3):
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 3, 3, 4, 9])
    scores = Scores.of(rng.normal(size=(9, n_labels)), rng.normal(size=(n_labels, n_labels)))
    return Chain(offsets), scores, rng.integers(n_labels, size=9)


@pytest.mark.parametrize("averaged", [False, True])
def test_a_large_psi_is_like_an_infinite_one(averaged):
    chain, scores, y = _batch()
    soft, pull_soft = MCE(psi=1e5, averaged=averaged)(chain, scores, y)
    hard, pull_hard = MCE(averaged=averaged)(chain, scores, y)
    assert_allclose(soft, hard, atol=1e-4)
    for ours, theirs in zip(pull_soft(np.ones(4)), pull_hard(np.ones(4)), strict=True):
        assert_allclose(ours, theirs, atol=1e-4)


def test_a_steep_sigmoid_counts_wrong_sequences():
    chain, scores, y = _batch()
    best = chain.maximum(scores)[1]
    y[:3] = best[:3]
    wrong = [(best[a:b] != y[a:b]).any() for a, b in itertools.pairwise(chain.offsets)]
    assert_allclose(MCE(slope=1e6)(chain, scores, y)[0], wrong)
    assert wrong == [False, False, wrong[2], True]


def test_a_steep_logistic_function_is_a_hinge():
    chain, scores, y = _batch()
    gold = chain.score(scores, y)[0]
    other = chain.best_excluding(scores, y)[0]
    loss, _ = MCE("logistic", slope=1e6)(chain, scores, y)
    assert_allclose(loss, np.maximum(other - gold, 0.0), atol=1e-5)


def test_nothing_is_lost_where_the_gold_labelling_outweighs_the_others():
    state = np.zeros((6, 3))
    state[:, 0] = 100.0
    chain, scores = Chain(np.array([0, 6])), Scores.of(state, np.zeros((3, 3)))
    loss, pullback = MCE("logistic", slope=0.01, psi=2.0)(chain, scores, np.zeros(6, dtype=int))
    d = -100.0 + np.log(12) / 2
    assert_allclose(loss, np.log1p(np.exp(0.01 * d)) / 0.01)
    expected = np.tile([-1 / 6, 1 / 12, 1 / 12], (6, 1)) * expit(0.01 * d)
    assert_allclose(pullback(np.ones(1)).state, expected, atol=1e-12)


@pytest.mark.parametrize("criterion", [MCE(), MCE("logistic", psi=1.0), MCE(psi=2, averaged=True)])
def test_where_nothing_else_is_possible_there_is_no_loss(criterion):
    scores, chain = Scores.of(np.zeros((3, 1)), np.zeros((1, 1))), Chain(np.array([0, 2, 2, 3]))
    loss, pullback = criterion(chain, scores, np.zeros(3, dtype=int))
    assert_array_equal(loss, 0.0)
    for part in pullback(np.ones(3)):
        assert_array_equal(part, 0.0)


@pytest.mark.parametrize("criterion", [MCE(), MCE(psi=1.0)])
def test_weights_and_what_is_added_to(criterion):
    chain, scores, y = _batch()
    scores = scores._replace(state=scores.state.astype(np.float32))
    _, pullback = criterion(chain, scores, y)
    counts, weights = ScoreGradient.zeros(scores), np.array([0.5, 3.0, 0.0, 2.0])
    assert pullback(weights, counts) is counts
    assert counts.state.dtype == np.float32
    assert not counts.state[3].any()
    each = [pullback(np.where(np.arange(4) == s, weights, 0.0)) for s in range(4)]
    for total, *shares in zip(counts, *each, strict=True):
        assert_allclose(total, sum(shares), atol=1e-6)


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (MCE("step"), "smoothing must be one of sigmoid, logistic"),
        (MCE(measure="product"), "measure must be one of score, difference, ratio"),
        (MCE(slope=0.0), "slope must be positive"),
        (MCE(psi=-1.0), "psi must be positive"),
    ],
)
def test_bad_parameters(criterion, message):
    with pytest.raises(ValueError, match=message):
        criterion(*_batch())


def test_partial_labels_are_refused():
    chain, scores, _ = _batch()
    with pytest.raises(ValueError, match="MCE needs the label of every token"):
        MCE()(chain, scores, np.ones((9, 3), dtype=bool))


def test_traits_and_parameters():
    assert CRITERIA["mce"].get_params() == MCE().get_params()
    assert MCE("logistic").convex and not MCE().convex and not MCE(psi=1.0).convex
    assert MCE("logistic", psi=1.0).start == "zeros"
    assert MCE("logistic", measure="ratio").convex
    assert not MCE("logistic", measure="difference").convex
    assert MCE(psi=1.0).smooth and not MCE().smooth
    assert {MCE("logistic").start, MCE().start, MCE(psi=1.0).start} == {"log_loss"}
    assert clone(MCE("logistic", psi=2.0)).get_params()["psi"] == 2.0
