"""Orthant-wise limited-memory quasi-Newton."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_array

from .._kernels.sparse.weights import l1_norm, project, pseudo_gradient
from ._progress import Objective, Progress, as_weights
from .lbfgs import descend


def owlqn(
    fun: Objective,
    x0: np.ndarray,
    *,
    c1: float | np.ndarray,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    memory: int = 6,
    n_threads: int = 1,
    overwrite_x0: bool = False,
) -> OptimizeResult:
    """Minimise ``fun(x) + sum(c1 * abs(x))``, which makes many weights exactly zero.

    Every step stays in one orthant, where the penalty is linear (Andrew & Gao 2007). If fun itself
    has kinks, few directions along them remain, and the run may end far above the minimum.

    Parameters
    ----------
    fun : callable
        The smooth part: maps x to a float and its gradient, an array like x. It must not keep
        or change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64
    c1 : float or array-like of shape (n_weights,), not negative
        Strength of the penalty; 0 for a weight without penalty.
    max_iter, tol, callback, n_threads, overwrite_x0 : as in :func:`lbfgs`
    memory : int, default=6
        Number of last steps that the direction is computed from. More of them cost time: steps from
        other orthants mislead the direction, and the line search takes more evaluations.

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
    start = as_weights(x0, overwrite_x0)
    c1 = _penalties(c1, start)
    pseudo = np.empty_like(start)

    def penalised(x: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = fun(x)
        return loss + l1_norm(x, c1), gradient

    def steepest_of(x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        pseudo_gradient(x, gradient, c1, pseudo)
        return pseudo

    progress = Progress(penalised, max_iter, tol, callback)
    return descend(progress, start, memory, n_threads, steepest_of, project)


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
