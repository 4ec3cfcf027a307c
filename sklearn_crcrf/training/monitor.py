"""The monitor that a solver calls after every iteration."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from . import check_not_stopped, is_nested


class Iteration(NamedTuple):
    """What there is to tell of an iteration; as a string, one line.

    Parameters
    ----------
    number : int
    seconds : float
        Since the training began.
    loss : float
    gradient_norm, validation_loss : float, optional
    weights : ndarray, optional
        The weights, which the next iteration may change.
    n_evaluations : int
        How often the objective was evaluated since the training began.
    step : float, optional
        The step of the line search, as a fraction of the step that it tried first.
    model : callable, optional
        Returns the estimator as it would be if training ended now, until the next iteration.
    """

    number: int
    seconds: float
    loss: float
    gradient_norm: float | None = None
    validation_loss: float | None = None
    weights: np.ndarray | None = None
    n_evaluations: int = 0
    step: float | None = None
    model: Any = None

    def __str__(self) -> str:
        line = f"iteration {self.number}: {self.seconds:.2f} s, loss {self.loss:.6g}"
        if self.gradient_norm is not None:
            line += f", gradient norm {self.gradient_norm:.3g}"
        if self.validation_loss is not None:
            line += f", validation loss {self.validation_loss:.6g}"
        return line


class Step(NamedTuple):
    """What there is to tell of work whose size is known; as a string, one line.

    Parameters
    ----------
    what : str
    number : int
        The number of steps done.
    fraction : float
        The fraction of the work that is done.
    seconds : float
        Since the work began.
    """

    what: str
    number: int
    fraction: float
    seconds: float

    def __str__(self) -> str:
        line = f"{self.what} {self.number}: {100 * self.fraction:.0f} %"
        if not 0 < self.fraction < 1:
            return line
        return f"{line}, about {self.seconds * (1 / self.fraction - 1):.0f} s left"


_listener: ContextVar[Callable[[Any], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[Any], None]) -> Iterator[None]:
    """Meanwhile all iterations are told to a function, but for fits inside of another.

    Parameters
    ----------
    listener : callable
        Takes an Iteration, or a Step of work before the first iteration.

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


def steps(
    items: Iterable[Any], what: str, fraction: Callable[[int, Any], float], verbose: int = 0
) -> Iterator[Any]:
    """Return the items; what was done with each is told when the next one is asked for.

    Parameters
    ----------
    items : iterable
    what : str
        What is done, and the name of an item.
    fraction : callable
        Takes the number of items done and the last of them; returns which fraction of the work
        is done.
    verbose : int
        Print a line after every ``verbose`` items; 0 for none.

    Examples
    --------
    >>> from sklearn_crcrf.training.monitor import listening, steps
    >>> told = []
    >>> with listening(lambda step: told.append(str(step))):
    ...     done = list(steps("ab", "counting, part", lambda number, _: number / 2))
    >>> told
    ['counting, part 1: 50 %, about 0 s left', 'counting, part 2: 100 %']
    """
    start = time.perf_counter()
    for number, item in enumerate(items, 1):
        yield item
        check_not_stopped()
        seconds = time.perf_counter() - start
        _tell(number, verbose, partial(Step, what, number, fraction(number, item), seconds))


def _tell(number: int, verbose: int, make: Callable[[], Iteration | Step]) -> None:
    """Print every ``verbose``-th event, and tell all to the listener."""
    listener = None if is_nested() else _listener.get()
    prints = verbose and number % verbose == 0
    if not prints and listener is None:
        return
    event = make()
    if prints:
        print(event, flush=True)
    if listener is not None:
        listener(event)


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
    fitted : callable, optional
        Takes this object and the weights, and returns the estimator that they make.
    notify : callable, optional
        Takes a function that returns this estimator, and returns whether to stop. Neither may refer
        to this object by itself: as a circle, all that training used would stay in memory for a
        while.

    Attributes
    ----------
    n_iter : int
    x : ndarray or None
        The weights of the last iteration; with validation, the weights with the lowest loss.
    """

    def __init__(
        self,
        verbose: int,
        validate: Callable | None,
        patience: int,
        fitted: Callable[["Training", Any], Any] | None = None,
        notify: Callable[[Any], bool] = lambda model: False,
    ):
        self._verbose, self._validate, self._patience = verbose, validate, patience
        self._fitted, self._notify = fitted, notify
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
        result, validated = intermediate_result, self._validation_losses
        kept = result.x
        if self._validate is not None:
            loss = float(self._validate(result.x))
            kept = result.x.copy() if loss < min(validated, default=np.inf) else self.x
            validated.append(loss)
        self._losses.append(float(result.fun))
        # Both in one step: an interrupt comes before or after it.
        vars(self).update(x=kept, n_iter=len(self._losses))

        model = None if self._fitted is None else partial(self._fitted, self, result.x)

        def iteration() -> Iteration:
            return Iteration(
                self.n_iter,
                time.perf_counter() - self._start,
                float(result.fun),
                None if result.get("jac") is None else float(np.linalg.norm(result.jac)),
                validated[-1] if validated else None,
                result.x if isinstance(result.x, np.ndarray) else None,
                result.get("nfev", 0),
                result.get("step"),
                model,
            )

        _tell(self.n_iter, self._verbose, iteration)
        if self._notify(model):
            raise StopIteration
        if len(validated) > self._patience and min(validated) < min(validated[-self._patience :]):
            raise StopIteration

    @property
    def may_end(self) -> bool:
        """Whether training may end at an interrupt and keep its weights, without an exception."""
        return self.x is not None and not is_nested()
