"""The monitor that a solver calls after every iteration."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from . import check_not_stopped, is_nested

__all__ = ["Iteration", "Training", "listening"]


class Iteration(NamedTuple):
    """What there is to tell of an iteration; as a string, one line.

    Parameters
    ----------
    number : int
    seconds : float
        Since the training began.
    loss : float
    gradient_norm, validation_loss : float, optional
    """

    number: int
    seconds: float
    loss: float
    gradient_norm: float | None = None
    validation_loss: float | None = None

    def __str__(self) -> str:
        line = f"iteration {self.number}: {self.seconds:.2f} s, loss {self.loss:.6g}"
        if self.gradient_norm is not None:
            line += f", gradient norm {self.gradient_norm:.3g}"
        if self.validation_loss is not None:
            line += f", validation loss {self.validation_loss:.6g}"
        return line


_listener: ContextVar[Callable[[Iteration], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[Iteration], None]) -> Iterator[None]:
    """Meanwhile all iterations are told to a function, but for fits inside of another.

    Parameters
    ----------
    listener : callable
        Takes an Iteration.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.training.monitor import listening
    >>> numbers = []
    >>> with listening(lambda iteration: numbers.append(iteration.number)):
    ...     crf = CRF(tol=1.0).fit([["a"], ["b"]], [["x"], ["y"]])
    >>> numbers == list(range(1, crf.n_iter_ + 1))
    True
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


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
        self._losses: list[float] = []
        self._validation_losses: list[float] = []
        self.n_iter = 0
        self.x: Any = None

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
            x = self._best(x, float(self._validate(x)))
        self._losses.append(float(intermediate_result.fun))
        # Both in one step: an interrupt comes before or after it.
        vars(self).update(x=x, n_iter=len(self._losses))
        self._tell(intermediate_result)
        if self._notify(intermediate_result.x) or self._has_stalled():
            raise StopIteration

    @property
    def may_end(self) -> bool:
        """Whether training may end at an interrupt and keep its weights, without an exception."""
        return self.x is not None and not is_nested()

    def _best(self, x: np.ndarray, loss: float) -> np.ndarray | None:
        """The weights with the least validation loss so far."""
        best = x.copy() if loss < min(self._validation_losses, default=np.inf) else self.x
        self._validation_losses.append(loss)
        return best

    def _has_stalled(self) -> bool:
        losses = self._validation_losses
        return len(losses) > self._patience and min(losses) < min(losses[-self._patience :])

    def _tell(self, result: OptimizeResult) -> None:
        listener = None if is_nested() else _listener.get()
        prints = self._verbose and self.n_iter % self._verbose == 0
        if not prints and listener is None:
            return
        iteration = Iteration(
            self.n_iter,
            time.perf_counter() - self._start,
            float(result.fun),
            None if result.get("jac") is None else float(np.linalg.norm(result.jac)),
            self._validation_losses[-1] if self._validation_losses else None,
        )
        if prints:
            print(iteration, flush=True)
        if listener is not None:
            listener(iteration)
