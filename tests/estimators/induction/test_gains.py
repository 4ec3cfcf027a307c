"""Gains against a maximum that is searched for by brute force."""

import numpy as np
from cases import for_each
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from sklearn_crcrf.estimators.induction.gains import Sums, gain, least_difference


def sums_of(values, y, p):
    """Sums of one column and one label, over tokens."""
    parts = values * y, values * p, abs(values) * p, abs(values), values**2
    return Sums(*(np.array([part.sum()]) for part in parts))


def searched(log_likelihood):
    """The maximum on a grid, then by bisection around its best point."""
    grid = np.linspace(-40, 40, 401)
    best = grid[np.argmax([log_likelihood(mu) for mu in grid])]
    around = (best - 0.4, best + 0.4)
    found = minimize_scalar(
        lambda mu: -log_likelihood(mu), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    return -found.fun, found.x


@for_each("c1", [0.0, 1.5])
@for_each("sigma", [0.3, 1.0, 10.0])
@for_each("p", [1e-3, 0.2, 0.9])
@for_each("value", [1.0, 0.5, 3.0])
def test_gain_is_the_maximum_over_the_weight(p, sigma, value, c1):
    for n, c in ((1, 1), (10, 0), (10, 7), (300, 299), (300, 300), (300, 60)):
        y = np.arange(n) < c
        proba = np.full(n, p)

        def log_likelihood(mu, y=y, proba=proba):
            each = value * mu * y - np.log1p(proba * np.expm1(value * mu))
            return each.sum() - mu**2 / (2 * sigma**2) - c1 * abs(mu)

        best, at = searched(log_likelihood)
        gains, weights = gain(sums_of(np.full(n, value), y, proba), sigma, c1)
        assert_allclose(gains[0], best, rtol=1e-6, atol=1e-8)
        assert_allclose(weights[0], at, rtol=1e-3, atol=1e-3)
        least = least_difference(0.9 * gains[0], sigma, c1)
        assert gains[0] < 1e-9 or abs((value * (y - proba)).sum()) >= least


def test_different_marginals_and_values_change_gains_a_little():
    rng = np.random.default_rng(0)
    values, p = rng.normal(1.0, 0.3, size=400), rng.uniform(0.1, 0.5, size=400)
    y = rng.random(400) < 0.5

    def log_likelihood(mu):
        each = values * mu * y - np.log1p(p * np.expm1(values * mu))
        return each.sum() - mu**2 / 2

    assert_allclose(gain(sums_of(values, y, p), 1.0)[0][0], searched(log_likelihood)[0], rtol=0.1)


def test_values_of_both_signs():
    values = np.array([1.0, -1.0] * 50)
    gains, weights = gain(sums_of(values, values > 0, np.full(100, 0.5)), np.inf)
    assert gains[0] > 10 and weights[0] > 1
