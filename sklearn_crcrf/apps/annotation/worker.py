"""A thread that learns what changed, and puts the pool in a new order."""

import threading
from collections.abc import Callable
from itertools import chain

import numpy as np

from ...estimators.empirical import EmpiricalCRF
from .annotations import Change
from .doubt import Values, doubts, suspicions
from .learner import Learner
from .order import Order
from .pool import Pool

# Number of sentences at the front of the order, which are measured again after every change.
N_FRONT = 1000


class Worker:
    """Learns and measures in the background.

    Parameters
    ----------
    learner : Learner
    pool : Pool
    order : Order
        Its values are replaced.
    measure : {"mixed", "entropy", "margin"} or None
        The measure of doubt; None leaves the order as it is. Sentences with gold labels are ordered
        by suspicion, whatever the measure is.

    Attributes
    ----------
    error : Exception or None
        What ended the thread.
    """

    def __init__(self, learner: Learner, pool: Pool, order: Order, measure: str | None):
        self._learner, self._pool, self._order = learner, pool, order
        self._measure = measure
        self._measured = np.zeros(len(pool.sentences), dtype=np.int64)  # by which model
        self._changes: list[Change] = []
        self._condition = threading.Condition()
        self._n_given = self._n_taken = 0
        self._is_closing = self._is_idle = False
        self._remaining: Values = iter(())
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="annotation")

    def start(self) -> None:
        """Start, with a first order of the pool."""
        self._remaining = self._measuring()
        self._thread.start()

    def close(self) -> None:
        """End the thread, and wait until it has ended."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def model(self) -> EmpiricalCRF | None:
        """The latest model."""
        return self._learner.model

    def give(self, change: Change) -> None:
        """Have a change learned."""
        with self._condition:
            self._changes.append(change)
            self._n_given += 1
            self._condition.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all changes are learned; return whether they are.

        Raises
        ------
        RuntimeError
            If the thread has ended by an error.
        """
        return self._wait(lambda: self._n_taken == self._n_given, timeout)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until all changes are learned and the pool is in its new order."""
        return self._wait(lambda: self._n_taken == self._n_given and self._is_idle, timeout)

    def _wait(self, is_done: Callable[[], bool], timeout: float | None) -> bool:
        with self._condition:
            self._condition.wait_for(lambda: is_done() or self.error is not None, timeout)
            if self.error is not None:
                raise RuntimeError(f"learning has ended: {self.error!r}") from self.error
            return is_done()

    def _run(self) -> None:
        try:
            while self._next():
                pass
        except BaseException as error:  # whatever it was, those who wait must know
            with self._condition:
                self.error = error
                self._condition.notify_all()

    def _next(self) -> bool:
        """Learn what is new, or else measure some sentences, or else wait."""
        with self._condition:
            changes, self._changes = self._changes, []
            if self._is_closing:
                return False
        if changes:
            self._learner.take(changes)
            if self._pool.gold is None:
                self._remaining = self._measuring()
            with self._condition:
                self._n_taken += len(changes)
                self._is_idle = False
                self._condition.notify_all()
            return True
        measured = next(self._remaining, None)
        if measured is not None:
            sentences, values = measured
            self._order.values[sentences] = values
            self._measured[sentences] = self._n_taken
            return True
        with self._condition:
            self._is_idle = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._changes or self._is_closing)
            self._is_idle = False
        return True

    def _measuring(self) -> Values:
        """Measure all that waits with the latest model: the front, then what waits for longest."""
        model, waiting = self._learner.model, self._order.waiting
        if model is None or self._measure is None:
            return iter(())
        if self._learner.labels is not None:
            return suspicions(model, self._pool._replace(gold=[*self._learner.labels]), waiting)
        front, rest = waiting[:N_FRONT], waiting[N_FRONT:]
        rest = rest[np.argsort(self._measured[rest], kind="stable")]
        return chain(*(doubts(model, self._pool, part, self._measure) for part in (front, rest)))
