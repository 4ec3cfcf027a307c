"""Newton's method with conjugate gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import Objective
from ._scipy import scipy_minimize

__all__ = ["newton_cg"]


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
    options = {"gtol": 0.0, "max_trust_radius": np.inf}
    run: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": callback}
    return scipy_minimize("trust-ncg", fun, x0, hessp=hessp, options=options, **run)
