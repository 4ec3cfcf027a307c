"""Where training starts, and whether it ends anywhere else: every criterion, solver and start."""

import warnings

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import CRF, GraphArray, GraphCRF, SemiMarkovCRF
from sklearn_crcrf.criteria import CRITERIA, MCE, MCEF1, MaxMargin
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.crf import estimator
from sklearn_crcrf.estimators.crf.initial_weights import STARTS
from sklearn_crcrf.estimators.crf.solving import SOLVERS
from sklearn_crcrf.metrics import segment_f1

EVERY = {
    **CRITERIA,
    "logistic": MCE("logistic"),
    "ratio": MCE(measure="ratio"),
    "difference": MCE(measure="difference", psi=2.0),
    "literal F": MCEF1(contains="labels", false="gold", objective="odds"),
}
KINKED = [name for name, criterion in EVERY.items() if not criterion.smooth]
# A fall of less than this is within rounding.
LOWER = 1 - 1e-4


def addresses(n):
    """Return tokens of which the last letter and the next one say a part, and labels."""
    words, y = make_addresses(n, random_state=0)
    X = [
        [{"word": w, "last": w[-1], "next": v[:1]} for w, v in zip(s, [*s[1:], ""], strict=True)]
        for s in words
    ]
    return X, y


SMALL, MIDDLE, LARGE = addresses(4), addresses(20), addresses(60)
# Two sequences of the same tokens, of which none can be labelled better without the other.
TIED = [["a", "b"], ["a", "b"]], [["O", "B-X"], ["B-X", "O"]]


@pytest.fixture
def starts(monkeypatch):
    """Return the objectives at the points where solvers started."""
    found, solve = [], estimator.solve

    def watched(name, problem, x0, **options):
        loss, _ = problem.objective()(x0.copy())
        found.append(loss + options["c1"] * np.abs(x0).sum())
        return solve(name, problem, x0, **options)

    monkeypatch.setattr(estimator, "solve", watched)
    return found


def claims_too_much(crf, X, y, starts):
    """Whether training says that it has converged with the objective of its start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf.fit(X, y)
    return crf.converged_ and not min([np.inf, *crf.loss_curve_]) < LOWER * starts[-1]


@for_each("init", STARTS)
@for_each("solver", SOLVERS)
@pytest.mark.parametrize("name", EVERY)
def test_nothing_has_converged_where_it_started(name, solver, init, starts):
    crf = CRF(EVERY[name], 3.0, solver=solver, init=init, max_iter=12, random_state=0)
    crf.c1 = 1e-3 if solver == "owlqn" else 0.0
    try:
        assert not claims_too_much(crf, *SMALL, starts)
    except ValueError as error:
        assert "needs a c" in str(error) or "is for the log loss only" in str(error)


@for_each("solver", [name for name in SOLVERS if name not in ("gis", "bundle", "newton-cg")])
@pytest.mark.parametrize("name", KINKED)
def test_a_tie_of_all_labellings_is_no_minimum(name, solver, starts):
    crf = CRF(EVERY[name], 30.0, solver=solver, init="zeros", max_iter=12, random_state=0)
    crf.c1 = 1e-3 if solver == "owlqn" else 0.0
    claims_too_much(crf, *MIDDLE, starts)
    assert not crf.converged_ or min(crf.loss_curve_) < 0.5 * starts[-1]


def graphs(X):
    """Return the sequences as graphs whose edges are the pairs of neighbours."""
    return GraphArray.from_edges(X, [np.arange(len(x) - 1)[:, None] + [0, 1] for x in X])


@for_each("solver", ["lbfgs", "cg", "sgd", "gpd-quickprop", "rprop"])
@for_each("name", ["mce", "max_margin", "mce_f1"])
def test_nor_in_other_structures(name, solver, starts):
    X, y = SMALL
    options = {"solver": solver, "max_iter": 12, "random_state": 0}
    assert not claims_too_much(SemiMarkovCRF(name, 3.0, **options), X, y, starts)
    if name == "max_margin":
        crf = GraphCRF(name, 3.0, init="zeros", **options)
        assert not claims_too_much(crf, graphs(X), y, starts)


@for_each("solver", ["lbfgs", "cg", "quickprop"])
def test_the_warning_says_where_to_start(solver):
    with pytest.warns(
        ConvergenceWarning, match=r"start from .* the log loss \(init=\"log_loss\"\)"
    ):
        crf = CRF("mce", 30.0, init="zeros", solver=solver).fit(*TIED)
    assert not crf.converged_


@for_each("solver", ["sgd", "gpd-quickprop"])
@for_each("criterion", [MCE(), MCE("logistic"), MaxMargin(), MCEF1()])
def test_online_descent_leaves_the_tie(solver, criterion, starts):
    crf = CRF(criterion, 30.0, init="zeros", solver=solver, max_iter=20, random_state=0)
    claims_too_much(crf, *LARGE, starts)
    assert crf.loss_curve_[-1] < 0.8 * starts[-1]
    assert np.abs(crf.coef_).max() > 1e-2


def test_the_f_score_to_the_letter_is_trained_from_zeros():
    options = {"init": "zeros", "solver": "gpd-quickprop", "max_iter": 30, "random_state": 0}
    (X, y), scores = LARGE, {}
    for criterion in (EVERY["literal F"], MCEF1()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            predicted = CRF(criterion, 100.0, **options).fit(X, y).predict(X)
        scores[criterion.false] = segment_f1(y, predicted)
    assert scores["gold"] > 0.9 > scores["own"]  # own labels never raise "O"


def test_where_nothing_can_be_lost_the_start_is_the_minimum():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solver in ("lbfgs", "sgd", "rprop"):
            crf = CRF("mce", init="zeros", solver=solver, random_state=0).fit([["a"]], [["O"]])
            assert crf.converged_


@for_each("name", [name for name in CRITERIA if not CRITERIA[name].convex])
def test_the_bundle_is_for_convex_criteria(name):
    with pytest.raises(ValueError, match='solver="bundle" needs a convex criterion'):
        CRF(name, solver="bundle").fit(*SMALL)


def test_the_start_of_the_margin_by_the_bundle_may_be_its_minimum():
    crf = CRF("max_margin", solver="bundle", tol=1e-2).fit(*SMALL)
    again = CRF("max_margin", solver="bundle", tol=1e-2, init=crf).fit(*SMALL)
    assert crf.converged_ and again.converged_


def test_stopping_early_is_no_failure_of_smooth_criteria():
    crf = CRF("log_loss", 3.0, tol=1e-9).fit(*SMALL)
    again = CRF("log_loss", 3.0, init=crf).fit(*SMALL)
    assert again.converged_
    assert_array_equal(again.classes_, crf.classes_)
