"""AdaGrad: steps, means and epochs."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.solvers import adagrad


class Recorder:
    """Notes the calls, and adds 1 to the weight for each unit."""

    n_units = 20_000

    def __init__(self):
        self.calls, self.epochs = [], 0

    def start(self, x):
        return {"x": float(x[0]), "sum": 0.0}

    def begin_epoch(self, rng):
        self.epochs += 1

    def learn(self, state, order, rate, n_before):
        self.calls.append((self.epochs, order, n_before))
        for _ in order:
            state["x"] += 1.0
            state["sum"] += state["x"]
        return float(len(order))

    def forget_mean(self, state):
        state["sum"] = 0.0

    def mean(self, state, n):
        return np.array([state["sum"] / n])


def test_every_epoch_has_every_unit_once_in_parts():
    recorder = Recorder()
    result = adagrad(recorder, np.zeros(1), max_iter=3, rng=np.random.RandomState(0))
    assert (result.nit, result.success, result.fun) == (3, True, 20_000.0)
    for epoch in (1, 2, 3):
        orders = [order for number, order, _ in recorder.calls if number == epoch]
        assert len(orders) == 3
        assert_array_equal(np.sort(np.concatenate(orders)), np.arange(20_000))
    orders = [np.concatenate([o for e, o, _ in recorder.calls if e == epoch]) for epoch in (1, 2)]
    assert (orders[0] != orders[1]).any()


def test_the_mean_leaves_out_the_first_of_several_epochs():
    n = Recorder.n_units
    one, three = (
        adagrad(Recorder(), np.zeros(1), max_iter=k, rng=np.random.RandomState(0)).x[0]
        for k in (1, 3)
    )
    assert_allclose(one, np.arange(1, n + 1).mean())
    assert_allclose(three, np.arange(n + 1, 3 * n + 1).mean())


def test_no_epochs_leave_the_start():
    result = adagrad(Recorder(), np.ones(1), max_iter=0, rng=np.random.RandomState(0))
    assert (result.x[0], result.nit) == (1.0, 0)


def test_a_callback_may_stop_it():
    def stop(intermediate_result):
        raise StopIteration

    result = adagrad(
        Recorder(), np.zeros(1), max_iter=9, rng=np.random.RandomState(0), callback=stop
    )
    assert result.nit == 1
