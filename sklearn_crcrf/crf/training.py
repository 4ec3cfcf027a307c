"""What happens after every iteration of a solver."""

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

__all__ = ["Training"]


class Training:
    """What happens after every iteration: the loss is noted, told, and the model validated.

    Parameters
    ----------
    verbose : int
        Print a line for every so many iterations; 0 for none.
    validate : callable or None
        Takes the weights and returns a loss on data that is not trained on.
    patience : int
        Stop when the validation loss has not fallen over so many iterations.
    notify : callable
        Takes the weights too, and returns whether to stop.

    Attributes
    ----------
    losses : list of float
    validation_losses : list of float
    x : ndarray or None
        The weights of the last iteration, or the best of those that were validated.
    """

    def __init__(self, verbose: int, validate: Callable | None, patience: int, notify: Callable):
        self._verbose, self._validate, self._patience = verbose, validate, patience
        self._notify = notify
        self._start = time.perf_counter()
        self.losses, self.validation_losses, self.x = [], [], None

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        self.losses.append(float(intermediate_result.fun))
        if self._validate is None:
            self.x = intermediate_result.x
        else:
            self._keep_best(intermediate_result.x)
        if self._verbose and intermediate_result.nit % self._verbose == 0:
            self._tell(intermediate_result)
        if self._notify(intermediate_result.x) or self._has_stalled():
            raise StopIteration

    def _keep_best(self, x: np.ndarray) -> None:
        loss = self._validate(x)
        if loss < min(self.validation_losses, default=np.inf):
            self.x = x.copy()
        self.validation_losses.append(loss)

    def _has_stalled(self) -> bool:
        losses = self.validation_losses
        return len(losses) > self._patience and min(losses) < min(losses[-self._patience :])

    def _tell(self, result: OptimizeResult) -> None:
        seconds = time.perf_counter() - self._start
        line = f"iteration {result.nit}: {seconds:.2f} s, loss {result.fun:.6g}"
        if result.get("jac") is not None:
            line += f", gradient norm {np.linalg.norm(result.jac):.3g}"
        if self.validation_losses:
            line += f", validation loss {self.validation_losses[-1]:.6g}"
        print(line, flush=True)
