"""Limited-memory BFGS."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ._descent import descend
from ._progress import Objective, Progress, as_weights

__all__ = ["lbfgs"]


def lbfgs(
    fun: Objective,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    memory: int | None = None,
    n_threads: int = 1,
    overwrite_x0: bool = False,
) -> OptimizeResult:
    """Minimise a smooth function by limited-memory BFGS (Liu & Nocedal 1989).

    Besides x it stores two vectors in the precision of x and ``2 * memory`` vectors in single
    precision, or in 16 bits per number for more than 167,772 weights.

    Parameters
    ----------
    fun : callable
        Maps x to the objective, a float, and its gradient, an array like x. It must not keep or
        change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64
        All other vectors have the precision of x0; inner products are in double precision.
    max_iter : int, default=1000
    tol : float, default=1e-5
        Stop when the objective fell by at most ``tol`` of its value over ten iterations.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, jac, nit) after every iteration. Its x does not
        change before the next call; StopIteration ends the run, with success.
    memory : int, optional
        Number of last steps that the direction is computed from; by default as many as fit into
        2^24 numbers, but from 6 to 100.
    n_threads : int, default=1
        Number of threads for vector operations; the result does not depend on it.
    overwrite_x0 : bool, default=False
        Whether x0 may be overwritten, which saves the memory of a vector.

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
    >>> from sklearn_crcrf.solvers import lbfgs
    >>> result = lbfgs(lambda x: (float((x - 2) @ (x - 2)), 2 * (x - 2)), np.zeros(3))
    >>> result.x, result.success
    (array([2., 2., 2.]), True)
    """
    progress = Progress(fun, max_iter, tol, callback)
    return descend(progress, as_weights(x0, overwrite_x0), memory, n_threads)
