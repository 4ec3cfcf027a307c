"""Stochastic gradient descent."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import SMALLER, Progress

# Number of epochs over which the objective must fall by tol.
PERIOD = 5
# Number of points per epoch that enter the mean.
POINTS = 8
# The larger it is, the sooner the mean forgets earlier epochs: epoch k has a weight proportional
# to k to this power.
RECENCY = 3
# The first rate that is tried on a sample, and the factor between tried rates.
FIRST_RATE, FACTOR = 0.1, 2.0
# Number of examples in the sample, and maximum numbers of larger and of smaller rates tried.
SAMPLE, N_LARGER, N_SMALLER = 500, 3, 20
# From zero weights, where labellings may tie, rates are tried for more epochs, up to this number,
# until one lowers the loss to this share; and fewer smaller rates are tried.
MOST_EPOCHS, LOWER, N_SMALLER_THEN = 8, 0.99, 6


def sgd(
    fun: Any,
    x0: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-3,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
    rate: float | None = None,
    n_seen: float = 0.0,
) -> OptimizeResult:
    """Minimise a sum over examples by averaged stochastic gradient descent (Bottou 2010).

    Goes through the batches in random order with the rate ``r / (1 + r * l * t)`` after t of n
    examples, where ``l = precision / n`` and r is the rate that does best on a sample. The result
    of an epoch is a mean of points on the way, in which later epochs count more (Shamir & Zhang
    2013): it converges even if single points keep moving, as they do for losses with kinks. The
    best of these means is kept, and r is halved after an epoch whose mean is not the best so far.

    Parameters
    ----------
    fun : object
        A sum of the losses of the examples of all batches, plus ``precision * ||w||^2 / 2``. It has
        the number of examples in each batch, ``sizes``, the ``precision``, and the methods
        ``order(rng)``, all batches in random order; ``start(x)``, which makes a state with the
        weights x, which steps may overwrite; ``step(state, batch, rate, decay)``, which multiplies
        the weights by ``decay`` and subtracts ``rate`` times a gradient; ``add(state, factor,
        out)``, which adds a multiple of the weights to a vector; and ``loss(state, batches)``, the
        loss of some batches, by default all, plus their share of the penalty.
    x0 : ndarray of shape (n_weights,)
        Where it starts.
    max_iter : int, default=100
        Number of epochs.
    tol : float, default=1e-3
        Stop when five epochs lower the objective by at most ``tol`` of its value.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, nit) after every epoch; may raise StopIteration.
    rng : RandomState
        Orders the batches.
    rate : float, optional
        The first rate; by default it is found on a sample.
    n_seen : float, default=0.0
        Number of examples already seen with this rate, in an earlier run.

    Returns
    -------
    OptimizeResult
        With x, fun, nit, nfev, success, message and the first rate.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import sgd
    >>> class Distances:  # half the squared distances from numbers, one in each batch
    ...     numbers, sizes, precision = np.array([1.0, 2.0, 6.0]), np.ones(3), 0.0
    ...     def order(self, rng):
    ...         return rng.permutation(3)
    ...     def start(self, x):
    ...         return x
    ...     def step(self, x, batch, rate, decay):
    ...         x += rate * (self.numbers[batch] - x)
    ...     def add(self, x, factor, out):
    ...         out += factor * x
    ...     def loss(self, x, batches=None):
    ...         numbers = self.numbers if batches is None else self.numbers[batches]
    ...         return float(((x - numbers) ** 2).sum() / 2)
    >>> result = sgd(Distances(), np.zeros(1), rng=np.random.RandomState(0))
    >>> result.x.round(), result.success
    (array([3.]), True)
    """
    progress = Progress(fun, max_iter, tol, callback, period=PERIOD)
    if rate is None:
        rate = _calibrate(fun, x0, fun.order(rng))
    descent, state = _Descent(fun, rate, n_seen), fun.start(x0.copy())
    start = loss = fun.loss(state)
    best, least = x0, np.inf
    mean = np.zeros_like(x0)
    progress.start(best, loss, None)
    while not progress.message:
        share = (1 + RECENCY) / (progress.nit + 1 + RECENCY)
        mean = mean * x0.dtype.type(1 - share)
        for batches in np.array_split(fun.order(rng), POINTS):
            descent.go(state, batches)
            fun.add(state, share / POINTS, mean)
        loss = fun.loss(fun.start(mean))
        if loss < least:
            best, least = mean, loss
        else:
            descent.rate *= 0.5
        progress.advance(best, least, None)
    if progress.success and progress.nit and not least <= start + tol * abs(start):
        progress.stop(False, f"the objective rose from {start:g} to {least:g}; {SMALLER}")
    return OptimizeResult(progress.result(best, min(loss, least), None), rate=rate)


class _Descent:
    """Steps through batches, with a rate that falls with the number of examples seen."""

    def __init__(self, fun: Any, rate: float, n_seen: float = 0.0):
        self.rate, self._fun, self._seen = rate, fun, n_seen
        self._precision = fun.precision / fun.sizes.sum()

    def go(self, state: Any, batches: np.ndarray) -> None:
        for batch in batches:
            n_examples = self._fun.sizes[batch]
            rate = self.rate / (1.0 + self.rate * self._precision * self._seen)
            self._seen += n_examples
            self._fun.step(state, batch, rate, 1.0 - rate * self._precision * n_examples)


def sample_of(fun: Any, batches: np.ndarray) -> np.ndarray:
    """Return the first batches, with about as many examples as rates are tried on."""
    return batches[: np.searchsorted(np.cumsum(fun.sizes[batches]), SAMPLE) + 1]


def loss_after_epochs(
    fun: Any, x0: np.ndarray, sample: np.ndarray, n_epochs: int, rate: float
) -> float:
    """Return the objective of some batches after a few epochs over them, inf where it is NaN."""
    state = fun.start(x0.copy())
    with np.errstate(all="ignore"):
        _Descent(fun, rate).go(state, np.tile(sample, n_epochs))
        loss = fun.loss(state, sample)
    return loss if np.isfinite(loss) else np.inf


def _calibrate(fun: Any, x0: np.ndarray, batches: np.ndarray) -> float:
    """Return the rate with the lowest objective of a sample after one epoch over it.

    Where all labellings tie, the first epoch raises a loss with kinks, the less the smaller the
    rate. Then the epochs are doubled until a rate lowers it, and else the first rate is taken.
    """
    sample, n_epochs = sample_of(fun, batches), 1

    def loss_after(rate: float) -> float:
        return loss_after_epochs(fun, x0, sample, n_epochs, rate)

    rate, loss = _best_rate(loss_after)
    if x0.any():
        return rate
    enough = LOWER * fun.loss(fun.start(x0.copy()), sample)
    while not loss <= enough and n_epochs < MOST_EPOCHS:
        n_epochs *= 2
        rate, loss = _best_rate(loss_after, N_SMALLER_THEN)
    return rate if loss <= enough else FIRST_RATE


def _best_rate(
    loss_after: Callable[[float], float], n_smaller: int = N_SMALLER
) -> tuple[float, float]:
    """Return the rate with the lowest loss, of rates on both sides of the first, and the loss."""
    best, least = FIRST_RATE, loss_after(FIRST_RATE)
    for factor, n_trials in ((FACTOR, N_LARGER), (1.0 / FACTOR, n_smaller)):
        rate = FIRST_RATE * factor
        for _ in range(n_trials):
            loss = loss_after(rate)
            # While the loss is infinite, go on lowering the rate.
            if not loss < least and np.isfinite(least):
                break
            best, least, rate = rate, loss, rate * factor
        if best != FIRST_RATE:
            break
    return best, least
