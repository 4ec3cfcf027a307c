"""Resilient propagation: steps of single weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.solvers import lbfgs, rprop
from sklearn_crcrf.solvers.rprop import LARGEST


def visited(fun, x0, max_iter, **options):
    """The points of all iterations, the first one too."""
    points = [np.array(x0)]
    rprop(
        fun,
        np.array(x0),
        max_iter=max_iter,
        tol=0.0,
        callback=lambda state: points.append(state.x.copy()),
        **options,
    )
    return np.array(points)


def bowl(x):
    return float(x @ x), 2 * x


def test_steps_grow_while_derivatives_keep_their_signs():
    steps = -np.diff(visited(bowl, [10.0, 90.0], 8, first_step=0.5), axis=0)
    assert_allclose(steps, np.outer(0.5 * 1.2 ** np.arange(8), [1, 1]))


def test_a_weight_rests_where_its_derivative_changes_its_sign_and_goes_on_with_half_the_step():
    # The first weight passes its minimum while the second one still falls by more.
    points = visited(bowl, [0.9, 90.0], 4, first_step=1.0)
    assert_allclose(points[:, 0], [0.9, -0.1, -0.1, 0.4, 0.4])
    assert_allclose(points[:, 1], 90 - np.cumsum([0, 1.0, 1.2, 1.44, 1.728]))


def test_a_point_that_is_higher_is_left_with_half_the_steps_of_weights_that_went_too_far():
    def fun(x):
        return float(0.01 * x[0] ** 2 + x[1] ** 2), np.array([0.02, 2.0]) * x

    assert_allclose(visited(fun, [4.0, 0.05], 1, first_step=1.0)[1], [3.0, 0.05 - 0.25])


def test_the_size_of_derivatives_does_not_matter():
    def steep(x):
        return 1e6 * float(x @ x), 2e6 * x

    assert_array_equal(visited(bowl, [3.0, -7.0], 30), visited(steep, [3.0, -7.0], 30))


def test_steps_have_a_largest_length():
    points = visited(lambda x: (-float(x[0]), -np.ones(1)), [0.0], 100)
    assert np.diff(points[:, 0]).max() == pytest.approx(LARGEST)


def test_weights_without_derivatives_stay():
    def fun(x):
        return float(x[0] ** 2), np.array([2 * x[0], 0.0])

    assert_array_equal(visited(fun, [1.0, 5.0], 20)[:, 1], 5.0)


def test_kinks():
    result = rprop(lambda x: (1 + float(abs(x - 2).sum()), np.sign(x - 2)), np.zeros(3), tol=1e-9)
    assert result.success
    assert_allclose(result.x, 2.0, atol=1e-6)


def test_kinks_across_weights_end_it_early():
    def fun(x):  # the minimum, -1, is where both are -1, on a kink
        side = 10 * np.where(x[0] >= x[1], 1.0, -1.0)
        loss = 10 * abs(x[0] - x[1]) + x.sum() + 0.5 * x @ x
        return float(loss), x + 1 + np.array([side, -side])

    start = np.array([4.0, -3.0])
    assert -0.9 < rprop(fun, start).fun < fun(start)[0]
    assert lbfgs(fun, start).fun < -0.999
