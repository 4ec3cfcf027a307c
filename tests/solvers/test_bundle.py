"""Bundles of cutting planes, and lower bounds of weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import Bounds, minimize
from solver_problems import logistic, quadratic

from sklearn_crcrf.solvers import bounded_lbfgs, bundle

SIGMA = 0.7


def hinge(n=40, n_weights=6, seed=0):
    """The hinge loss of samples, with the penalty; it has kinks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_weights))
    y = np.where(X @ rng.normal(size=n_weights) + rng.normal(size=n) > 0, 1.0, -1.0)

    def fun(x):
        margin = 1 - y * (X @ x)
        loss = np.maximum(margin, 0).sum() + x @ x / (2 * SIGMA**2)
        return float(loss), x / SIGMA**2 - X.T @ (y * (margin > 0))

    def least(lower):
        """The minimum, by a smooth problem with a variable for each loss."""
        n_all = n_weights + n

        def smooth(z):
            w, slack = z[:n_weights], z[n_weights:]
            return w @ w / (2 * SIGMA**2) + slack.sum(), np.append(w / SIGMA**2, np.ones(n))

        constraint = {
            "type": "ineq",
            "fun": lambda z: z[n_weights:] - 1 + y * (X @ z[:n_weights]),
            "jac": lambda z: np.hstack([y[:, None] * X, np.eye(n)]),
        }
        bounds = Bounds(np.append(lower, np.zeros(n)), np.inf)
        start = np.append(np.zeros(n_weights), np.ones(n))
        options = {"maxiter": 500, "ftol": 1e-12}
        assert len(start) == n_all
        found = minimize(
            smooth,
            start,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[constraint],
            options=options,
        )
        return found.fun

    return fun, least


@pytest.mark.parametrize("n_bounded", [0, 3, 6])
def test_bundle_finds_the_minimum_and_knows_how_near_it_is(n_bounded):
    fun, least = hinge()
    lower = np.full(6, -np.inf)
    lower[:n_bounded] = 0.0
    result = bundle(fun, np.zeros(6), sigma=SIGMA, lower=lower, tol=1e-5)
    expected = least(lower)
    assert result.success and (result.x >= lower).all()
    assert -1e-8 <= result.fun - expected <= 1.01 * result.gap + 1e-8
    assert result.gap <= 1e-5 * result.fun


def test_bundle_of_a_smooth_loss():
    _, _, fun = logistic(sigma=SIGMA)
    expected = minimize(fun, np.zeros(12), jac=True).fun
    result = bundle(fun, np.zeros(12), sigma=SIGMA, tol=1e-4)
    assert result.success
    assert_allclose(result.fun, expected, rtol=1.1e-4)


def test_bundle_ends_at_max_iter():
    fun, _ = hinge()
    result = bundle(fun, np.zeros(6), sigma=SIGMA, max_iter=2, tol=0.0)
    assert not result.success and result.nit == 2
    assert result.fun == fun(result.x)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounded_lbfgs(dtype):
    fun = quadratic(5, condition=30.0)
    lower = np.array([0.0, -np.inf, 0.5, -np.inf, 0.0])
    found = bounded_lbfgs(fun, np.full(5, -1.0, dtype=dtype), lower=lower, tol=1e-12)
    expected = minimize(fun, np.ones(5), jac=True, method="L-BFGS-B", bounds=Bounds(lower, np.inf))
    assert found.x.dtype == dtype and (found.x >= lower).all()
    assert_allclose(found.fun, expected.fun, rtol=1e-5)


def test_bounded_lbfgs_without_bounds_is_lbfgs():
    fun = quadratic(5, condition=10.0)
    found = bounded_lbfgs(fun, np.zeros(5), lower=np.full(5, -np.inf), tol=1e-12)
    assert_allclose(found.x, fun.minimum, atol=1e-4)
