"""What a criterion may say of itself, and how CRF follows it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_crcrf import CRF
from sklearn_crcrf.criteria import Criterion, log_loss

rng = np.random.default_rng(0)
X = [rng.normal(size=(n, 4)) for n in rng.integers(1, 7, size=30)]
y = [["ABC"[k] for k in (x[:, :3] + rng.normal(size=(len(x), 3))).argmax(axis=1)] for x in X]


class Scaled(Criterion):
    """The log loss times a factor."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def __call__(self, structure, parts, y):
        loss, pullback = log_loss(structure, parts, y)
        return self.factor * loss, lambda weight, out=None: pullback(self.factor * weight, out)


class MeanSquare(Criterion):
    """n * (sum of losses / n)^2, which needs the sum over all sequences."""

    def __call__(self, structure, parts, y):
        loss, pullback = log_loss(structure, parts, y)
        counts = np.stack([np.ones(len(loss)), loss], axis=1)
        return counts, lambda weight, out=None: pullback(weight[:, 1], out)

    def combine(self, totals):
        n, loss = totals
        return loss**2 / n, np.array([-((loss / n) ** 2), 2 * loss / n])


class Picky(Criterion):
    """Not convex; sees the labels."""

    convex, decoding, solver = False, "marginal", "sgd"

    def __call__(self, structure, parts, y):
        raise AssertionError("this is the criterion of no labels")

    def for_labels(self, classes):
        self.classes = list(classes)
        return log_loss


def without_array(structure, parts, y):
    """The log loss, whose derivatives are always in arrays of their own."""
    loss, pullback = log_loss(structure, parts, y)
    return loss, lambda weight, out=None: pullback(weight)


@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
def test_a_criterion_need_not_use_the_array_for_its_derivatives(solver):
    options = {"solver": solver, "tol": 1e-4, "random_state": 0}
    assert_allclose(CRF(without_array, **options).fit(X, y).coef_, CRF(**options).fit(X, y).coef_)


def test_parameters_of_a_criterion_are_those_of_a_search():
    search = GridSearchCV(
        CRF(Scaled()), {"criterion__factor": [0.01, 4.0], "sigma": [1.0, 2.0]}, cv=2
    )
    search.fit(X, y)
    twice = clone(search.best_estimator_).fit(X, y)
    factor, sigma = twice.criterion.factor, twice.sigma
    plain = CRF(sigma=sigma * factor**0.5, tol=1e-9).fit(X, y)
    assert_allclose(twice.coef_, plain.coef_, atol=2e-2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_criterion_may_combine_sums_over_all_sequences(n_jobs):
    crf = CRF(MeanSquare(), sigma=0.7, tol=1e-12, n_jobs=n_jobs).fit(X, y)
    # At its optimum the derivative of the log loss counts 2 * mean loss times.
    probabilities = crf.predict_proba(X)
    onehot = [[[label == c for c in "ABC"] for label in labels] for labels in y]
    gradient = sum(
        x.T @ (p - np.array(gold)) for x, p, gold in zip(X, probabilities, onehot, strict=True)
    )
    loss = crf.loss_curve_[-1] - (crf.coef_**2).sum() / 0.98 - (crf.transitions_**2).sum() / 0.98
    mean = np.sqrt(loss / len(X))
    assert_allclose(2 * mean * gradient + crf.coef_ / 0.49, 0.0, atol=1e-3)
    stochastic = CRF(MeanSquare(), sigma=0.7, solver="sgd", tol=1e-3, random_state=0)
    assert stochastic.fit(X, y).loss_curve_[-1] < 1.3 * crf.loss_curve_[-1]


def test_validation_of_a_combining_criterion_is_per_sequence():
    crf = CRF(MeanSquare(), sigma=0.7, validation_fraction=0.3, random_state=0).fit(X, y)
    assert 0 < min(crf.validation_curve_) < 10


def test_criteria_that_are_not_convex_start_from_the_maximum_of_the_likelihood():
    with pytest.warns(UserWarning, match="did not converge"):
        crf = CRF(Picky(), max_iter=0).fit(X, y)
    assert crf.criterion.classes == ["A", "B", "C"]
    assert_allclose(crf.coef_, CRF().fit(X, y).coef_)
    marginal = CRF(decoding="marginal").fit(X, y)
    assert crf.predict(X).tolist() == marginal.predict(X).tolist()


def test_another_estimator_may_be_the_start():
    with pytest.warns(UserWarning, match="did not converge"):
        crf = CRF(init=CRF(sigma=0.5), max_iter=0).fit(X, y)
    assert_allclose(crf.coef_, CRF(sigma=0.5).fit(X, y).coef_)
