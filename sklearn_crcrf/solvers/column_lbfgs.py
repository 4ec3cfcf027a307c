"""Limited-memory BFGS for many problems that are evaluated together."""

from collections import deque
from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import LIMIT, PERIOD, SMALLER, negligible

# Armijo's condition, and by how much a step that does not meet it is shortened.
SUFFICIENT, SHORTER, MAX_TRIES = 1e-4, 0.25, 12
# Inner products are taken in the precision of x within blocks of this number of rows.
ROWS = 1024


def column_lbfgs(
    fun: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    memory: int = 6,
) -> OptimizeResult:
    """Minimise a smooth function of each column by limited-memory BFGS (Liu & Nocedal 1989).

    Each column has its own steps, history and end, as if it were alone: one L-BFGS for the sum
    would take steps that fit no column. All columns are evaluated at once.

    Parameters
    ----------
    fun : callable
        Maps x to the objective of each column, and the gradient, an array like x.
    x0 : ndarray of shape (n_weights, n_columns), float32 or float64
        Where it starts.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-5
        A column ends when its objective fell by at most ``tol`` of its value over ten iterations.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, jac, nit), ``fun`` being the sum over columns, after
        every iteration. StopIteration ends the run, with success.
    memory : int, default=6
        Number of last steps that the directions are computed from.

    Returns
    -------
    OptimizeResult
        With x, fun (an array), jac, nit, nfev, success and message.

    Raises
    ------
    ValueError
        If fun is not finite at x0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.solvers import column_lbfgs
    >>> scale = np.array([[1.0, 50.0], [3.0, 7.0]])
    >>> result = column_lbfgs(
    ...     lambda x: ((scale * (x - 2) ** 2).sum(axis=0), 2 * scale * (x - 2)), np.zeros((2, 2))
    ... )
    >>> result.x.round(3), result.success
    (array([[2., 2.],
           [2., 2.]]), True)
    """
    x = x0.copy()
    value, gradient = fun(x)
    square = _inner(gradient, gradient)
    if not (np.isfinite(value).all() and np.isfinite(square).all()):
        raise ValueError(f"fun is not finite at x0; {SMALLER}")
    steps, nit, nfev = _Steps(memory), 0, 1
    values = deque([value], maxlen=PERIOD + 1)
    first, active = value, square > 0
    success, message = True, "the objective of every column has converged"
    while active.any():
        if nit >= max_iter:
            success, message = False, f"columns were still falling after max_iter={max_iter}"
            break
        direction = steps.direction(gradient)
        slope = _inner(direction, gradient)
        found = _search(fun, x, value, gradient, direction, np.where(active, slope, 0.0))
        x_new, value_new, gradient_new, moved, n_tries = found
        nfev, nit = nfev + n_tries, nit + 1
        steps.add(x_new - x, gradient_new - gradient)
        x, value, gradient = x_new, value_new, gradient_new
        values.append(value)
        if (active & ~moved & (value == first) & ~_is_negligible(slope, value, x.dtype)).any():
            success, message = False, f"the line search found no lower point; {SMALLER}"
        active &= moved
        if len(values) > PERIOD:
            active &= values[0] - value > tol * np.abs(value)
        if callback is not None:
            try:
                callback(OptimizeResult(x=x, fun=float(value.sum()), jac=gradient, nit=nit))
            except StopIteration:
                message = "stopped by the callback"
                break
    if not active.any() and nit < PERIOD:
        message = LIMIT
    return OptimizeResult(
        x=x, fun=value, jac=gradient, nit=nit, nfev=nfev, success=success, message=message
    )


class _Steps:
    """The last steps and changes of the gradient, for all columns."""

    def __init__(self, memory: int):
        self._kept: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=memory)
        self._scale: np.ndarray | None = None

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a step; columns without positive curvature along it do not use it."""
        curvature, square = _inner(step, change), _inner(change, change)
        counts = curvature > 1e-10 * square
        inverse = np.where(counts, 1.0 / np.where(counts, curvature, 1.0), 0.0)
        self._kept.append((step, change, inverse))
        scale = np.where(counts, curvature / np.where(counts, square, 1.0), 0.0)
        self._scale = scale if self._scale is None else np.where(counts, scale, self._scale)

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Return the inverse Hessian, as the steps know it, times minus the gradient."""
        q, factors, dtype = -gradient, [], gradient.dtype
        for step, change, inverse in reversed(self._kept):
            factor = inverse * _inner(step, q)
            q -= factor.astype(dtype) * change
            factors.append(factor)
        unit = 1.0 / np.sqrt(np.maximum(_inner(gradient, gradient), 1e-30))
        scale = unit if self._scale is None else np.where(self._scale > 0, self._scale, unit)
        q *= scale.astype(dtype)
        for (step, change, inverse), factor in zip(self._kept, reversed(factors), strict=True):
            q += (factor - inverse * _inner(change, q)).astype(dtype) * step
        return q


def _is_negligible(slope: np.ndarray, value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Whether each column would fall by no more than its rounding error."""
    pairs = zip(-slope, value, strict=True)
    return np.array([negligible(fall, loss, dtype) for fall, loss in pairs])


def _search(fun, x, value, gradient, direction, slope):
    """Shorten the step of each column until its objective falls; a column may stay where it is."""
    length = np.where(slope < 0, 1.0, 0.0)
    is_too_far, n_tries = length > 0, 0
    while is_too_far.any() and n_tries < MAX_TRIES:
        x_new = x + length.astype(x.dtype) * direction
        value_new, gradient_new = fun(x_new)
        is_too_far = ~(value_new <= value + SUFFICIENT * length * slope) & (length > 0)
        length, n_tries = np.where(is_too_far, SHORTER * length, length), n_tries + 1
    if n_tries == 0:
        return x, value, gradient, is_too_far, 0
    stays = is_too_far | (length == 0)
    x_new[:, stays], gradient_new[:, stays] = x[:, stays], gradient[:, stays]
    return x_new, np.where(stays, value, value_new), gradient_new, ~stays, n_tries


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the inner product of each column."""
    n, width = a.shape
    whole = n // ROWS * ROWS
    blocks = (-1, ROWS, width)
    head = np.einsum("bij,bij->bj", a[:whole].reshape(blocks), b[:whole].reshape(blocks))
    tail = np.einsum("ij,ij->j", a[whole:], b[whole:])
    return head.sum(axis=0, dtype=float) + tail
