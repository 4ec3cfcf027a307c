"""QuickProp: a parabola for each weight."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import LIMIT, Objective, Progress, as_weights, negligible
from .lbfgs import backtrack

GROWTH = 1.75


def quickprop(
    fun: Objective,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    first_step: float = 0.01,
) -> OptimizeResult:
    """Minimise a function by parabolas through the derivatives of each weight (Fahlman 1988).

    Each weight goes to the point where its derivative would vanish if it were linear between the
    last two points. This step is at most 1.75 times the last one, and exactly 1.75 times if the
    derivative grew. A weight that did not move, or whose derivative kept its sign, also takes a
    gradient step. If the objective does not fall, all steps are shortened until it does.

    Besides x it stores four vectors in the precision of x.

    Parameters
    ----------
    fun : callable
        Maps x to the objective, a float, and its gradient, an array like x. It must not keep or
        change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64
        Where it starts.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol, callback : as in :func:`lbfgs`
    first_step : float, default=0.01
        First step of the weight with the largest derivative at x0. It fixes the learning rate of
        all gradient steps.

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
    >>> from sklearn_crcrf.solvers import quickprop
    >>> result = quickprop(lambda x: (float((x - 2) @ (x - 2)), 2 * (x - 2)), np.zeros(3))
    >>> np.round(result.x, 6), result.success
    (array([2., 2., 2.]), True)
    """
    progress = Progress(fun, max_iter, tol, callback)
    x = as_weights(x0)
    x_new, change = np.empty_like(x), np.zeros_like(x)
    loss, gradient = progress.evaluate(x)
    gradient, before = gradient.copy(), np.zeros_like(x)
    progress.start(x, loss, gradient)
    rate = first_step / max(np.abs(gradient).max(initial=0.0), np.finfo(x.dtype).tiny)
    while not progress.message:
        direction = _direction(gradient, before, change, rate)
        expected = float(np.dot(gradient, direction))

        def place(step: float, x=x, x_new=x_new, direction=direction, expected=expected) -> float:
            np.add(x, x.dtype.type(step) * direction, out=x_new)
            return step * expected

        found = backtrack(progress, place, place(1.0), loss, x_new)
        if found is not None:
            loss, slope = found
            np.subtract(x_new, x, out=change)
            before, gradient = gradient, slope.copy()
            x, x_new = x_new, x
            progress.advance(x, loss, gradient)
        elif negligible(-expected, loss, x.dtype):
            progress.stop(True, LIMIT)
        elif change.any():
            change[:] = 0.0
        else:
            progress.stop(False, "no lower point was found")
    return progress.result(x, loss, gradient)


def _direction(
    gradient: np.ndarray, before: np.ndarray, change: np.ndarray, rate: float
) -> np.ndarray:
    """Return the step of each weight, given its derivatives here and before its last change."""
    # Without a move, or with equal derivatives, a weight has no parabola.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        to_vertex = np.abs(change * gradient / (before - gradient))
    farthest = GROWTH * np.abs(change)
    opens_upwards = (gradient - before) * change > 0
    length = np.where(opens_upwards, np.fmin(to_vertex, farthest), farthest)
    share = np.where((change == 0) | (gradient * before > 0), rate * np.abs(gradient), 0.0)
    return (-np.sign(gradient) * (length + share)).astype(gradient.dtype)
