"""OWL-QN against other solvers of the same problems."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso, LogisticRegression
from solver_problems import logistic, quadratic

from sklearn_crcrf.solvers import lbfgs, owlqn

# How the L1 penalty is chosen depends on the version.
IS_OLD = LogisticRegression().penalty == "l2"
L1 = {"penalty": "l1"} if IS_OLD else {"l1_ratio": 1.0}


@pytest.mark.parametrize("c1", [0.3, 3.0, 20.0])
def test_sparse_logistic_regression_is_that_of_scikit_learn(c1):
    X, y, fun = logistic()
    result = owlqn(fun, np.zeros(X.shape[1]), c1=c1, tol=1e-12)
    options = {"fit_intercept": False, "tol": 1e-8, "max_iter": 50_000}
    model = LogisticRegression(C=1 / c1, solver="liblinear", **L1, **options).fit(X, y)
    assert result.success
    assert_allclose(result.x, model.coef_[0], atol=1e-4)
    assert_array_equal(result.x == 0, model.coef_[0] == 0)
    assert result.fun == pytest.approx(fun(result.x)[0] + c1 * abs(result.x).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lasso_is_that_of_scikit_learn(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 100)).astype(dtype)
    y = (X[:, :5] @ np.arange(1, 6) + rng.normal(size=60)).astype(dtype)

    def fun(x):
        rest = X @ x - y
        return 0.5 * float(rest @ rest), X.T @ rest

    result = owlqn(fun, np.zeros(100, dtype=dtype), c1=12.0, tol=1e-10)
    theirs = Lasso(alpha=12.0 / 60, fit_intercept=False, tol=1e-10, max_iter=100_000)
    theirs.fit(X.astype(float), y.astype(float))
    assert result.success and result.x.dtype == dtype
    assert 5 <= np.count_nonzero(result.x) < 50
    assert_allclose(result.x, theirs.coef_, atol=1e-3 if dtype == np.float32 else 1e-5)


@given(st.integers(0, 2**32 - 1))
def test_separable_minimum(seed):
    """Of curvature / 2 (x - m)**2 + c1 |x| the minimum is m, drawn in by c1 / curvature."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 20)
    curvature, m = rng.uniform(0.5, 20.0, n), rng.normal(size=n)
    c1 = rng.choice([0.0, 0.5, 5.0], n)

    def fun(x):
        return float(0.5 * curvature @ (x - m) ** 2), curvature * (x - m)

    result = owlqn(fun, rng.normal(size=n), c1=c1, tol=0.0)
    assert result.success
    expected = np.sign(m) * np.maximum(abs(m) - c1 / curvature, 0.0)
    assert_allclose(result.x, expected, atol=1e-5)


def test_the_objective_never_rises_and_the_pseudo_gradient_vanishes():
    _, _, fun = logistic()
    losses = []
    result = owlqn(
        fun, np.ones(12), c1=2.0, tol=0.0, callback=lambda state: losses.append(state.fun)
    )
    assert (np.diff(losses) <= 0).all()
    assert_allclose(result.jac, 0.0, atol=1e-4)


def test_without_penalty_it_finds_what_lbfgs_finds():
    fun = quadratic(20, condition=100.0)
    smooth, sparse = lbfgs(fun, np.zeros(20), tol=0), owlqn(fun, np.zeros(20), c1=0, tol=0)
    assert_allclose(smooth.x, sparse.x, atol=1e-6)


def test_a_heavy_penalty_leaves_nothing():
    result = owlqn(quadratic(10), np.zeros(10), c1=1e3)
    assert (result.nit, result.success) == (0, True)
    result = owlqn(quadratic(10), np.ones(10), c1=1e3)
    assert result.success
    assert_array_equal(result.x, 0.0)


@pytest.mark.parametrize("c1", [-1.0, np.nan, np.inf, [1.0, -1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]])
def test_bad_penalties(c1):
    with pytest.raises(ValueError, match="c1"):
        owlqn(quadratic(2), np.zeros(2), c1=c1)


def test_a_penalty_of_more_than_64_bits():
    result = owlqn(lambda x: (x @ x, 2 * x), np.ones(2), c1=2**70)
    assert result.x.tolist() == [0.0, 0.0]


def rare_attributes():
    """A logistic loss of many attributes, each in few rows, and the attributes."""
    rng = np.random.default_rng(0)
    signs = np.where(rng.integers(2, size=400), 1.0, -1.0)
    X = (rng.random((400, 1500)) < 0.02) * signs[:, None]

    def fun(x, X=X):
        margins = X @ x
        return float(np.logaddexp(0.0, -margins).sum()), -X.T @ (1.0 / (1.0 + np.exp(margins)))

    return fun, X


def test_weights_may_go_against_the_pseudo_gradient_after_the_first_iterations():
    fun, _ = rare_attributes()
    n_evaluations = {}
    for n_aligned in (100, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys.modules["sklearn_crcrf.solvers.owlqn"], "ALIGNED", n_aligned)
            result = owlqn(fun, np.zeros(1500), c1=0.1, tol=1e-7)
        n_evaluations[n_aligned] = result.nfev
    assert n_evaluations[100] < 0.75 * n_evaluations[10**6]


@pytest.mark.parametrize("narrows", [False, True])
def test_after_the_first_iterations_weights_that_stay_zero_are_left_out(narrows):
    fun, X = rare_attributes()
    told, narrowed, points = [], [], []

    def narrow(moving):
        moving[:7] = True
        narrowed.append(moving.sum())
        return lambda x: fun(x, X[:, moving]), moving

    def callback(state):
        told.append((state.nit, state.fun, fun(state.x)[0] + 0.1 * abs(state.x).sum()))
        points.append(state.x)

    options = {"narrow": narrow} if narrows else {}
    result = owlqn(fun, np.zeros(1500), c1=0.1, tol=1e-9, callback=callback, **options)
    assert [nit for nit, *_ in told] == list(range(1, result.nit + 1))
    assert_allclose([loss for _, loss, _ in told], [loss for *_, loss in told])
    assert_array_equal(points[-1], result.x)
    loss, gradient = fun(result.x)
    assert result.fun == pytest.approx(loss + 0.1 * abs(result.x).sum())
    is_zero = result.x == 0
    assert (abs(gradient[is_zero]) <= 0.1).all()
    assert_allclose(gradient[~is_zero], -0.1 * np.sign(result.x[~is_zero]), atol=1e-3)
    assert not narrows or max(narrowed) < 1500


def test_weights_that_were_left_out_come_back(monkeypatch):
    """The second weight moves only when the first one, which steps by 1 at first, is above 2.5."""
    monkeypatch.setattr(sys.modules["sklearn_crcrf.solvers.owlqn"], "ALIGNED", 1)
    matrix = np.array([[1e4, -0.2], [-0.2, 1.0]])

    def fun(x):
        return float(0.5 * x @ matrix @ x - 3e4 * x[0]), matrix @ x - [3e4, 0.0]

    result = owlqn(fun, np.zeros(2), c1=0.5, tol=0.0)
    assert result.success
    assert_allclose(result.x, np.linalg.solve(matrix, [3e4 - 0.5, -0.5]), atol=1e-4)


def test_a_run_may_end_in_either_part():
    fun, _ = rare_attributes()
    for most in (0, 30, 100, 101, 130):
        result = owlqn(fun, np.zeros(1500), c1=0.1, tol=0.0, max_iter=most)
        assert (result.nit, result.success) == (most, False)

    def stop(state):
        if state.nit == 120:
            raise StopIteration

    result = owlqn(fun, np.zeros(1500), c1=0.1, tol=0.0, callback=stop)
    assert (result.nit, result.success, result.message) == (120, True, "stopped by the callback")
