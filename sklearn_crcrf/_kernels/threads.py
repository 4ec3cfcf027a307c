"""Threads that share the tasks of a computation."""

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

from .machine import Turns

# How long a thread without a task stays awake: a few milliseconds.
PATIENCE = 3000


class Threads:
    """A pool of ``n_threads`` threads, including the calling thread.

    Each thread takes the next task when it has finished one. A waiting thread stays awake at
    first, because falling asleep and waking up take long.

    Parameters
    ----------
    n_threads : int, at least 1

    Examples
    --------
    >>> from sklearn_crcrf._kernels.threads import Threads
    >>> with Threads(2) as threads:
    ...     threads.map(str.upper, "abc")
    ['A', 'B', 'C']
    """

    def __init__(self, n_threads: int):
        self.n_threads = n_threads
        # With more threads than processors, awake waiting threads would hold up the others.
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
        """Call the function for each task, after all tasks that were started before.

        ``results`` must be called before the ``with`` statement ends.
        """
        return Started(self._team, function, tasks)

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        """Return the results of the function for all tasks.

        Raises
        ------
        Exception
            Any exception that the function raises.
        """
        return self.start(function, tasks).results()


class Started:
    """Tasks that have been started."""

    def __init__(self, team: "_Team", function: Callable[[Any], Any], tasks: Iterable[Any]):
        self._team, self._function, self._tasks = team, function, list(tasks)
        self._results = [None] * len(self._tasks)
        self._done: list[int] = []
        self._error: BaseException | None = None
        team.tasks.extend((self, i) for i in range(len(self._tasks)))
        team.signal()

    def do(self, i: int) -> None:
        """Do one of the tasks."""
        try:
            self._results[i] = self._function(self._tasks[i])
        except BaseException as error:
            self._error = error
        self._done.append(i)

    def is_over(self) -> bool:
        """Whether all tasks are done, or one has failed."""
        return len(self._done) == len(self._tasks) or self._error is not None

    def results(self) -> list[Any]:
        """Return the results of the function for all tasks, once all are done.

        Until then this thread does tasks too, also tasks of other calls.
        """
        self._team.work_until(self.is_over, [])
        if self._error is not None:
            raise self._error
        return self._results


class _Team:
    """The state that threads share. Each operation on a list or a queue is atomic."""

    def __init__(self, patience: int):
        self.turns = Turns(patience)
        self.tasks: deque[tuple[Started, int]] = deque()
        self._busy: list[None] = []
        # A sleeping thread waits for its bell.
        self._bells: list[SimpleQueue] = []
        self._is_closed = False

    def serve(self) -> None:
        """Do tasks until the team is closed."""
        self.turns.join()
        self.work_until(lambda: self._is_closed, self._busy)
        self.turns.leave()

    def work_until(self, is_over: Callable[[], bool], busy: list[None]) -> None:
        """Do tasks or wait; ``busy`` has an entry for this thread while it may be doing a task."""
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
        """Make all waiting threads look for tasks again."""
        self.turns.signal()
        # Another thread may be doing the same.
        with suppress(IndexError):
            while self._bells:
                self._bells.pop().put(None)

    def stop(self) -> None:
        """Drop all tasks not yet begun, and wait until other threads have finished theirs."""
        self.tasks.clear()
        while self._busy:
            time.sleep(0.001)

    def close(self) -> None:
        """Let the other threads end."""
        self._is_closed = True
        self.signal()

    def _wait(self, n_seen: int) -> None:
        """Wait until there are more than ``n_seen`` signals; may return a little earlier."""
        self.turns.wait(n_seen)
        if self.turns.n_signals == n_seen:
            self.turns.leave()
            bell: SimpleQueue[None] = SimpleQueue()
            self._bells.append(bell)
            # Any signal from here on rings the bell.
            if self.turns.n_signals == n_seen:
                bell.get()
            self.turns.join()


_mine = threading.local()


def my_threads(n_threads: int) -> Threads:
    """Return the ``n_threads`` threads of the calling thread, the same at every call."""
    if not hasattr(_mine, "threads"):
        _mine.threads = {}
    if n_threads not in _mine.threads:
        _mine.threads[n_threads] = Threads(n_threads)
    return _mine.threads[n_threads]


def _forget() -> None:
    """Drop the threads in a forked process, where they do not exist."""
    global _mine
    _mine = threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
