"""Threads that share out the tasks of a computation."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["Threads"]


class Threads:
    """So many threads, of which the one that asks is one.

    Each takes the next task when it is done with one, and none only waits for the others while
    there are tasks: to be put to sleep and woken takes long.

    Parameters
    ----------
    n_threads : int, at least 1

    Examples
    --------
    >>> from sklearn_crcrf._threads import Threads
    >>> with Threads(2) as threads:
    ...     threads.map(str.upper, "abc")
    ['A', 'B', 'C']
    """

    def __init__(self, n_threads: int):
        self._n_others = n_threads - 1
        self._pool = ThreadPoolExecutor(max(1, self._n_others))

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the other threads."""
        self._pool.shutdown()

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        """What the function returns for each task.

        Raises
        ------
        Exception
            What the function raises.
        """
        tasks = list(tasks)
        results = [None] * len(tasks)
        left = iter(range(len(tasks)))

        def work() -> None:
            for i in left:
                results[i] = function(tasks[i])

        others = [self._pool.submit(work) for _ in range(min(self._n_others, len(tasks) - 1))]
        work()
        for other in others:
            other.result()
        return results
