"""Generalised iterative scaling."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.special import wrightomega
from sklearn.utils import check_array

from ._progress import VECTOR, Objective, Progress, as_weights, negligible


def iterative_scaling(
    fun: Objective,
    x0: np.ndarray,
    *,
    empirical: np.ndarray,
    total: float,
    n_sequences: float,
    sigma: float = np.inf,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Minimise a negative log-likelihood by generalised iterative scaling.

    Each step minimises an upper bound of ``fun(x) + sum(x ** 2) / (2 * sigma ** 2)`` that
    separates into one term per weight, so the objective never rises (Darroch & Ratcliff 1972;
    Lafferty, McCallum & Pereira 2001; with a Gaussian prior Chen & Rosenfeld 1999). It takes many
    more iterations than :func:`lbfgs`.

    Parameters
    ----------
    fun : callable
        Maps x to the negative log-likelihood of a log-linear model with features that are not
        negative, and to its gradient: expected minus empirical counts of the features.
    x0 : ndarray of shape (n_weights,), float32 or float64
        Where it starts.
    empirical : array-like of shape (n_weights,), not negative
        Counts of the features. Without a prior the weight of a feature that does not occur has
        no finite optimum: it is not trained, and stays as in x0.
    total : float, positive
        Upper bound on the sum of the features of a path, for all paths of all sequences.
    n_sequences : float
        Number of sequences, or the sum of their weights.
    sigma : float, default=inf
        Standard deviation of the Gaussian prior; infinity for none.
    max_iter, tol, callback : as in :func:`lbfgs`

    Returns
    -------
    OptimizeResult
        With x, fun, jac, nit, nfev, success and message. ``fun`` and ``jac`` include the prior;
        ``jac`` is zero for weights that are not trained.

    Raises
    ------
    ValueError
        If x0 is not a finite vector, fun is not finite there, empirical is negative or of
        another shape, total or sigma is not positive, or the empirical counts add up to more
        than total in each sequence.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import iterative_scaling
    >>> def fun(x):  # a coin that shows heads in 3 of 4 throws; the feature counts heads
    ...     return float(4 * np.log1p(np.exp(x[0])) - 3 * x[0]), 4 / (1 + np.exp(-x)) - 3
    >>> result = iterative_scaling(fun, np.zeros(1), empirical=[3], total=1, n_sequences=4)
    >>> bool(np.isclose(result.x[0], np.log(3)))
    True
    """
    x = as_weights(x0)
    empirical = _check(x, empirical, total, n_sequences, sigma)
    active = (empirical > 0) | np.isfinite(sigma)

    def penalised(x: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = fun(x)
        penalty = np.sum(np.square(x, dtype=float)) / (2.0 * sigma**2)
        return loss + penalty, np.where(active, gradient + x / sigma**2, 0.0)

    progress = Progress(penalised, max_iter, tol, callback)
    loss, gradient = progress.evaluate(x)
    progress.start(x, loss, gradient)
    while not progress.message:
        expected = np.where(active, gradient - x / sigma**2 + empirical, 0.0)
        expected = np.maximum(expected, np.finfo(x.dtype).eps * empirical)
        if np.isinf(sigma):
            step = np.zeros(len(x))
            step[active] = np.log(empirical[active] / expected[active]) / total
            # The slack feature of a path is ``total`` minus its other features. To give it the
            # weight theta is to add theta * total to all paths alike, and -theta to the weight of
            # every other feature.
            slack = [n_sequences * total - it[active].sum() for it in (empirical, expected)]
            if min(slack) > 0.0:
                step[active] -= np.log(slack[0] / slack[1]) / total
        else:
            step = _prior_step(empirical, expected, x, total, sigma**2)
        x_new = (x + step).astype(x.dtype)
        trial, gradient_new = progress.evaluate(x_new)
        if not trial <= loss and not negligible(trial - loss, loss, x.dtype):
            progress.stop(False, "the objective rose: total may be too small")
        else:
            x, loss, gradient = x_new, trial, gradient_new
            progress.advance(x, loss, gradient)
    return progress.result(x, loss, gradient)


def _prior_step(
    empirical: np.ndarray, expected: np.ndarray, x: np.ndarray, total: float, variance: float
) -> np.ndarray:
    """Return the step d with empirical = expected exp(total d) + (x + d) / variance.

    With v = variance * (empirical - x / variance) and w = total * (v - d), the equation is
    w + log(w) = log(total * variance * expected) + total * v. The slack feature is not part of the
    prior, so its weight is zero.
    """
    with np.errstate(divide="ignore"):
        scale = np.log(total * variance * expected)
    v = variance * empirical - x
    w = wrightomega(scale + total * v)
    # Of two equal expressions for d, use the one without cancellation.
    large = w > 1.0
    return np.where(large, np.log(np.where(large, w, 1.0)) - scale, total * v - w) / total


def _check(
    x: np.ndarray, empirical: np.ndarray, total: float, n_sequences: float, sigma: float
) -> np.ndarray:
    empirical = check_array(empirical, dtype=np.float64, input_name="empirical", **VECTOR)
    if empirical.shape != x.shape or np.any(empirical < 0):
        raise ValueError(f"empirical must have shape {x.shape} and not be negative")
    for name, value in (("total", total), ("sigma", sigma)):
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")
    if empirical.sum() > n_sequences * total * (1 + 1e-6):
        raise ValueError(
            f"total is {total}, but the empirical counts of {n_sequences} sequences add up to "
            f"{empirical.sum()}"
        )
    return empirical
