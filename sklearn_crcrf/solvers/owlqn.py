"""Orthant-wise limited-memory quasi-Newton."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_array

from .._kernels.sparse.weights import bound_by_orthant, keep_orthant, l1_norm, pseudo_gradient
from ._progress import PERIOD, STOPPED, Objective, Progress, as_weights
from .lbfgs import descend

# Number of iterations in which no weight goes against the pseudo-gradient, which is fast while most
# weights still change their signs. After that these many would be held back for nothing.
ALIGNED = 100
# Number of last steps in these iterations, where steps from other orthants mislead, and after them.
FEW, MORE = 6, 20


def owlqn(
    fun: Objective,
    x0: np.ndarray,
    *,
    c1: float | np.ndarray,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    memory: int | None = None,
    n_threads: int = 1,
    overwrite_x0: bool = False,
    period: int = PERIOD,
    epsilon: float = 0.0,
    narrow: Callable[[np.ndarray], tuple[Objective, np.ndarray]] | None = None,
) -> OptimizeResult:
    """Minimise ``fun(x) + sum(c1 * abs(x))``, which makes many weights exactly zero.

    Every step stays in one orthant, where the penalty is linear (Andrew & Gao 2007). After
    the first hundred, only weights that are not zero or would leave zero take part, and weights
    other than zero may go against the pseudo-gradient, as in projected Newton methods
    (Bertsekas 1982). If fun itself has kinks, few directions along them remain, and the run may
    end far above the minimum.

    Parameters
    ----------
    fun : callable
        The smooth part: maps x to a float and its gradient, an array like x. It must not keep
        or change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64
        Where it starts.
    c1 : float or array-like of shape (n_weights,), not negative
        Strength of the penalty; 0 for a weight without penalty.
    max_iter, tol, callback : as in :func:`lbfgs`
    memory : int, optional
        Number of last steps that the direction is computed from; by default 6, and 20 after the
        first hundred iterations.
    n_threads, overwrite_x0, period, epsilon : as in :func:`lbfgs`
    narrow : callable, optional
        Takes a bool array of the weights that are to move; returns fun as a function of these
        alone, all others being zero, which takes less time, and a bool array of its weights, which
        may be more.

    Returns
    -------
    OptimizeResult
        As in :func:`lbfgs`. ``fun`` includes the penalty; ``jac`` is the pseudo-gradient, which
        is zero at the minimum.

    Raises
    ------
    ValueError
        If x0 is not a finite vector, fun is not finite there, or c1 is negative or of another
        shape.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import owlqn
    >>> target = np.array([3.0, 0.5, -2.0])
    >>> def fun(x):
    ...     return 0.5 * float((x - target) @ (x - target)), x - target
    >>> owlqn(fun, np.zeros(3), c1=1.0).x
    array([ 2.,  0., -1.])
    """
    x = as_weights(x0, overwrite_x0)
    c1 = _penalties(c1, x)
    progress = Progress(None, min(max_iter, ALIGNED), tol, callback, period, epsilon)
    result = _descend(progress, fun, x, c1, memory or FEW, n_threads, keep_orthant)
    is_over = progress.success or not progress.max_iter == progress.nit < max_iter
    while not is_over:
        x, moving = result.x, (result.x != 0) | (result.jac != 0)
        alone, moving = (_alone(fun, x, moving), moving) if narrow is None else narrow(moving)
        places = np.flatnonzero(moving)
        progress.go_on(max_iter, None if callback is None else _of_all(callback, x, places))
        own = c1[places], memory or MORE, n_threads
        x[places] = _descend(progress, alone, x[places], *own, bound_by_orthant).x
        del alone
        progress.fun, pseudo = _penalised(fun, c1), np.empty_like(x)
        loss, gradient = progress.evaluate(x)
        pseudo_gradient(x, gradient, c1, pseudo)
        before, result = result.fun, progress.result(x, loss, pseudo)
        is_over = (
            not progress.success
            or progress.message == STOPPED
            or not pseudo[~moving].any()
            or before - result.fun <= tol * abs(result.fun)
        )
    return result


def _descend(
    progress: Progress,
    fun: Objective,
    x: np.ndarray,
    c1: np.ndarray,
    memory: int,
    n_threads: int,
    project: Callable[[np.ndarray, np.ndarray, np.ndarray], float],
) -> OptimizeResult:
    """Minimise the function and the penalty; ``project`` brings each point into the orthant."""
    pseudo = np.empty_like(x)

    def steepest_of(x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        pseudo_gradient(x, gradient, c1, pseudo)
        return pseudo

    progress.fun = _penalised(fun, c1)
    return descend(progress, x, memory, n_threads, steepest_of, project)


def _penalised(fun: Objective, c1: np.ndarray) -> Objective:
    def penalised(x: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = fun(x)
        return loss + l1_norm(x, c1), gradient

    return penalised


def _alone(fun: Objective, x: np.ndarray, moving: np.ndarray) -> Objective:
    """Return the function of the weights that move; all others are zero."""
    point, places = np.zeros_like(x), np.flatnonzero(moving)

    def alone(own: np.ndarray) -> tuple[float, np.ndarray]:
        point[places] = own
        loss, gradient = fun(point)
        return loss, gradient[places]

    return alone


def _of_all(callback: Callable, x: np.ndarray, places: np.ndarray) -> Callable:
    """Return a callback for the weights at some places, which passes on all weights."""

    def tell(result: OptimizeResult) -> None:
        x[places] = result.x
        callback(OptimizeResult(result, x=x))

    return tell


def _penalties(c1: Any, x0: np.ndarray) -> np.ndarray:
    if np.ndim(c1):
        c1 = check_array(c1, dtype=x0.dtype, ensure_2d=False, input_name="c1")
        if c1.shape != x0.shape:
            raise ValueError(f"c1 has shape {c1.shape}, but x0 has shape {x0.shape}")
    else:
        c1 = float(c1)  # numpy turns an int of more than 64 bits into an object
    if not np.all(np.greater_equal(c1, 0)) or not np.all(np.isfinite(c1)):
        raise ValueError("c1 must be finite and not negative")
    return np.broadcast_to(np.asarray(c1, dtype=x0.dtype), x0.shape)
