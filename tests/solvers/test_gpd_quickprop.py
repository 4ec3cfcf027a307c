"""Online descent, and QuickProp after it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.solvers import gpd_quickprop, sgd


class Distances:
    """Half the squared distances from numbers, one in each batch."""

    numbers, sizes, precision = np.array([1.0, 2.0, 6.0]), np.ones(3), 0.0

    def order(self, rng):
        return rng.permutation(3)

    def start(self, x):
        return x

    def step(self, x, batch, rate, decay):
        x += rate * (self.numbers[batch] - x)

    def add(self, x, factor, out):
        out += factor * x

    def loss(self, x, batches=None):
        numbers = self.numbers if batches is None else self.numbers[batches]
        return float(((x - numbers) ** 2).sum() / 2)

    def __call__(self, x):
        return self.loss(x), 3 * x - 9


def solve(**options):
    fun = Distances()
    return gpd_quickprop(fun, fun, np.zeros(1), rng=np.random.RandomState(0), **options)


def test_quickprop_goes_on_where_ten_epochs_end():
    points = []
    result = solve(callback=lambda it: points.append((it.nit, float(it.x[0]))))
    assert [nit for nit, _ in points] == list(range(1, result.nit + 1))
    rng, rate = np.random.RandomState(0), result.rate
    Distances().order(rng)  # of the sample on which rates are tried
    online = sgd(Distances(), np.zeros(1), max_iter=10, tol=-np.inf, rng=rng, rate=rate)
    assert points[9][1] == online.x[0]
    assert result.nit > 10 and result.success
    assert_allclose(result.x, 3.0, atol=1e-4)
    assert result.initial == Distances().loss(np.zeros(1))


@pytest.mark.parametrize(("size", "n_tried", "share"), [(1, 3, 1.0), (300, 2, 0.25)])
def test_the_rate_is_the_best_on_a_sample_or_a_quarter_of_it(size, n_tried, share, monkeypatch):
    monkeypatch.setattr(Distances, "sizes", np.full(3, size))
    sample = np.random.RandomState(0).permutation(3)[:n_tried]

    def loss_after(rate):
        x = np.zeros(1)
        for number in np.tile(Distances.numbers[sample], 10):
            x += rate * (number - x)
        return Distances().loss(x, sample)

    best = min(2.0 ** np.arange(1, -11, -1), key=loss_after)
    assert solve().rate == share * best


@pytest.mark.parametrize("max_iter", [4, 12])
def test_iterations_are_of_both_parts(max_iter):
    result = solve(max_iter=max_iter, tol=0.0)
    assert result.nit == max_iter
    assert not result.success
    assert result.message == f"the objective still fell after max_iter={max_iter} iterations"


@pytest.mark.parametrize("last", [3, 11])
def test_the_callback_ends_both_parts(last):
    def stop(iteration):
        if iteration.nit == last:
            raise StopIteration

    result = solve(callback=stop)
    assert result.nit == last
    assert result.success


def test_the_start_is_kept():
    x0 = np.zeros(1)
    fun = Distances()
    gpd_quickprop(fun, fun, x0, rng=np.random.RandomState(0))
    assert_array_equal(x0, 0.0)
