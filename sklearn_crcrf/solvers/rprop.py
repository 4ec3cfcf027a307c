"""Resilient propagation."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ._progress import LIMIT, Objective, Progress, as_weights, negligible

GROWTH, SHRINKAGE = 1.2, 0.5
SMALLEST, LARGEST = 1e-8, 50.0
MAX_TRIALS = 20


def rprop(
    fun: Objective,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callable[[OptimizeResult], None] | None = None,
    first_step: float = 0.01,
) -> OptimizeResult:
    """Minimise a function by the signs of its derivatives (Riedmiller & Braun 1993).

    Each weight has its own step size. It grows by a factor of 1.2 while the derivative keeps its
    sign, and is halved when the sign changes; then the weight rests for an iteration, as in
    iRprop- (Igel & Hüsken 2003). The size of derivatives does not matter, which suits losses that
    are flat in places. For a loss with kinks it finds the minimum if each kink involves a single
    weight; if only several weights together lead down along a kink, it stops above the minimum.
    If the objective rises, or is not finite, the step is undone and tried again after halving the
    step sizes of the weights whose derivatives changed sign, or of all weights if none did.

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
        First step size of every weight; later ones are from 1e-8 to 50.

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
    >>> from sklearn_crcrf.solvers import rprop
    >>> result = rprop(lambda x: (float((x - 2) @ (x - 2)), 2 * (x - 2)), np.zeros(3), tol=0.0)
    >>> np.round(result.x, 6), result.success
    (array([2., 2., 2.]), True)
    """
    progress = Progress(fun, max_iter, tol, callback)
    x = as_weights(x0)
    x_new, steps = np.empty_like(x), np.full_like(x, first_step)
    loss, gradient = progress.evaluate(x)
    gradient = gradient.copy()
    progress.start(x, loss, gradient)
    signs = np.sign(gradient)
    while not progress.message:
        expected = float(np.dot(np.abs(gradient), steps))
        for _ in range(MAX_TRIALS):
            np.subtract(x, signs * steps, out=x_new)
            trial, slope = progress.evaluate(x_new)
            kept = np.sign(slope) * signs
            if trial <= loss:
                break
            changed = kept < 0 if np.isfinite(trial) else np.zeros(len(x), dtype=bool)
            steps[changed if changed.any() else slice(None)] *= SHRINKAGE
            np.maximum(steps, SMALLEST, out=steps)
        else:
            is_exact = bool(negligible(min(expected, progress.decrease), loss, x.dtype))
            progress.stop(is_exact, LIMIT if is_exact else "no lower point was found")
            break
        steps[kept > 0] *= GROWTH
        steps[kept < 0] *= SHRINKAGE
        np.clip(steps, SMALLEST, LARGEST, out=steps)
        # A weight whose derivative changed its sign rests.
        signs[:] = np.where(kept < 0, 0.0, np.sign(slope))
        gradient[:] = slope
        loss, (x, x_new) = trial, (x_new, x)
        progress.advance(x, loss, gradient)
    return progress.result(x, loss, gradient)
