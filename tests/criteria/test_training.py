"""Linear-chain CRFs trained by every criterion."""

from functools import cache

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, MaxMarginCRF
from sklearn_crcrf.criteria import CRITERIA, MCE, MCEF1, MaxMargin, log_loss
from sklearn_crcrf.feature_extraction import SequenceVectorizer
from sklearn_crcrf.metrics import token_accuracy

rng = np.random.default_rng(0)
every_name = for_each("name", CRITERIA)


def draw_sentence(length):
    """Words that tell the label, but for one that begins or continues a segment."""
    labels = ["O"]
    for _ in range(length):
        labels.append(str(rng.choice(["O", "B-X"] if labels[-1] == "O" else ["O", "B-X", "I-X"])))
    labels = labels[1:]
    words = [label if label == "O" or rng.random() < 0.7 else "X" for label in labels]
    return words, labels


X, y = zip(*(draw_sentence(n) for n in rng.integers(1, 8, size=40)), strict=True)
X, y = list(X), list(y)


@every_name
def test_every_criterion_learns(name):
    crf = CRF(name, sigma=3.0).fit(X, y)
    most_frequent = np.mean([label == "O" for labels in y for label in labels])
    assert token_accuracy(y, crf.predict(X)) > max(0.8, most_frequent + 0.1)
    assert crf.loss_curve_[-1] <= crf.loss_curve_[0]


@every_name
def test_a_weight_is_a_number_of_repetitions(name):
    repetitions = np.random.default_rng(1).integers(0, 3, size=len(X))
    options = {"sigma": 2.0, "max_iter": 3}
    with pytest.warns(UserWarning, match="did not converge"):
        weighted = CRF(name, **options).fit(X, y, sample_weight=repetitions)
    repeated = np.repeat(np.arange(len(X)), repetitions)
    with pytest.warns(UserWarning, match="did not converge"):
        twice = CRF(name, **options).fit([X[s] for s in repeated], [y[s] for s in repeated])
    assert_allclose(weighted.loss_curve_, twice.loss_curve_, rtol=1e-4)


def test_criteria_are_a_parameter_of_a_search():
    model = make_pipeline(SequenceVectorizer(), CRF(sigma=3.0))
    criteria = ["log_loss", "max_margin", "mce"]
    search = GridSearchCV(model, {"crf__criterion": criteria}, cv=2, error_score="raise")
    search.fit(X, y)
    assert (search.cv_results_["mean_test_score"] > 0).all()


def test_the_margin_is_trained_on_dense_rows():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 8))
    y = [rng.integers(3, size=n) for n in rng.integers(2, 9, size=60)]
    X = [centers[labels] + 0.3 * rng.normal(size=(len(labels), 8)) for labels in y]
    crf = CRF("max_margin", tol=1e-3).fit(X, [labels.tolist() for labels in y])
    assert crf.n_iter_ > 0
    assert crf.score(X, [labels.tolist() for labels in y]) > 0.99


def test_stochastic_descent_comes_near_to_the_maximal_margin():
    certified = MaxMarginCRF(C=9.0, tol=1e-3, max_iter=2000, random_state=0).fit(X, y)
    crf = CRF("max_margin", sigma=3.0, solver="sgd", max_iter=300, random_state=0).fit(X, y)
    assert certified.loss_curve_[-1] < 1.001 * crf.loss_curve_[-1]
    assert crf.loss_curve_[-1] < 1.08 * certified.loss_curve_[-1]


# How far above the minimum they may end, relative to it.
DISTANCES = {
    "owlqn": 1e-4,
    "cg": 1e-4,
    "newton-cg": 1e-4,
    "rprop": 1e-3,
    "quickprop": 1e-3,
    "sgd": 2e-2,
}
CONVEX = {
    **{name: CRITERIA[name] for name in CRITERIA if CRITERIA[name].convex},
    "mce": MCE("logistic", psi=2.0),
}


@cache
def minimum_of(name):
    return CRF(CONVEX[name], sigma=3.0, tol=1e-9).fit(X, y).loss_curve_[-1]


@pytest.mark.parametrize("solver", DISTANCES)
@pytest.mark.parametrize("name", [name for name in CONVEX if name != "max_margin"])
def test_all_solvers_find_the_minimum_of_a_smooth_convex_criterion(name, solver):
    criterion = CONVEX[name]
    crf = CRF(criterion, sigma=3.0, solver=solver, random_state=0)
    if solver == "newton-cg" and not criterion.has_curvature:
        with pytest.raises(ValueError, match="needs a criterion with curvature"):
            crf.fit(X, y)
    else:
        assert_allclose(crf.fit(X, y).loss_curve_[-1], minimum_of(name), rtol=DISTANCES[solver])


@for_each("name", [name for name in CRITERIA if name != "log_loss"])
def test_iterative_scaling_is_for_the_log_loss(name):
    with pytest.raises(ValueError, match="is for the log loss only"):
        CRF(name, solver="gis").fit(X, y)


@pytest.mark.parametrize(
    ("tokens", "labels", "message"),
    [
        ([["a", "b"]], [["O", None]], "not known"),
        ([[{"a": -1.0}, "b"]], [["O", "B-X"]], "negative"),
    ],
)
def test_what_iterative_scaling_needs(tokens, labels, message):
    with pytest.raises(ValueError, match=message):
        CRF(solver="gis").fit([*X, *tokens], [*y, *labels])


@for_each("criterion", [MaxMargin(), MCE(), MCE("logistic"), MCEF1()])
@for_each("sigma", [1.0, 5.0])
def test_labels_that_tie_are_no_failure(criterion, sigma):
    # At the maximum of the likelihood, labels that are told apart by nothing tie.
    tokens = [["Peter", "lives", "in", "Ghent"], ["she", "works"]]
    labels = [["B-PER", "O", "O", "B-LOC"], ["O", "O"]]
    crf = CRF(criterion, sigma=sigma).fit(tokens, labels)
    assert crf.converged_
    assert crf.loss_curve_[-1] < crf.loss_curve_[0]


def loss_of(structure, scores, y):
    return log_loss(structure, scores, y)[0]


@for_each(
    "criterion, message",
    [
        (lambda *of: (loss_of(*of), lambda weight, out=None: None), "pullback .* not None"),
        (lambda *of: (loss_of(*of), None), "must return the losses and a pullback"),
        (lambda *of: None, "must return the losses and a pullback"),
        (lambda *of: (loss_of(*of)[:1], log_loss(*of)[1]), "a real number for each of"),
        (lambda *of: (1j * loss_of(*of), log_loss(*of)[1]), "a real number for each of"),
    ],
)
def test_criteria_of_the_user_are_checked(criterion, message):
    for solver in ("lbfgs", "sgd"):
        with pytest.raises(ValueError, match=message):
            CRF(criterion=criterion, solver=solver).fit(X, y)
