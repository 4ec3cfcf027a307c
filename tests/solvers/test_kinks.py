"""Quasi-Newton steps on functions with kinks, whose minima a quadratic program finds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from sklearn_crcrf.solvers import lbfgs, owlqn

SOLVERS = [lbfgs, lambda *args, **options: owlqn(*args, c1=0.0, **options)]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["lbfgs", "owlqn"])


class largest_of_planes:
    """Sum of the largest of a few linear functions, plus ``0.05 * ||x||^2``."""

    def __init__(self, seed, n_weights=6, n_sums=4, n_planes=15):
        rng = np.random.default_rng(seed)
        self.A = rng.normal(size=(n_sums, n_planes, n_weights))
        self.b = rng.normal(size=(n_sums, n_planes))

    def __call__(self, x):
        values = self.A @ x + self.b
        best = values.argmax(axis=1)
        sums = np.arange(len(best))
        loss = values[sums, best].sum() + 0.05 * x @ x
        return float(loss), self.A[sums, best].sum(axis=0) + 0.1 * x

    def minimum(self):
        """With a variable above each of the sums."""
        m, _, n = self.A.shape
        found = minimize(
            lambda z: z[n:].sum() + 0.05 * z[:n] @ z[:n],
            np.append(np.zeros(n), self.b.max(axis=1) + 1.0),
            jac=lambda z: np.append(0.1 * z[:n], np.ones(m)),
            constraints={
                "type": "ineq",
                "fun": lambda z: (z[n:, None] - self.A @ z[:n] - self.b).ravel(),
            },
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        assert found.success
        return found.fun


@pytest.mark.parametrize(("solver", "factor"), [(SOLVERS[0], 1.01), (SOLVERS[1], 1.05)])
@pytest.mark.parametrize("seed", range(2))
def test_they_come_close_to_the_minimum(solver, factor, seed):
    """In the median of many starts: the last bits decide at which kink a search ends."""
    fun, starts = largest_of_planes(seed), np.random.default_rng(seed).normal(size=(9, 6))
    results = [solver(fun, start) for start in starts]
    assert all(result.success for result in results)
    found, least = [result.fun for result in results], fun.minimum()
    assert min(found) > least - 1e-6
    assert np.median(found) < factor * least


@each_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_at_a_kink_where_the_gradient_leads_up(solver, dtype):
    def fun(x):  # of the two slopes at x[1] = 0, the slope of the steeper wall
        side = np.where(x[1] >= 0, 1, -1)
        return float(x[0] + 10 * abs(x[1]) + x @ x), 2 * x + np.array([1, 10 * side], dtype=x.dtype)

    result = solver(fun, np.zeros(2, dtype=dtype))
    assert result.success, result.message
    assert_allclose(result.x, [-0.5, 0.0], atol=1e-2)


@each_solver
def test_a_start_at_the_minimum(solver):
    result = solver(lambda x: (1 + float(abs(x).sum()), np.where(x >= 0, 1.0, -1.0)), np.zeros(1))
    assert result.success
    assert result.nit == 0
    assert_allclose(result.x, 0.0)


@each_solver
def test_an_edge_that_the_gradient_does_not_tell_of_is_no_success(solver):
    def fun(x):  # falls to the left, but for a step
        return float(x[0] + (x[0] < 0)), np.ones(1)

    result = solver(fun, np.zeros(1))
    assert not result.success
    assert "no lower point" in result.message
