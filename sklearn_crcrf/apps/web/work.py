"""What requests ask for: in a few threads, in slices, and no more than can be done in time."""

import asyncio
import os
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request

# A unit of cost is about a microsecond of one processor.
MAX_COST = 3_000_000.0
"""Of one request."""
MAX_SENTENCE_COST = 300_000.0
"""Of one sentence, whose labels cannot be computed in slices."""
MAX_WAITING = 4 * MAX_COST
SLICE_COST = 20_000.0
# Seconds after which a request gives way to others.
SLICE = 0.05
# Seconds after which is looked whether a client that waits has left.
LOOK = 0.1

Reserve = Callable[[float], None]
Steps = Generator[str, None, None]


class Busy(Exception):
    """Other requests ask for all that can be done in time."""


class Job:
    """The steps of a request, as long as somebody waits for them."""

    def __init__(self, steps: Steps, request: Request):
        self._steps, self._request = steps, request
        self.pieces: list[str] = []
        self.error: Exception | None = None
        self.is_done = self.is_over = False

    def advance(self) -> None:
        """Take steps for the time of a slice."""
        stop = time.monotonic() + SLICE
        while not self.is_over:
            try:
                self.pieces.append(next(self._steps))
            except StopIteration:
                self.is_done = True
                return
            except Exception as error:  # which nobody may wait for any more
                traceback.clear_frames(error.__traceback__)  # which would keep the content
                self.error = error
                self.is_done = True
                return
            if time.monotonic() > stop:
                return

    def look(self) -> None:
        """Give up if the client has left, or else look again later."""
        self.is_over = self.is_over or _has_left(self._request)
        if not self.is_over:
            asyncio.get_running_loop().call_later(LOOK, self.look)


class Work:
    """Runs the steps of requests in turn.

    Parameters
    ----------
    n_threads : int, optional
        By default all processors but one, which answers, and at most four.
    """

    def __init__(self, n_threads: int | None = None):
        n_threads = n_threads or min(max((os.cpu_count() or 1) - 1, 1), 4)
        self._threads = ThreadPoolExecutor(n_threads, "work")
        self._lock, self._waiting = threading.Lock(), 0.0

    async def run(
        self, steps_of: Callable[[Reserve], Steps], request: Request, timeout: float
    ) -> str:
        """Join the pieces of text that the steps of a request yield.

        Parameters
        ----------
        steps_of : callable
            Returns the steps. It takes a function, to be called with the cost before any work.
        request : Request
        timeout : float
            Seconds.

        Raises
        ------
        ClientDisconnect
            If the client has left before the last step.
        TimeoutError
            If it takes too long.
        Busy
            If too much waits.
        """
        with self._reserving() as reserve:
            job, loop = Job(steps_of(reserve), request), asyncio.get_running_loop()
            loop.call_later(LOOK, job.look)
            try:
                async with asyncio.timeout(timeout):
                    while not job.is_done:
                        await loop.run_in_executor(self._threads, job.advance)
                        if job.is_over:
                            raise ClientDisconnect
            finally:
                job.is_over = True
        if job.error is not None:
            raise job.error
        return "".join(job.pieces)

    @contextmanager
    def _reserving(self) -> Iterator[Reserve]:
        """Yield a function that reserves costs until the end."""
        own, is_over = 0.0, False

        def reserve(cost: float) -> None:
            nonlocal own
            with self._lock:
                if is_over or self._waiting + cost > MAX_WAITING:
                    raise Busy
                self._waiting += cost
                own += cost

        try:
            yield reserve
        finally:
            with self._lock:  # a thread may still be in the last slice
                is_over = True
                self._waiting -= own


def _has_left(request: Request) -> bool:
    """Whether the client is known to have left; unlike ``is_disconnected``, without a wait."""
    step = request.receive()
    try:
        step.send(None)  # type: ignore[attr-defined]
    except StopIteration as message:
        return message.value["type"] == "http.disconnect"
    step.close()  # type: ignore[attr-defined]
    return False


def in_slices(costs: list[float]) -> Iterator[slice]:
    """Cut a list of sentences, whose costs are given, into runs of little cost."""
    start, cost = 0, 0.0
    for stop, own in enumerate(costs):
        if start < stop and cost + own > SLICE_COST:
            yield slice(start, stop)
            start, cost = stop, 0.0
        cost += own
    if start < len(costs):
        yield slice(start, len(costs))
