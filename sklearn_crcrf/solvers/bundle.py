"""Bundles of cutting planes: for losses with kinks, with a certified gap to the minimum."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import SMALLER, Objective, Progress, as_weights

# A plane that has had no share of the minimum for this number of iterations is left out.
PATIENCE = 20
# The minimum over planes is found up to this fraction of the gap, by at most this number of steps.
ACCURACY, MOST_STEPS = 0.1, 10_000
WITHIN_TOL = "the objective is within tol of its minimum"
INEXACT = "the gap to the minimum is lost in rounding errors"


def bundle(
    fun: Objective,
    x0: np.ndarray,
    *,
    sigma: float,
    lower: np.ndarray | None = None,
    max_iter: int = 1000,
    tol: float = 1e-3,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    r"""Minimise a convex loss, which may have kinks, plus a Gaussian prior's penalty [1]_.

    The gradient :math:`g_i` at each point :math:`x_i` visited gives a plane below the loss R. The
    next point is the minimum of the penalty plus the highest plane,

    .. math::

       \min_x \frac{\lVert x \rVert^2}{2 \sigma^2} + \max_i \left[R(x_i) + g_i^\top (x -
       x_i)\right],

    which is at most the minimum of the objective. So the distance to it is known.

    Parameters
    ----------
    fun : callable
        Maps x to the objective, with the penalty, and its gradient, or a subgradient.
    x0 : ndarray of shape (n_weights,), float32 or float64
        Where it starts.
    sigma : float
        Standard deviation of the Gaussian prior, finite.
    lower : ndarray of shape (n_weights,), optional
        Bounds of the weights: 0 for a weight that must not be negative, -inf for one without a
        bound.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-3
        Training has converged when the objective is within this fraction of the minimum.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, jac, nit) after every iteration.

    Returns
    -------
    OptimizeResult
        With x, fun, jac, nit, nfev, success and message, and ``gap``: the most by which fun
        exceeds the minimum.

    Raises
    ------
    ValueError
        If x0 is not a finite vector, or fun is not finite there.

    References
    ----------
    .. [1] Teo, Vishwanathan, Smola, Le, "Bundle Methods for Regularized Risk Minimization", Journal
       of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import bundle
    >>> def absolute(x):  # |x - 3|, whose kink is its minimum, plus the penalty
    ...     return float(abs(x[0] - 3) + x @ x / 200), np.sign(x - 3) + x / 100
    >>> result = bundle(absolute, np.zeros(1), sigma=10.0, tol=1e-6)
    >>> result.x.round(3), result.success
    (array([3.]), True)
    """
    # The objective may fall by little in many iterations before it falls again.
    progress = Progress(fun, max_iter, tol=-np.inf, callback=callback)
    x = as_weights(x0)
    if lower is not None:
        x = np.maximum(x, lower).astype(x.dtype)
    variance = float(sigma) ** 2
    planes = _Planes(len(x), variance, lower)
    loss, gradient = progress.evaluate(x)
    best, gap = (x, loss, gradient.copy()), np.inf
    progress.start(*best)
    while not progress.message:
        penalty = float(x.astype(float) @ x) / (2 * variance)
        slope = gradient.astype(float) - x / variance
        planes.add(slope, loss - penalty - float(slope @ x))
        bound = planes.minimise(best[1])
        x = planes.point().astype(x.dtype)
        loss, gradient = progress.evaluate(x)
        if loss < best[1]:
            best = x, loss, gradient.copy()
        gap = best[1] - bound
        progress.advance(*best)
        if gap <= tol * abs(best[1]):
            is_exact = planes.rounding() <= tol * abs(best[1])
            message = WITHIN_TOL if is_exact else f"{INEXACT}; {SMALLER}"
            progress.stop(is_exact, message, proven=is_exact)
    result = progress.result(*best)
    result.gap = gap
    return result


class _Planes:
    """The penalty plus the highest of some planes, and its minimum by the shares of the planes.

        x(a) = max(-sigma^2 sum_i a_i g_i, lower),
        max_a  a @ offsets + (sum_i a_i g_i) @ x(a) + ||x(a)||^2 / (2 sigma^2)

    over shares a that are not negative and add up to one.

    Parameters
    ----------
    n_weights : int
    variance : float
    lower : ndarray of shape (n_weights,), optional
    """

    def __init__(self, n_weights: int, variance: float, lower: np.ndarray | None):
        self._variance = variance
        is_bounded = np.zeros(n_weights, dtype=bool) if lower is None else lower > -np.inf
        self._bounded = np.flatnonzero(is_bounded)
        self._lower = np.empty(0) if lower is None else lower[is_bounded]
        self._slopes, self._offsets = np.empty((0, n_weights)), np.empty(0)
        # Products of all slopes, and of their entries that have no bound.
        self._products, self._free = np.empty((2, 0, 0))
        self._shares, self._unused = np.empty(0), np.empty(0, dtype=int)

    def add(self, slope: np.ndarray, offset: float) -> None:
        """Add a plane, and leave out those that have long been unused."""
        kept = np.flatnonzero(self._unused < PATIENCE)
        self._slopes = np.vstack([self._slopes[kept], slope])
        self._offsets = np.append(self._offsets[kept], offset)
        self._shares = np.append(self._shares[kept], 0.0 if len(kept) else 1.0)
        self._unused = np.append(self._unused[kept], 0)
        products = self._slopes @ slope
        of_bounded = self._slopes[:, self._bounded] @ slope[self._bounded]
        grid = np.ix_(kept, kept)
        self._products = _bordered(self._products[grid], products)
        self._free = _bordered(self._free[grid], products - of_bounded)

    def minimise(self, loss: float) -> float:
        """Move shares between pairs of planes; return a lower bound of the objective.

        ``loss`` is the lowest objective found so far.
        """
        diagonal = np.diag(self._products)
        for _ in range(MOST_STEPS):
            value, slack = self._value()
            up = int(np.argmax(slack))
            down = int(np.argmin(np.where(self._shares > 0, slack, np.inf)))
            if slack[up] - self._shares @ slack <= ACCURACY * (loss - value):
                break
            # At least the curvature in this direction, as bounds make it smaller.
            curvature = diagonal[up] + diagonal[down] - 2 * self._products[up, down]
            rise = slack[up] - slack[down]
            step = rise / (self._variance * curvature) if curvature > 0 else np.inf
            step = min(step, self._shares[down])
            if step <= 0:
                break
            self._shares[up] += step
            self._shares[down] = self._shares[down] - step
        self._unused = np.where(self._shares > 0, 0, self._unused + 1)
        return value

    def rounding(self) -> float:
        """Return the size of the rounding error of the bound."""
        used = np.diag(self._products)[self._shares > 0]
        return float(np.finfo(float).eps * self._variance * used.max())

    def point(self) -> np.ndarray:
        """Return the weights x(a) at the present shares a."""
        x = -self._variance * (self._shares @ self._slopes)
        x[self._bounded] = np.maximum(x[self._bounded], self._lower)
        return x

    def _value(self) -> tuple[float, np.ndarray]:
        """Return the dual objective, and its derivatives by the shares."""
        slopes = self._slopes[:, self._bounded]
        slope, free = self._shares @ slopes, self._free @ self._shares
        bounded = np.maximum(-self._variance * slope, self._lower)
        derivatives = self._offsets - self._variance * free + slopes @ bounded
        value = self._shares @ self._offsets - 0.5 * self._variance * (self._shares @ free)
        value += slope @ bounded + bounded @ bounded / (2 * self._variance)
        return float(value), derivatives


def _bordered(matrix: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix with one more row and column."""
    return np.block([[matrix, last[:-1, None]], [last[None, :-1], last[-1:, None]]])
