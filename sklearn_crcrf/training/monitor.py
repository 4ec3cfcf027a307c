"""The monitor that a solver calls after every iteration."""

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from . import check_not_stopped, is_nested

__all__ = ["Training"]


class Training:
    """After every iteration, records and prints the loss and validates the model.

    Parameters
    ----------
    verbose : int
        Print a line after every ``verbose`` iterations; 0 for none.
    validate : callable or None
        Takes the weights and returns the loss on held-out data.
    patience : int
        Stop when the validation loss has not fallen for this number of iterations.
    notify : callable
        Takes the weights, and returns whether to stop.

    Attributes
    ----------
    n_iter : int
    x : ndarray or None
        The weights of the last iteration; with validation, the weights with the lowest loss.
    """

    def __init__(self, verbose: int, validate: Callable | None, patience: int, notify: Callable):
        self._verbose, self._validate, self._patience = verbose, validate, patience
        self._notify = notify
        self._start = time.perf_counter()
        self._losses, self._validation_losses = [], []
        self.n_iter, self.x = 0, None

    @property
    def losses(self) -> list[float]:
        """The training loss after each iteration."""
        return self._losses[: self.n_iter]

    @property
    def validation_losses(self) -> list[float]:
        """The validation loss after each iteration; empty without validation."""
        return self._validation_losses[: self.n_iter]

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        check_not_stopped()
        x = intermediate_result.x
        if self._validate is not None:
            x = self._best(x)
        self._losses.append(float(intermediate_result.fun))
        # Both in one step: an interrupt comes before or after it.
        vars(self).update(x=x, n_iter=len(self._losses))
        if self._verbose and intermediate_result.nit % self._verbose == 0:
            self._tell(intermediate_result)
        if self._notify(intermediate_result.x) or self._has_stalled():
            raise StopIteration

    @property
    def may_end(self) -> bool:
        """Whether training may end at an interrupt and keep its weights, without an exception."""
        return self.x is not None and not is_nested()

    def _best(self, x: np.ndarray) -> np.ndarray | None:
        """The weights with the least validation loss so far."""
        loss = float(self._validate(x))
        best = x.copy() if loss < min(self._validation_losses, default=np.inf) else self.x
        self._validation_losses.append(loss)
        return best

    def _has_stalled(self) -> bool:
        losses = self._validation_losses
        return len(losses) > self._patience and min(losses) < min(losses[-self._patience :])

    def _tell(self, result: OptimizeResult) -> None:
        seconds = time.perf_counter() - self._start
        line = f"iteration {result.nit}: {seconds:.2f} s, loss {result.fun:.6g}"
        if result.get("jac") is not None:
            line += f", gradient norm {np.linalg.norm(result.jac):.3g}"
        if self._validation_losses:
            line += f", validation loss {self._validation_losses[-1]:.6g}"
        print(line, flush=True)
