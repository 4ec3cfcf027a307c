"""What holds for every solver."""

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from solver_problems import count_calls, logistic, quadratic

from sklearn_crcrf.solvers import conjugate_gradient, lbfgs, newton_cg, owlqn, quickprop, rprop


def plain_owlqn(fun, x0, **options):
    return owlqn(fun, x0, c1=0.0, **options)


def newton(fun, x0, **options):
    """Newton's method with the Hessian of the problem."""
    return newton_cg(fun, x0, hessp=fun.hessp, **options)


SOLVERS = [lbfgs, plain_owlqn, newton, conjugate_gradient, rprop, quickprop]
each_solver = for_each("solver", SOLVERS)
each_dtype = for_each("dtype", [np.float32, np.float64])


@each_solver
@each_dtype
def test_minimum_of_a_quadratic(solver, dtype):
    fun = quadratic(30, condition=100.0, dtype=dtype)
    x0 = np.zeros(30, dtype=dtype)
    result = solver(fun, x0, tol=0.0)
    assert result.success, result.message
    assert result.x.dtype == result.jac.dtype == dtype
    assert_allclose(result.x, fun.minimum, atol=1e-3 if dtype == np.float32 else 1e-6)
    assert result.fun == pytest.approx(fun(result.x)[0])
    assert_array_equal(result.jac, fun(result.x)[1])
    assert_array_equal(x0, 0.0)


@each_solver
def test_logistic_regression_is_that_of_scikit_learn(solver):
    X, y, fun = logistic(sigma=2.0)
    result = solver(fun, np.zeros(X.shape[1]), tol=1e-12)
    model = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    assert result.success
    assert_allclose(result.x, model.coef_[0], atol=1e-4)


@each_solver
def test_counts_are_those_of_calls(solver):
    fun = count_calls(quadratic(20, condition=1000.0))
    seen = []
    result = solver(fun, np.zeros(20), callback=lambda state: seen.append(state.nit))
    assert result.nfev == fun.n_calls
    assert seen == list(range(1, result.nit + 1))


@each_solver
def test_start_at_the_minimum(solver):
    fun = quadratic(5)
    fun.minimum[:] = 0.0
    result = solver(fun, np.zeros(5))
    assert (result.nit, result.nfev, result.success) == (0, 1, True)


@each_solver
@for_each("n", [0, 1])
def test_no_weight_and_one_weight(solver, n):
    fun = quadratic(n)
    result = solver(fun, np.zeros(n), tol=0.0)
    assert result.success
    assert_allclose(result.x, fun.minimum, atol=1e-6)


@each_solver
def test_max_iter_is_no_success(solver):
    result = solver(quadratic(40, condition=1e4), np.zeros(40), max_iter=3)
    assert (result.nit, result.success) == (3, False)
    assert "max_iter=3" in result.message
    result = solver(quadratic(40), np.zeros(40), max_iter=0)
    assert (result.nit, result.nfev, result.success) == (0, 1, False)


@for_each("solver", [s for s in SOLVERS if s is not newton])
def test_a_loose_tolerance_stops_early(solver):
    fun = quadratic(40, condition=1e3)
    loose, tight = (solver(fun, np.zeros(40), tol=tol, max_iter=5000) for tol in (0.5, 1e-7))
    assert loose.success and loose.nit < tight.nit
    assert loose.fun > tight.fun


@each_solver
def test_the_callback_stops_a_run(solver):
    def callback(state):
        if state.nit == 4:
            raise StopIteration

    result = solver(quadratic(40, condition=1e4), np.zeros(40), callback=callback)
    assert (result.nit, result.success) == (4, True)
    assert "callback" in result.message


@each_solver
def test_x_stays_until_the_next_callback(solver):
    fun = quadratic(40, condition=1e4)
    states = []

    def checked(x):
        if states:
            assert_array_equal(states[-1][0].x, states[-1][1])
        return fun(x)

    def callback(state):
        assert state.fun == pytest.approx(fun(state.x)[0], rel=1e-12)
        assert_allclose(state.jac, fun(state.x)[1], rtol=1e-12)
        states.append((state, state.x.copy()))

    checked.hessp = fun.hessp
    solver(checked, np.zeros(40), callback=callback, max_iter=20)
    assert len(states) > 5


@each_solver
def test_an_interrupted_run_leaves_the_last_x(solver):
    fun = count_calls(quadratic(40, condition=1e4))
    last = None

    def interrupted(x):
        if fun.n_calls == 12:
            raise KeyboardInterrupt
        return fun(x)

    def callback(state):
        nonlocal last
        last = state, state.x.copy()

    interrupted.hessp = fun.hessp
    with pytest.raises(KeyboardInterrupt):
        solver(interrupted, np.zeros(40), callback=callback)
    state, x = last
    assert_array_equal(state.x, x)
    assert state.fun < quadratic(40, condition=1e4)(np.zeros(40))[0]


@each_solver
def test_a_gradient_that_is_the_same_array_every_time(solver):
    fun = quadratic(30, condition=100.0)
    place = np.empty(30)

    def reusing(x):
        loss, place[:] = fun(x)
        return loss, place

    reusing.hessp = fun.hessp
    ours, fresh = (solver(f, np.zeros(30), tol=0.0) for f in (reusing, fun))
    assert_array_equal(ours.x, fresh.x)


@each_solver
@for_each("outside", [np.nan, np.inf])
def test_steps_out_of_the_domain_are_taken_back(solver, outside):
    def fun(x):  # x - 3 log(x)
        if x[0] <= 0.0:
            return outside, np.full(1, np.nan)
        return x[0] - 3.0 * np.log(x[0]), 1.0 - 3.0 / x

    fun.hessp = lambda x, v: 3.0 / x**2 * v
    for start in (0.01, 5.9, 60.0):
        result = solver(fun, np.array([start]), tol=0.0)
        assert result.success, result.message
        assert_allclose(result.x, 3.0, rtol=1e-5)


@each_solver
def test_a_wrong_gradient_is_no_success(solver):
    def fun(x):
        return float(x @ x), -2.0 * x

    fun.hessp = lambda x, v: 2.0 * v
    assert not solver(fun, np.ones(3), max_iter=50).success


@each_solver
def test_bad_starts(solver):
    fun = quadratic(4)

    def infinite(x):
        return np.inf, x

    infinite.hessp = fun.hessp
    with pytest.raises(ValueError, match="x0"):
        solver(infinite, np.zeros(4))
    with pytest.raises(ValueError, match="x0"):
        solver(fun, np.zeros((4, 2)))
    with pytest.raises(ValueError, match="x0"):
        solver(fun, np.array([0.0, np.nan, 0.0, 0.0]))

    def misshapen(x):
        return 1.0, np.zeros(3)

    misshapen.hessp = fun.hessp
    with pytest.raises(ValueError, match="gradient of shape"):
        solver(misshapen, np.zeros(4))
