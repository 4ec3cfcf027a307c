"""Non-linear conjugate gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import Objective
from ._scipy import scipy_minimize

__all__ = ["conjugate_gradient"]


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
    run: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": callback}
    return scipy_minimize("CG", fun, x0, options={"gtol": 0.0}, **run)
