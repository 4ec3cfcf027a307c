"""Many problems that are minimised together, each as if it were alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.solvers import column_lbfgs, lbfgs


def problems(n_columns=5, n_weights=30, dtype=np.float64, seed=0):
    """Logistic losses with penalties, whose scales differ by column."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n_columns, 40, n_weights)) * np.logspace(-1, 1, n_columns)[:, None, None]

    def fun(x):
        margins = np.einsum("kij,jk->ik", A, x.astype(float))
        value = np.logaddexp(0, -margins).sum(axis=0) + 0.05 * (x.astype(float) ** 2).sum(axis=0)
        slope = -1 / (1 + np.exp(margins))
        return value, (np.einsum("kij,ik->jk", A, slope) + 0.1 * x).astype(dtype)

    def alone(k):
        def one(w):
            x = np.zeros((n_weights, n_columns))
            x[:, k] = w
            value, gradient = fun(x)
            return float(value[k]), gradient[:, k].astype(float)

        return one

    return fun, alone, np.zeros((n_weights, n_columns), dtype=dtype)


def test_each_column_finds_its_minimum():
    fun, alone, x0 = problems()
    result = column_lbfgs(fun, x0, tol=1e-10)
    assert result.success
    for k in range(x0.shape[1]):
        assert_allclose(result.fun[k], lbfgs(alone(k), x0[:, k], tol=1e-12).fun, rtol=1e-7)
    assert_array_equal(x0, 0.0)


def test_a_column_does_not_depend_on_the_others():
    fun, _, x0 = problems()
    together = column_lbfgs(fun, x0, tol=1e-6)

    def second(x):
        padded = np.zeros_like(x0)
        padded[:, 2:3] = x
        value, gradient = fun(padded)
        return value[2:3], gradient[:, 2:3]

    single = column_lbfgs(second, x0[:, 2:3], tol=1e-6)
    assert_allclose(together.x[:, 2:3], single.x, rtol=1e-8)


def test_single_precision():
    fun, _, x0 = problems(dtype=np.float32)
    result, exact = column_lbfgs(fun, x0, tol=1e-6), column_lbfgs(problems()[0], x0.astype(float))
    assert result.x.dtype == np.float32
    assert_allclose(result.fun, exact.fun, rtol=1e-3)


def test_a_column_without_gradient_stays():
    fun, _, x0 = problems()

    def first_is_constant(x):
        value, gradient = fun(x)
        gradient[:, 0] = 0
        return value, gradient

    result = column_lbfgs(first_is_constant, x0)
    assert_array_equal(result.x[:, 0], 0.0)
    assert np.any(result.x[:, 1])


def test_more_rows_than_a_block_of_inner_products():
    scale = np.random.default_rng(0).random((3000, 2)) + 0.5
    result = column_lbfgs(
        lambda x: ((scale * (x - 1) ** 2).sum(axis=0), 2 * scale * (x - 1)), np.zeros((3000, 2))
    )
    assert_allclose(result.x, 1.0, atol=1e-3)


def test_the_limit_and_the_callback_end_a_run():
    fun, _, x0 = problems()
    result = column_lbfgs(fun, x0, max_iter=2)
    assert (result.nit, result.success) == (2, False)
    seen = []

    def stop(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 3:
            raise StopIteration

    result = column_lbfgs(fun, x0, callback=stop)
    assert result.success
    assert result.nit == 3
    assert seen == sorted(seen, reverse=True)


def test_an_objective_that_is_not_finite():
    with pytest.raises(ValueError, match="not finite at x0"):
        column_lbfgs(lambda x: (np.full(2, np.nan), x), np.zeros((3, 2)))
