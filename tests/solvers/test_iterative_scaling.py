"""Iterative scaling of a small log-linear model, against L-BFGS."""

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import logsumexp

from sklearn_crcrf.solvers import iterative_scaling, lbfgs
from sklearn_crcrf.solvers.iterative_scaling import _prior_step


class Model:
    """The likelihood of one of four paths for each of some sequences."""

    def __init__(self, n=80, n_weights=6, seed=0):
        rng = np.random.default_rng(seed)
        self.features = rng.integers(0, 3, (n, 4, n_weights)) * (rng.random((n, 4, 1)) < 0.8)
        self.gold = rng.integers(0, 4, n)
        self.known = {
            "empirical": self.features[np.arange(n), self.gold].sum(axis=0),
            "total": self.features.sum(axis=2).max(),
            "n_sequences": n,
        }

    def __call__(self, x):
        scores = self.features @ x
        log_z = logsumexp(scores, axis=1)
        expected = np.einsum("np,npk->k", np.exp(scores - log_z[:, None]), self.features)
        loss = log_z.sum() - scores[np.arange(len(log_z)), self.gold].sum()
        return loss, expected - self.known["empirical"]


def with_prior(fun, sigma):
    def penalised(x):
        loss, gradient = fun(x)
        return loss + x @ x / (2 * sigma**2), gradient + x / sigma**2

    return penalised


@for_each("sigma", [0.05, 1.0, 30.0, 1e5, np.inf])
def test_falls_monotonically_to_the_optimum_of_lbfgs(sigma):
    model = Model()
    losses = []
    found = iterative_scaling(
        model,
        np.full(6, 0.5),
        **model.known,
        sigma=sigma,
        tol=0.0,
        max_iter=20_000,
        callback=lambda state: losses.append(state.fun),
    )
    best = lbfgs(with_prior(model, sigma), np.zeros(6), tol=0.0)
    assert found.success
    assert (np.diff(losses) <= 1e-10).all()
    assert_allclose(found.x, best.x, atol=1e-4)
    assert found.fun == pytest.approx(best.fun, rel=1e-9)
    assert_allclose(found.jac, 0.0, atol=1e-3)


def test_single_precision():
    model = Model()
    found = iterative_scaling(model, np.zeros(6, dtype=np.float32), **model.known, sigma=1.0)
    best = lbfgs(with_prior(model, 1.0), np.zeros(6))
    assert found.x.dtype == found.jac.dtype == np.float32
    assert found.fun == pytest.approx(best.fun, rel=1e-3)


def test_what_does_not_occur_is_left_out():
    model = Model()
    model.features[np.arange(80), model.gold, 2] = 0
    model.known["empirical"][2] = 0
    x0 = np.array([0.0, 0.0, -0.7, 0.0, 0.0, 0.0])
    found = iterative_scaling(model, x0, **model.known, tol=0.0, max_iter=20_000)

    def held(x):
        loss, gradient = model(np.where(np.arange(6) == 2, x0, x))
        return loss, np.where(np.arange(6) == 2, 0.0, gradient)

    best = lbfgs(held, x0, tol=0.0)
    assert found.x[2] == -0.7 and found.jac[2] == 0.0
    assert_allclose(found.x, best.x, atol=1e-4)
    # With a prior it has an optimum like all others.
    found = iterative_scaling(model, x0, **model.known, sigma=2.0, tol=0.0, max_iter=20_000)
    assert_allclose(found.x, lbfgs(with_prior(model, 2.0), x0, tol=0.0).x, atol=1e-4)


@for_each("variance", [1e-4, 1.0, 1e10])
@for_each("total", [0.5, 300.0])
def test_step_with_a_prior_solves_its_equation(variance, total):
    rng = np.random.default_rng(0)
    empirical = np.append(rng.uniform(0, 1000, 20), [0.0, 0.0, 3.0])
    expected = np.append(10 ** rng.uniform(-12, 3, 20), [1e-300, 5.0, 0.0])
    x = rng.normal(size=23)
    step = _prior_step(empirical, expected, x, total, variance)
    for k in range(23):

        def rest(d, k=k):
            rise = expected[k] * np.exp(min(total * d, 700.0))
            return rise + (x[k] + d) / variance - empirical[k]

        root = brentq(rest, -1e4 - abs(x[k]), 1e14, xtol=1e-13, maxiter=500)
        assert step[k] == pytest.approx(root, abs=1e-9, rel=1e-6)


def test_no_slack_and_no_weight():
    """One feature that every path has cannot tell paths apart."""

    def fun(x):
        return 1.0, np.zeros_like(x)

    found = iterative_scaling(fun, np.zeros(1), empirical=[3], total=1, n_sequences=3)
    assert (found.success, found.nit) == (True, 0)
    found = iterative_scaling(fun, np.zeros(0), empirical=[], total=1, n_sequences=3)
    assert found.success


def test_too_small_a_total_is_no_success():
    def fun(x):  # two features that occur together ten times in one of two paths
        z = 10.0 * (x[0] + x[1])
        p = 1 / (1 + np.exp(-z))
        return 4 * np.logaddexp(0.0, z) - 3 * z, np.full(2, 10.0 * (4 * p - 3))

    found = iterative_scaling(fun, np.zeros(2), empirical=[30, 30], total=20, n_sequences=4)
    assert found.success
    known = {"empirical": [30, 30], "n_sequences": 100, "total": 1}
    found = iterative_scaling(fun, np.zeros(2), **known)
    assert not found.success and "total" in found.message


@for_each(
    ("name", "value"),
    [
        ("empirical", [1.0, -1.0]),
        ("empirical", [1.0]),
        ("total", 0.0),
        ("total", 0.1),
        ("sigma", 0.0),
        ("sigma", np.nan),
    ],
)
def test_bad_input(name, value):
    known = {"empirical": [1.0, 1.0], "total": 2.0, "n_sequences": 2, name: value}
    with pytest.raises(ValueError, match=name):
        iterative_scaling(lambda x: (1.0, x), np.zeros(2), **known)


def test_the_callback_stops_it():
    def callback(state):
        if state.nit == 2:
            raise StopIteration

    model = Model()
    found = iterative_scaling(model, np.zeros(6), **model.known, callback=callback)
    assert (found.nit, found.nfev, found.success) == (2, 3, True)
    start = np.zeros(6)
    assert_array_equal(start, 0.0)
