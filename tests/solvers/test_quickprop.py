"""QuickProp: parabolas of single weights."""

import numpy as np
from numpy.testing import assert_allclose

from sklearn_crcrf.solvers import quickprop


def visited(fun, x0, max_iter, **options):
    """The points of all iterations, the first one too."""
    points = [np.array(x0)]
    quickprop(
        fun,
        np.array(x0),
        max_iter=max_iter,
        tol=0.0,
        callback=lambda state: points.append(state.x.copy()),
        **options,
    )
    return np.array(points)


def bowl(x):
    return float(x @ (np.array([1.0, 3.0]) * x)), np.array([2.0, 6.0]) * x


def test_the_first_steps_are_in_proportion_to_the_derivatives():
    points = visited(bowl, [5.0, 1.0], 1, first_step=0.5)
    assert_allclose(points[1], [5.0 - 0.5, 1.0 - 0.5 * 6 / 10])


def test_steps_grow_by_no_more_than_a_factor_and_a_share_of_the_derivative():
    points = visited(bowl, [1e4, 1e4], 6, first_step=0.01)
    steps, rate = -np.diff(points, axis=0), 0.01 / 6e4
    shares = rate * points[1:-1] * [2.0, 6.0]
    assert_allclose(steps[1:], 1.75 * steps[:-1] + shares)


def test_a_weight_goes_to_the_vertex_of_its_parabola():
    points = visited(bowl, [1.0, 1.0], 2, first_step=0.9)
    first = points[0] - points[1]
    assert_allclose(first, [0.3, 0.9])
    share = 0.9 / 6 * np.array([2.0, 6.0]) * points[1]
    assert_allclose(points[2], [points[1, 0] - 1.75 * 0.3 - share[0], -share[1]])


def test_where_the_derivative_grows_a_weight_goes_on():
    # Concave between -1 and 1, so that there is no vertex below.
    points = visited(lambda x: (float(-np.cos(x).sum()), np.sin(x)), [3.0], 3, first_step=0.1)
    steps = -np.diff(points[:, 0])
    assert (steps[1:] > 1.75 * steps[:-1]).all()


def test_independent_weights_of_different_curvatures():
    curvature = np.geomspace(1.0, 1e6, 30)
    result = quickprop(
        lambda x: (1 + 0.5 * float((x - 1) @ (curvature * (x - 1))), curvature * (x - 1)),
        np.zeros(30),
        tol=0.0,
    )
    assert result.success and result.nit < 200
    assert_allclose(result.x, 1.0, atol=1e-6)
