"""AdaGrad: stochastic descent with a rate for each weight."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import Progress

# Units are learned from in parts of this number, between which training can be interrupted.
PART = 2**13


def adagrad(
    fun: Any,
    x0: np.ndarray,
    *,
    max_iter: int = 5,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
    rate: float = 0.1,
) -> OptimizeResult:
    """Minimise a sum over units by AdaGrad (Duchi, Hazan & Singer 2011), for a number of epochs.

    The step of a weight is the rate times its derivative, divided by the root of the sum of the
    squares of its derivatives so far. The result is the mean of the weights after all units, but
    for the first of several epochs.

    Parameters
    ----------
    fun : object
        A sum over units that can be learned from one after another. It has their number
        ``n_units`` and the methods ``start(x)``, which makes a state with the weights x;
        ``begin_epoch(rng)``, which draws what is random in an epoch; ``learn(state, order, rate,
        n_before)``, which learns from units in order and returns the sum of their losses, each
        before its step; ``forget_mean(state)``, which begins a new mean; and ``mean(state, n)``,
        the mean of the weights after each of n units.
    x0 : ndarray of shape (n_weights,)
        Where it starts.
    max_iter : int, default=5
        Number of epochs.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, nit) after every epoch; may raise StopIteration.
    rng : RandomState
        Orders the units.
    rate : float, default=0.1
        What steps are multiplied by.

    Returns
    -------
    OptimizeResult
        With x, fun, nit, nfev, success and message. The objective is the sum of the losses in the
        last epoch, each before the weights were moved.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import adagrad
    >>> class Distances:  # half the squared distances from numbers
    ...     numbers, n_units = np.array([1.0, 3.0]), 2
    ...     def start(self, x):
    ...         return {"x": x.copy(), "squares": np.ones(len(x)), "sum": 0.0}
    ...     def begin_epoch(self, rng):
    ...         pass
    ...     def learn(self, state, order, rate, n_before):
    ...         loss = 0.0
    ...         for unit in order:
    ...             derivative = state["x"] - self.numbers[unit]
    ...             loss += 0.5 * float(derivative @ derivative)
    ...             state["squares"] += derivative**2
    ...             state["x"] -= rate * derivative / np.sqrt(state["squares"])
    ...             state["sum"] += state["x"]
    ...         return loss
    ...     def forget_mean(self, state):
    ...         state["sum"] = 0.0
    ...     def mean(self, state, n):
    ...         return state["sum"] / n
    >>> rng = np.random.RandomState(0)
    >>> result = adagrad(Distances(), np.zeros(1), max_iter=1000, rng=rng, rate=0.5)
    >>> np.round(result.x, 1), result.success
    (array([2.]), True)
    """
    progress = Progress(fun, max_iter, 0.0, callback)
    state, n_seen, loss, x = fun.start(x0), 0, 0.0, x0
    while not progress.message and progress.nit < max_iter:
        if progress.nit == 1:
            fun.forget_mean(state)
            n_seen = 0
        fun.begin_epoch(rng)
        order, loss = rng.permutation(fun.n_units).astype(np.int64), 0.0
        for start in range(0, len(order), PART):
            part = order[start : start + PART]
            loss += fun.learn(state, part, rate, n_seen)
            n_seen += len(part)
        x = fun.mean(state, n_seen)
        progress.advance(x, loss, None)
    progress.stop(True, progress.message or f"went through the units {progress.nit} times")
    return progress.result(x, loss, None)
