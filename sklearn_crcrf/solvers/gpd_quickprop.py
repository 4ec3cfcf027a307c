"""Online descent, then QuickProp: the schedule for losses that start at a tie."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import Objective, still_falls
from .quickprop import quickprop
from .sgd import loss_after_epochs, sample_of, sgd

N_EPOCHS = 10
# Rates that are tried on a sample for all of these epochs, and the share of the best one that is
# taken if there are more examples: where losses are bounded, large steps in the wrong direction are
# hard to take back.
RATES, SHARE = 2.0 ** np.arange(1, -11, -1), 0.25


def gpd_quickprop(
    batches: Any,
    fun: Objective,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
    rate: float | None = None,
    n_seen: float = 0.0,
) -> OptimizeResult:
    """Minimise by ten epochs of stochastic descent, and by QuickProp from where they end [1]_.

    Where all labellings tie, as at zero weights, a step that helps one example hardly raises the
    loss of others: stochastic descent leaves such a point, and the gradient of the whole sum does
    not. The first part is generalised probabilistic descent (GPD): steps along the gradient of one
    batch after another. It ends sooner after five epochs without a lower objective.

    Parameters
    ----------
    batches : object
        The objective as a sum over batches, as :func:`sgd` takes it.
    fun : callable
        The same objective, as :func:`quickprop` takes it.
    x0 : ndarray of shape (n_weights,), float32 or float64
        Where it starts.
    max_iter : int, default=1000
        Number of epochs and of iterations of QuickProp together.
    tol : float, default=1e-5
        Of QuickProp: stop when the objective fell by at most ``tol`` of its value over ten
        iterations.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, nit) after every epoch and iteration; may raise
        StopIteration.
    rng : RandomState
        Orders the batches.
    rate : float, optional
        The first rate of the descent; by default the one with the lowest objective after ten epochs
        over a sample, or a quarter of it if the sample is not all.
    n_seen : float, default=0.0
        As in :func:`sgd`.

    Returns
    -------
    OptimizeResult
        With x, fun, nit, nfev, success, message and the first rate of the descent.

    References
    ----------
    .. [1] Suzuki, McDermott, Isozaki, "Training Conditional Random Fields with Multivariate
       Evaluation Measures", COLING/ACL 2006, section 5.1, doi:10.3115/1220175.1220203.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import gpd_quickprop
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
    >>> fun = lambda x: (Distances().loss(x), 3 * x - 9)
    >>> result = gpd_quickprop(Distances(), fun, np.zeros(1), rng=np.random.RandomState(0))
    >>> result.x.round(4), result.success
    (array([3.]), True)
    """
    ended = False

    def observe(intermediate_result: OptimizeResult) -> None:
        nonlocal ended
        try:
            if callback is not None:
                callback(intermediate_result)
        except StopIteration:
            ended = True
            raise

    if rate is None:
        sample = sample_of(batches, batches.order(rng))
        losses = [loss_after_epochs(batches, x0, sample, N_EPOCHS, each) for each in RATES]
        share = SHARE if len(sample) < len(batches.sizes) else 1.0
        rate = share * float(RATES[int(np.argmin(losses))])
    how: Any = {"callback": observe, "rng": rng, "rate": rate, "n_seen": n_seen}
    online = sgd(batches, x0, max_iter=min(N_EPOCHS, max_iter), tol=0.0, **how)
    if ended or online.nit >= max_iter:
        return online

    def counted(intermediate_result: OptimizeResult) -> None:
        intermediate_result.nit += online.nit
        observe(intermediate_result)

    end = quickprop(fun, online.x, max_iter=max_iter - online.nit, tol=tol, callback=counted)
    if not end.success and online.nit + end.nit >= max_iter:
        end.message = still_falls(max_iter)
    numbers = {name: online[name] + end[name] for name in ("nit", "nfev")}
    return OptimizeResult({**end, **numbers, "initial": online.initial, "rate": online.rate})
