"""L-BFGS and its history."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, rosen, rosen_der
from solver_problems import count_calls, quadratic

from sklearn_crcrf.solvers import _history, lbfgs, owlqn
from sklearn_crcrf.solvers._history import History


def rosenbrock(x):
    return rosen(x), rosen_der(x)


@pytest.mark.parametrize("x0", [[-1.2, 1.0], [0.0] * 10, [3.0, -2.0, 1.0]])
def test_rosenbrock(x0):
    result = lbfgs(rosenbrock, np.array(x0), tol=0.0)
    assert result.success
    assert_allclose(result.x, 1.0, atol=1e-6)


@pytest.fixture(params=["single precision", "half of it"])
def precision(request, monkeypatch):
    """That of the history, which has half of the digits where there are many weights."""
    if request.param == "half of it":
        monkeypatch.setattr(_history, "N_NUMBERS", 0)
    return request.param


def rounded(x, precision):
    """As the history keeps it."""
    if precision == "single precision":
        return x.astype(np.float32).astype(float)
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).view(np.float32).astype(float)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e5])
def test_the_precision_of_the_history_costs_no_iterations(condition, precision):
    fun = quadratic(100, condition)
    target = 1.0 + 1e-8
    ours, theirs = [], []
    lbfgs(fun, np.zeros(100), tol=0, max_iter=5000, callback=lambda state: ours.append(state.fun))
    minimize(
        fun,
        np.zeros(100),
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: theirs.append(intermediate_result.fun),
        options={"maxcor": 6, "ftol": 0.0, "gtol": 1e-10, "maxiter": 5000, "maxfun": 10_000},
    )
    assert min(ours) < target
    first, first_of_scipy = (np.argmax(np.array(losses) < target) for losses in (ours, theirs))
    assert first < 1.3 * first_of_scipy


def test_an_iteration_takes_one_evaluation():
    fun = count_calls(quadratic(100, condition=1e4))
    result = lbfgs(fun, np.zeros(100), tol=1e-8)
    assert fun.n_calls < 1.1 * result.nit + 3


@pytest.mark.parametrize("solver", [lbfgs, lambda *args, **kw: owlqn(*args, c1=0.01, **kw)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(solver, dtype):
    n = 10_500  # some blocks, the last of them not full
    rng = np.random.default_rng(0)
    curvature = np.geomspace(1.0, 100.0, n).astype(dtype)
    minimum = rng.normal(size=n).astype(dtype)

    def fun(x):
        gradient = curvature * (x - minimum)
        return 0.5 * np.sum(gradient * (x - minimum), dtype=float), gradient

    one, two, five = (
        solver(fun, np.zeros(n, dtype=dtype), n_threads=k, max_iter=25) for k in (1, 2, 5)
    )
    for other in (two, five):
        assert_array_equal(one.x, other.x)
        assert (one.fun, one.nfev) == (other.fun, other.nfev)
    assert one.fun < 0.01 * fun(np.zeros(n, dtype=dtype))[0]


@pytest.mark.parametrize("name", ["memory", "n_threads"])
def test_bad_sizes(name):
    with pytest.raises(ValueError, match=name):
        lbfgs(rosenbrock, np.zeros(2), **{name: 0})


def two_loops(pairs, v):
    """H v by the recursion of Nocedal (1980)."""
    q, alphas = v.copy(), []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (s @ y))
        q -= alphas[-1] * y
    s, y = pairs[-1]
    q *= s @ y / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q += s * (alpha - y @ q / (s @ y))
    return q


@pytest.mark.parametrize("n", [3, 1024, 2500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_direction_is_that_of_two_loops(n, dtype, precision):
    rng = np.random.default_rng(n)
    curvature = rng.uniform(0.5, 20.0, n)
    x, pairs = rng.normal(size=n).astype(dtype), []
    history = History(x, memory=3)
    history.keep(x, x, (curvature * x).astype(dtype), (curvature * x).astype(dtype))
    for k in range(6):
        x_new = (x + rng.normal(size=n)).astype(dtype)
        # A step along which the gradient falls is not kept.
        gradient = (curvature * x_new * (-1 if k == 4 else 1)).astype(dtype)
        steepest = gradient if k % 2 else (gradient + 1).astype(dtype)
        old = history.gradient.copy()
        history.keep(x, x_new, gradient, steepest)
        assert_array_equal(history.gradient, gradient)
        s, y = rounded(x_new - x, precision), rounded(gradient - old, precision)
        pairs = [*pairs[-2:], (s, y)] if s @ y > 0 else pairs[-2:]
        x, out = x_new, np.empty_like(x)
        assert len(history) == len(pairs)
        expected = history.move(x, 0.5, out)
        direction = -two_loops(pairs, steepest.astype(float))
        scale = abs(direction).max()
        rounding = 1e-4 if dtype == np.float32 else 1e-6
        assert_allclose(out, x + 0.5 * direction, atol=rounding * scale)
        assert expected == pytest.approx(0.5 * direction @ steepest, rel=1e-6)


@pytest.mark.parametrize("n, n_steps", [(10, 100), (2**18, 64), (2**22, 6)])
def test_steps_that_are_kept_by_default(n, n_steps):
    x = np.zeros(n, dtype=np.float32)
    history = History(x, memory=None)
    for k in range(n_steps + 3):
        newer = x + np.float32(1)
        history.keep(x, newer, newer, newer)
        x = newer
        assert len(history) == min(k + 1, n_steps)


def test_without_history_the_step_has_its_length():
    x, gradient = np.ones(4), np.array([3.0, 0.0, 0.0, 4.0])
    history = History(x, memory=2)
    history.keep(x, x, gradient, gradient)
    out = np.empty(4)
    assert history.move(x, 2.0, out) == pytest.approx(-10.0)
    assert_allclose(out, x - 0.4 * gradient)


def test_an_overflowing_step_is_not_kept():
    x, gradient = np.ones(2), np.ones(2)
    history = History(x, memory=1)
    history.keep(x, x, gradient, gradient)
    with np.errstate(over="ignore"):
        history.keep(x, x + 1e300, gradient, gradient + 1e300)
    assert len(history) == 0
    history.keep(x, x, gradient, gradient)
    out = np.empty(2)
    assert np.isfinite(history.move(x, 1.0, out)) and np.isfinite(out).all()
