"""Averaged stochastic descent on sums of squares, whose steps are known."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.solvers import sgd


class Squares:
    """Sum over batches of ``|x - center|^2 / 2``, one example in each, plus a penalty."""

    def __init__(self, centers, precision):
        self.centers, self.precision = centers, precision
        self.sizes, self.points = np.ones(len(centers)), []

    def order(self, rng):
        return rng.permutation(len(self.sizes))

    def start(self, x):
        return x

    def step(self, state, batch, rate, decay):
        gradient = state - self.centers[batch]
        state *= decay
        state -= rate * gradient
        self.points.append(state.copy())

    def add(self, state, factor, out):
        out += factor * state

    def loss(self, state, batches=None):
        centers = self.centers if batches is None else self.centers[batches]
        share = len(centers) / len(self.centers)
        return 0.5 * ((state - centers) ** 2).sum() + 0.5 * share * self.precision * state @ state


def test_an_epoch_ends_at_the_mean_of_points_on_the_way():
    fun = Squares(np.random.default_rng(0).normal(size=(16, 3)), 0.5)
    options = {"max_iter": 1, "rate": 0.1, "rng": np.random.RandomState(0)}
    x0 = np.ones(3)
    result = sgd(fun, x0, **options)
    assert_array_equal(x0, 1.0)
    assert len(fun.points) == 16
    assert_allclose(result.x, np.mean(fun.points[1::2], axis=0))
    assert_allclose(result.fun, fun.loss(result.x))


def test_the_mean_is_nearer_to_the_minimum_than_the_last_point():
    fun = Squares(np.random.default_rng(1).normal(size=(400, 3)), 1.0)
    minimum = fun.centers.sum(axis=0) / 401
    rng = np.random.RandomState(0)
    result = sgd(fun, np.zeros(3), max_iter=5, rate=0.3, tol=0.0, rng=rng)
    last = np.linalg.norm(fun.points[-1] - minimum)
    assert np.linalg.norm(result.x - minimum) < last / 2
    assert_array_equal(np.isfinite(result.x), True)


def test_the_rate_falls_with_what_was_seen():
    fun = Squares(np.ones((8, 1)), 0.8)
    sgd(fun, np.zeros(1), max_iter=1, rate=0.5, n_seen=100.0, rng=np.random.RandomState(0))
    rate = 0.5 / (1 + 0.5 * 0.1 * 100)
    assert_allclose(fun.points[0], rate)


def test_later_epochs_count_more():
    fun = Squares(np.random.default_rng(2).normal(size=(16, 3)), 0.5)
    result = sgd(fun, 9 * np.ones(3), max_iter=2, rate=0.01, tol=0.0, rng=np.random.RandomState(0))
    first, second = (np.mean(fun.points[k : k + 16][1::2], axis=0) for k in (0, 16))
    assert_allclose(result.x, 0.2 * first + 0.8 * second)


class Distances(Squares):
    """Sum of absolute deviations, with a kink at every center."""

    def step(self, state, batch, rate, decay):
        slope = np.sign(state - self.centers[batch])
        state *= decay
        state -= rate * slope

    def loss(self, state, batches=None):
        centers = self.centers if batches is None else self.centers[batches]
        share = len(centers) / len(self.centers)
        return abs(state - centers).sum() + 0.5 * share * self.precision * state @ state


def test_kinks_and_a_rate_that_is_too_large():
    fun = Distances(np.array([[0.0], [1.0], [1.1], [1.2], [7.0]]), 1e-6)
    losses = []
    result = sgd(
        fun,
        np.zeros(1),
        max_iter=200,
        tol=1e-6,
        rate=3.0,
        callback=lambda state: losses.append(state.fun),
        rng=np.random.RandomState(0),
    )
    assert result.success
    assert result.fun < 1.01 * fun.loss(np.array([1.1]))
    assert (np.diff(losses) <= 0).all()
    assert_allclose(result.fun, fun.loss(result.x))


def test_a_rate_that_is_too_large_is_halved():
    fun = Squares(np.ones((8, 1)), 0.0)  # the rate 2.5 leads away from the minimum
    result = sgd(fun, np.zeros(1), max_iter=20, rate=2.5, rng=np.random.RandomState(0))
    assert_allclose(result.x, 1.0, atol=0.01)
