"""Solvers that are methods of scipy, with the stopping rule and results of this package."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from ._progress import LIMIT, SMALLER, Objective, Progress, as_weights, negligible


def bounded_lbfgs(
    fun: Objective,
    x0: np.ndarray,
    *,
    lower: np.ndarray,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Minimise a smooth function of weights that have lower bounds.

    Uses scipy's ``L-BFGS-B`` [1]_.

    Parameters
    ----------
    fun : callable
        Maps x to the objective, a float, and its gradient, an array like x.
    x0 : ndarray of shape (n_weights,), float32 or float64
        ``fun`` gets vectors in the precision of x0.
    lower : ndarray of shape (n_weights,)
        -inf for a weight without a bound.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol, callback : as in :func:`lbfgs`

    Returns
    -------
    OptimizeResult
        With x, fun, jac, nit, nfev, success and message.

    Raises
    ------
    ValueError
        If x0 is not a finite vector, or fun is not finite there.

    References
    ----------
    .. [1] Byrd, Lu, Nocedal, Zhu, "A Limited Memory Algorithm for Bound Constrained Optimization",
       SIAM Journal on Scientific Computing 16 (5), 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import bounded_lbfgs
    >>> away = np.array([1.0, -1.0])
    >>> square = lambda x: (float((x - away) @ (x - away)), 2 * (x - away))
    >>> bounded_lbfgs(square, np.zeros(2), lower=np.array([0.0, 0.0])).x
    array([1., 0.])
    """
    x0 = np.maximum(x0, lower).astype(np.asarray(x0).dtype)
    options = {"gtol": 0.0, "ftol": 0.0, "maxfun": 10 * max_iter + 100}
    progress = Progress(fun, max_iter, tol, callback)
    return _minimize("L-BFGS-B", progress, x0, options, bounds=Bounds(lower, np.inf))


def conjugate_gradient(
    fun: Objective,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Minimise a smooth function by conjugate gradients.

    Uses the directions of Polak and Ribiere with a coefficient that is not negative, as in scipy's
    ``CG`` (Nocedal & Wright 2006, section 5.2).

    Parameters
    ----------
    fun : callable
        Maps x to the objective, a float, and its gradient, an array like x. It must not keep or
        change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64
        ``fun`` gets vectors in the precision of x0.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol, callback : as in :func:`lbfgs`

    Returns
    -------
    OptimizeResult
        With x, fun, jac, nit, nfev, success and message.

    Raises
    ------
    ValueError
        If x0 is not a finite vector, or fun is not finite there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import conjugate_gradient
    >>> conjugate_gradient(lambda x: (float(x @ x), 2 * x), np.ones(3)).success
    True
    """
    return _minimize("CG", Progress(fun, max_iter, tol, callback), x0, {"gtol": 0.0})


def newton_cg(
    fun: Objective,
    x0: np.ndarray,
    *,
    hessp: Callable[[np.ndarray, np.ndarray], np.ndarray],
    max_iter: int = 100,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Minimise a smooth function by Newton steps within a trust region.

    The steps are found by conjugate gradients (Steihaug 1983), as in scipy's ``trust-ncg``. It
    takes few iterations, with many products with the Hessian in each.

    Parameters
    ----------
    fun : callable
        Maps x to the objective, a float, and its gradient, an array like x. It must not keep or
        change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64
        ``fun`` and ``hessp`` get vectors in the precision of x0.
    hessp : callable
        Maps x and a vector v to the product of the Hessian at x with v.
    max_iter : int, default=100
        Maximum number of iterations.
    tol, callback : as in :func:`lbfgs`

    Returns
    -------
    OptimizeResult
        With x, fun, jac, nit, nfev, success and message.

    Raises
    ------
    ValueError
        If x0 is not a finite vector, or fun is not finite there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import newton_cg
    >>> def fun(x):
    ...     return float(np.sum(np.cosh(x - 1))), np.sinh(x - 1)
    >>> newton_cg(fun, np.zeros(2), hessp=lambda x, v: np.cosh(x - 1) * v).x
    array([1., 1.])
    """
    x0 = as_weights(x0)

    def product(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        curvature = np.asarray(hessp(x.astype(x0.dtype), v.astype(x0.dtype)), dtype=float)
        if not (np.isfinite(curvature).all() and np.isfinite(float(v @ curvature))):
            raise ValueError(f"hessp is not finite; {SMALLER}")
        return curvature

    options = {"gtol": 0.0, "max_trust_radius": np.inf}
    progress = Progress(fun, max_iter, tol, callback)
    return _minimize("trust-ncg", progress, x0, options, hessp=product)


def _minimize(
    method: str, progress: Progress, x0: np.ndarray, options: dict[str, Any], **given: Any
) -> OptimizeResult:
    """Minimise by a method of scipy, which computes in double precision.

    Parameters
    ----------
    method : str
    progress : Progress
    x0 : as in all solvers
    options : dict
        Options of the method. They should disable its own stopping rule.
    **given
        Other arguments of :func:`scipy.optimize.minimize`.

    Returns
    -------
    OptimizeResult
    """

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        loss, gradient = progress.evaluate(x)
        # Some methods only compare objectives, and would accept NaN.
        return x, np.inf if np.isnan(loss) else loss, gradient.copy()

    x0 = as_weights(x0)
    newest = current = evaluate(x0)
    progress.start(*current)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal newest
        x = x.astype(x0.dtype)
        if not np.array_equal(x, newest[0]):
            newest = evaluate(x)
        _, loss, gradient = newest
        return loss, gradient.astype(float)

    def observe(intermediate_result: OptimizeResult) -> None:
        nonlocal current
        x = intermediate_result.x.astype(x0.dtype)
        if np.array_equal(x, current[0]):
            return  # A rejected step is no sign of convergence.
        objective(x)
        current = newest
        progress.advance(*current)
        if progress.message:
            raise StopIteration

    if not progress.message:
        given |= {"options": {"maxiter": progress.max_iter, **options}, "callback": observe}
        found = minimize(objective, x0.astype(float), method=method, jac=True, **given)
    if not progress.message:
        _, loss, gradient = current
        square = float(gradient.astype(float) @ gradient)
        at_minimum = negligible(min(progress.decrease, square), loss, x0.dtype)
        progress.stop(at_minimum, LIMIT if at_minimum else f"no lower point: {found.message}")
    return progress.result(*current)
