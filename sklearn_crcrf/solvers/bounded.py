"""Limited-memory BFGS with lower bounds of the weights."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, OptimizeResult

from ._progress import Objective
from ._scipy import scipy_minimize

__all__ = ["bounded_lbfgs"]


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
    return scipy_minimize(
        "L-BFGS-B",
        fun,
        x0,
        max_iter=max_iter,
        tol=tol,
        callback=callback,
        bounds=Bounds(lower, np.inf),
        options={"gtol": 0.0, "ftol": 0.0, "maxfun": 10 * max_iter + 100},
    )
