"""Limited-memory BFGS, and the loop of quasi-Newton methods: direction, line search, history."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ._history import History, TensorHistory
from ._progress import (
    LIMIT,
    PERIOD,
    SMALLER,
    Objective,
    Progress,
    arrays_of,
    as_weights,
    negligible,
)

NOT_LOWER = "the line search found no lower point"

# The fraction of the expected decrease that a step must reach.
SUFFICIENT = 1e-4
MAX_TRIALS = 20
# Maximum number of turns of the direction at a kink, and the factor by which each must shorten it.
MAX_TURNS, SHORTER = 50, 0.999


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
    period: int = PERIOD,
    epsilon: float = 0.0,
) -> OptimizeResult:
    """Minimise a smooth function by limited-memory BFGS (Liu & Nocedal 1989).

    Besides x it stores two vectors in the precision of x and ``2 * memory`` vectors in single
    precision, or in 16 bits per number for more than 167,772 weights.

    Parameters
    ----------
    fun : callable
        Maps x to the objective, a float, and its gradient, an array like x. It must not keep or
        change x; it may return the same array every time.
    x0 : ndarray of shape (n_weights,), float32 or float64, or tensor of torch
        Where it starts. All other vectors have the precision of x0; inner products are in double
        precision. With a tensor ``fun`` and the callback get tensors, and all work is done on its
        device, in its precision.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop when the objective fell by at most ``tol`` of its value over ``period`` iterations.
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
    period : int, default=10
        Number of iterations over which ``tol`` is measured.
    epsilon : float, default=0.0
        Stop also when the length of the gradient is at most ``epsilon`` times that of x, or
        ``epsilon`` if x is shorter than 1.

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
    progress = Progress(fun, max_iter, tol, callback, period, epsilon)
    return descend(progress, as_weights(x0, overwrite_x0), memory, n_threads)


def descend(
    progress: Progress,
    x: np.ndarray,
    memory: int | None,
    n_threads: int,
    steepest_of: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda x, gradient: gradient,
    project: Callable[[np.ndarray, np.ndarray, np.ndarray], float] | None = None,
) -> OptimizeResult:
    """Minimise by quasi-Newton steps.

    If not even the negative gradient leads down, x lies at a kink. Then the gradient on the other
    side of the kink is used too: minus the shortest convex combination of both gradients leads
    down on both sides, and is zero at the minimum (Wolfe 1975).

    Parameters
    ----------
    progress : Progress
    x : ndarray or tensor of shape (n_weights,)
        The initial point; is overwritten.
    memory, n_threads : as in History
    steepest_of : callable, optional
        Returns the pseudo-gradient at x, given x and the gradient; by default the gradient.
    project : callable, optional
        Takes x, the (pseudo-)gradient at x, and a new point; moves the new point into the permitted
        region, and returns the change of the objective that is expected there.

    Returns
    -------
    OptimizeResult
    """
    x_new = arrays_of(x).empty_like(x)
    loss, gradient = progress.evaluate(x)
    history = (History if isinstance(x, np.ndarray) else TensorHistory)(x, memory, n_threads)
    history.keep(x, x, gradient, steepest_of(x, gradient))
    progress.start(x, loss, history.steepest)
    if not np.isfinite(float(history.steepest @ history.steepest)):
        raise ValueError(f"the squares of the derivatives at x0 are not finite; {SMALLER}")
    turns = 0
    while not progress.message:

        def place(step: float, x=x, x_new=x_new) -> float:
            expected = history.move(x, step, x_new)
            return expected if project is None else project(x, history.steepest, x_new)

        expected = place(1.0)
        found = backtrack(progress, place, expected, loss, x_new)
        if found is not None:
            loss, gradient = found
            history.keep(x, x_new, gradient, steepest_of(x_new, gradient))
            x, x_new = x_new, x
            progress.advance(x, loss, history.steepest)
            turns = 0
        elif negligible(-expected, loss, x.dtype):
            progress.stop(True, LIMIT)
        elif len(history):
            history.clear()
        elif turns < MAX_TURNS:
            here, (other, gradient) = 1.0 * history.steepest, progress.evaluate(x_new)
            there = steepest_of(x_new, gradient)
            # By how much the plane at the new point lies below the objective at x.
            error = loss - other - float(there @ (x - x_new))
            _turn(progress, history, x, loss, here, there, error)
            turns += 1
        else:
            progress.stop(False, NOT_LOWER)
    return progress.result(x, loss, history.steepest)


def _turn(
    progress: Progress,
    history: History,
    x: np.ndarray,
    loss: float,
    here: np.ndarray,
    there: np.ndarray,
    error: float,
) -> None:
    """Continue from x with the shortest convex combination of two (pseudo-)gradients, or stop."""
    change = here - there
    square = float(change @ change)
    share = min(max(float(here @ change) / square, 0.0), 1.0) if square > 0 else 0.0
    shortest = here - share * change
    norm = arrays_of(x).linalg.norm
    length = float(norm(shortest))
    if not length < SHORTER * norm(here):
        progress.stop(False, NOT_LOWER)
    elif length <= progress.tol * abs(loss):
        is_near = error <= progress.tol * abs(loss)
        progress.stop(is_near, "no direction leads down by more than tol" if is_near else NOT_LOWER)
    else:
        history.keep(x, x, history.gradient, shortest)


def backtrack(
    progress: Progress,
    place: Callable[[float], float],
    expected: float,
    loss: float,
    x_new: np.ndarray,
) -> tuple[float, np.ndarray] | None:
    """Return the objective and its gradient at the first x_new that is low enough (Armijo 1966).

    Each shorter step goes to the minimum of the parabola through the known values.
    """
    step = 1.0
    for _ in range(MAX_TRIALS):
        if not expected < 0.0:
            return None
        trial, gradient = progress.evaluate(x_new)
        if trial <= loss + SUFFICIENT * expected:
            progress.step = step
            return trial, gradient
        shorter = expected / (2.0 * (loss + expected - trial)) if np.isfinite(trial) else 0.1
        step *= min(max(shorter, 0.1), 0.5)
        expected = place(step)
    return None
