"""Threads that share out the tasks of a computation."""

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from joblib import cpu_count

from .._kernels._turns import Turns

__all__ = ["Started", "Threads", "my_threads"]

# For how long a thread without a task stays awake: some milliseconds.
PATIENCE = 3000


class Threads:
    """So many threads, of which the one that asks is one.

    Each takes the next task when it is done with one. Whoever has to wait stays awake at first, as
    it takes long to be put to sleep and woken.

    Parameters
    ----------
    n_threads : int, at least 1

    Examples
    --------
    >>> from sklearn_crcrf.utils.threads import Threads
    >>> with Threads(2) as threads:
    ...     threads.map(str.upper, "abc")
    ['A', 'B', 'C']
    """

    def __init__(self, n_threads: int):
        self.n_threads = n_threads
        # Where there are more threads than processors, those that wait would hold up the others.
        self._team = _Team(PATIENCE if n_threads <= cpu_count() else 0)
        for _ in range(n_threads - 1):
            threading.Thread(target=self._team.serve, daemon=True).start()
        weakref.finalize(self, self._team.close)

    def __enter__(self) -> "Threads":
        self._team.turns.join()
        return self

    def __exit__(self, error: type | None, *details: object) -> None:
        self._team.turns.leave()
        if error is not None:
            self._team.stop()

    def start(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> "Started":
        """Have the function called for each task, after those that were started before.

        The results must be asked for before the ``with`` statement ends.
        """
        return Started(self._team, function, tasks)

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        """What the function returns for each task.

        Raises
        ------
        Exception
            What the function raises.
        """
        return self.start(function, tasks).results()


class Started:
    """Tasks that are being done."""

    def __init__(self, team: "_Team", function: Callable[[Any], Any], tasks: Iterable[Any]):
        self._team, self._function, self._tasks = team, function, list(tasks)
        self._results = [None] * len(self._tasks)
        self._done: list[int] = []
        self._error: BaseException | None = None
        team.tasks.extend((self, i) for i in range(len(self._tasks)))
        team.signal()

    def do(self, i: int) -> None:
        """One of the tasks."""
        try:
            self._results[i] = self._function(self._tasks[i])
        except BaseException as error:
            self._error = error
        self._done.append(i)

    def is_over(self) -> bool:
        """Whether all tasks are done, or one has failed."""
        return len(self._done) == len(self._tasks) or self._error is not None

    def results(self) -> list[Any]:
        """What the function returned for each task, once all are done.

        Meanwhile this thread does what there is to do, of other tasks too.
        """
        self._team.work_until(self.is_over, [])
        if self._error is not None:
            raise self._error
        return self._results


class _Team:
    """What some threads share. Each operation on a list or a queue is a single step for them."""

    def __init__(self, patience: int):
        self.turns = Turns(patience)
        self.tasks: deque[tuple[Started, int]] = deque()
        self._busy: list[None] = []
        # What the threads that sleep will wake up from.
        self._bells: list[SimpleQueue] = []
        self._is_closed = False

    def serve(self) -> None:
        """Do tasks until the team is closed."""
        self.turns.join()
        self.work_until(lambda: self._is_closed, self._busy)
        self.turns.leave()

    def work_until(self, is_over: Callable[[], bool], busy: list[None]) -> None:
        """Do tasks or wait; in the list is an entry of this thread when it may be at a task."""
        while True:
            n_seen = self.turns.n_signals
            if is_over():
                break
            busy.append(None)
            try:
                started, i = self.tasks.popleft()
            except IndexError:
                busy.pop()
                self._wait(n_seen)
            else:
                started.do(i)
                busy.pop()
                self.signal()

    def signal(self) -> None:
        """Let all who wait look what is new."""
        self.turns.signal()
        # Another thread may be doing the same.
        with suppress(IndexError):
            while self._bells:
                self._bells.pop().put(None)

    def stop(self) -> None:
        """Forget all tasks but those that other threads are at, and wait for these."""
        self.tasks.clear()
        while self._busy:
            time.sleep(0.001)

    def close(self) -> None:
        """Let the other threads end."""
        self._is_closed = True
        self.signal()

    def _wait(self, n_seen: int) -> None:
        """Wait as long as there are no more signals than so many, or a little less."""
        self.turns.wait(n_seen)
        if self.turns.n_signals == n_seen:
            self.turns.leave()
            bell = SimpleQueue()
            self._bells.append(bell)
            # Who signals from here on rings it.
            if self.turns.n_signals == n_seen:
                bell.get()
            self.turns.join()


_mine = threading.local()


def my_threads(n_threads: int) -> Threads:
    """So many threads for the one that asks, the same each time."""
    if not hasattr(_mine, "threads"):
        _mine.threads = {}
    if n_threads not in _mine.threads:
        _mine.threads[n_threads] = Threads(n_threads)
    return _mine.threads[n_threads]


def _forget() -> None:
    """In a forked process there are no other threads."""
    global _mine
    _mine = threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
