"""The methods of scipy.optimize.minimize, with the stopping rule and results of this package."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from ._progress import LIMIT, SMALLER, Objective, Progress, as_weights, negligible

__all__ = ["scipy_minimize"]


class _Point(NamedTuple):
    x: np.ndarray
    loss: float
    gradient: np.ndarray


def scipy_minimize(
    method: str,
    fun: Objective,
    x0: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[OptimizeResult], None] | None,
    hessp: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    bounds: Bounds | None = None,
    options: dict[str, Any],
) -> OptimizeResult:
    """Minimise by a method of scipy, which computes in double precision.

    Parameters
    ----------
    method : str
    fun, x0, max_iter, tol, callback : as in all solvers
    hessp : callable, optional
    bounds : Bounds, optional
    options : dict
        Options of the method. They should disable its own stopping rule.

    Returns
    -------
    OptimizeResult
    """
    progress = Progress(fun, max_iter, tol, callback)
    x0 = as_weights(x0)
    newest = current = _evaluate(progress, x0)
    progress.start(*current)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal newest
        x = x.astype(x0.dtype)
        if not np.array_equal(x, newest.x):
            newest = _evaluate(progress, x)
        return newest.loss, newest.gradient.astype(float)

    def observe(intermediate_result: OptimizeResult) -> None:
        nonlocal current
        x = intermediate_result.x.astype(x0.dtype)
        if np.array_equal(x, current.x):
            return  # A rejected step is no sign of convergence.
        objective(x)
        current = newest
        progress.advance(*current)
        if progress.message:
            raise StopIteration

    if not progress.message:
        options = {"maxiter": max_iter, **options}
        given: dict[str, Any] = {"jac": True, "callback": observe, "options": options}
        given |= {} if hessp is None else {"hessp": _finite(hessp, x0.dtype)}
        given |= {} if bounds is None else {"bounds": bounds}
        found = minimize(objective, x0.astype(float), method=method, **given)
    if not progress.message:
        square = float(current.gradient.astype(float) @ current.gradient)
        at_minimum = negligible(min(progress.decrease, square), current.loss, x0.dtype)
        progress.stop(at_minimum, LIMIT if at_minimum else f"no lower point: {found.message}")
    return progress.result(*current)


def _finite(hessp: Callable, dtype: np.dtype) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The product of the Hessian and a vector, computed in ``dtype``; an error if not finite."""

    def product(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        curvature = np.asarray(hessp(x.astype(dtype), v.astype(dtype)), dtype=float)
        if not (np.isfinite(curvature).all() and np.isfinite(float(v @ curvature))):
            raise ValueError(f"hessp is not finite; {SMALLER}")
        return curvature

    return product


def _evaluate(progress: Progress, x: np.ndarray) -> _Point:
    loss, gradient = progress.evaluate(x)
    # Some methods only compare objectives, and would accept NaN.
    return _Point(x, loss if loss == loss else np.inf, gradient.copy())
