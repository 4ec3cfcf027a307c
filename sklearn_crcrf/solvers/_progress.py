"""Iteration counts, callbacks and the stopping rule of all solvers."""

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_array

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

STOPPED = "stopped by the callback"
LIMIT = "the objective falls no further in this precision"
SMALLER = "smaller attribute values or weights of sequences may help"
# Number of iterations over which the objective must fall by tol, as in CRFsuite.
PERIOD = 10
# How check_array checks vectors.
VECTOR: dict[str, Any] = {"ensure_2d": False, "ensure_min_samples": 0}


def as_weights(x0: Any, overwrite: bool = False) -> np.ndarray:
    """Return the initial weights, copied unless they may be overwritten; a tensor stays one.

    Raises
    ------
    ValueError
        If x0 is not one-dimensional and finite.
    """
    if type(x0).__module__ == "torch":
        return x0 if overwrite else x0.clone()
    types = (np.float64, np.float32)
    x = check_array(x0, dtype=types, copy=not overwrite, input_name="x0", **VECTOR)
    if x.ndim != 1:
        raise ValueError(f"x0 must be one-dimensional, got shape {x.shape}")
    return x


def still_falls(max_iter: int) -> str:
    """Return the message of a run that ended after the largest number of iterations."""
    return f"the objective still fell after max_iter={max_iter} iterations"


def arrays_of(x: Any) -> Any:
    """Return the module with the functions of arrays like x: numpy, or torch for a tensor."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def negligible(decrease: float, loss: float, dtype: np.dtype) -> bool:
    """Whether a decrease of the objective is within its rounding error."""
    finfo = np.finfo if isinstance(dtype, np.dtype) else sys.modules["torch"].finfo
    return decrease <= 100 * float(finfo(dtype).eps) * max(1.0, abs(loss))


class Progress:
    """The iterations of one run of a solver.

    Parameters
    ----------
    fun : callable
        Maps x to the objective and its gradient.
    max_iter : int
    tol : float
        The run has converged when the objective fell by at most ``tol`` of its value over the
        last ``period`` iterations, or the gradient is zero up to rounding.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, jac, nit, nfev, step) after every iteration; it may
        raise StopIteration.
    period : int
        Number of iterations over which the objective must fall.
    epsilon : float
        The run has also converged when the length of the gradient is at most ``epsilon`` times that
        of x, or ``epsilon`` if x is shorter than 1.

    Attributes
    ----------
    nit, nfev : int
    step : float or None
        The step of the last line search, as a fraction of the step that it tried first.
    success : bool
    message : str
        Why the run ended; empty while it goes on.
    proven : bool
        Whether no direction leads down from the point where the run ended.
    initial : float
        The objective at the initial point.
    decrease : float
        Decrease of the objective in the last iteration.
    """

    def __init__(
        self,
        fun: Any,
        max_iter: int,
        tol: float,
        callback: Callable | None = None,
        period: int = PERIOD,
        epsilon: float = 0.0,
    ):
        self.fun, self.max_iter, self.tol, self.callback = fun, max_iter, tol, callback
        self.nit, self.nfev, self.success, self.message = 0, 0, False, ""
        self.step: float | None = None
        self.proven, self.initial, self._epsilon = False, np.nan, epsilon
        self._losses: deque[float] = deque(maxlen=period + 1)

    @property
    def decrease(self) -> float:
        return self._losses[-2] - self._losses[-1] if len(self._losses) > 1 else np.inf

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, in the precision of x.

        Raises
        ------
        ValueError
            If the shape of the gradient differs from x.
        """
        self.nfev += 1
        loss, gradient = self.fun(x)
        if isinstance(x, np.ndarray):
            gradient = np.ascontiguousarray(gradient, dtype=x.dtype)
        if gradient.shape != x.shape:
            raise ValueError(f"fun returned a gradient of shape {gradient.shape}, not {x.shape}")
        return float(loss), gradient

    def start(self, x: np.ndarray, loss: float, gradient: np.ndarray | None) -> None:
        """Record the initial point.

        Raises
        ------
        ValueError
            If the objective or its gradient is not finite at the initial point.
        """
        if not (np.isfinite(loss) and (gradient is None or arrays_of(x).isfinite(gradient).all())):
            steepest = 0.0 if gradient is None else max(abs(gradient).tolist(), default=0.0)
            raise ValueError(
                f"fun is not finite at x0: the objective is {loss}, and derivatives are up to "
                f"{steepest:g}; {SMALLER}"
            )
        self.initial = self.initial if self.nit else loss
        self._check(x, loss, gradient)

    def go_on(self, max_iter: int, callback: Callable | None) -> None:
        """Let the run start again from its last point, with another function."""
        self.stop(False, "")
        self.max_iter, self.callback = max_iter, callback
        self._losses.clear()

    def advance(self, x: np.ndarray, loss: float, gradient: np.ndarray | None) -> None:
        """Record the end of an iteration."""
        self.nit += 1
        if self.callback is not None:
            try:
                state = {"nit": self.nit, "nfev": self.nfev, "step": self.step}
                self.callback(OptimizeResult(x=x, fun=loss, jac=gradient, **state))
            except StopIteration:
                self.stop(True, STOPPED)
                return
        self._check(x, loss, gradient)

    def stop(self, success: bool, message: str, proven: bool = False) -> None:
        """End the run."""
        self.success, self.message, self.proven = success, message, proven

    def result(self, x: np.ndarray, loss: float, gradient: np.ndarray | None) -> OptimizeResult:
        """Return the result that a solver returns."""
        names = ("nit", "nfev", "success", "message", "proven", "initial")
        state = {name: vars(self)[name] for name in names}
        return OptimizeResult(x=x, fun=loss, jac=gradient, **state)

    def _check(self, x: np.ndarray, loss: float, gradient: np.ndarray | None) -> None:
        self._losses.append(loss)
        is_full = len(self._losses) == self._losses.maxlen
        # What a gradient may be from rounding alone.
        xp = arrays_of(x)
        level, length = xp.finfo(x.dtype).eps ** (2 / 3), max(1.0, xp.linalg.norm(x))
        steepest = np.inf if gradient is None else xp.linalg.norm(gradient)
        if steepest <= max(level, self._epsilon) * length:
            self.stop(True, "the gradient is zero", proven=bool(steepest <= level * length))
        elif is_full and self._losses[0] - loss <= self.tol * abs(loss):
            self.stop(True, "the objective fell by less than tol over the last iterations")
        elif self.nit >= self.max_iter:
            self.stop(False, still_falls(self.max_iter))
