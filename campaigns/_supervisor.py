"""Forks workers, and counts and names the inputs at which they crash or hang."""

import gc
import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import deque
from contextlib import suppress

import numpy as np
from _campaign import Campaign
from _crashes import crash, stack
from _report import Report
from _worker import END, Judgement, fail, work

__all__ = ["prepare", "supervise"]

PATIENCE = 0.1  # seconds between two looks at the clock
TO_WRITE = 0.3  # seconds that a process which hangs has to write where it is


def supervise(campaign: Campaign, report: Report, numbers: range, jobs: int, until: float) -> None:
    """Try all inputs, in workers that are replaced when they crash or hang.

    Parameters
    ----------
    campaign : Campaign
        It is prepared in this process.
    report : Report
        Takes the results, and has the seed.
    numbers : range
        The inputs.
    jobs : int
        Number of workers at a time.
    until : float
        No input is started after this time, by the monotonic clock.
    """
    prepare(campaign)
    sys.stdout.flush()
    gc.collect()
    gc.freeze()  # so that memory stays shared with the workers
    queue, workers = deque([numbers]), []
    with tempfile.TemporaryDirectory() as folder, selectors.DefaultSelector() as selector:
        try:
            while True:
                while len(workers) < jobs and queue and time.monotonic() < until:
                    worker = _Worker(campaign, report, _next(queue, campaign.batch), folder, until)
                    selector.register(worker.pipe, selectors.EVENT_READ, worker)
                    workers.append(worker)
                if not workers:
                    break
                for key, _ in selector.select(PATIENCE):
                    key.data.listen()
                for worker in [worker for worker in workers if worker.is_over()]:
                    selector.unregister(worker.pipe)
                    workers.remove(worker)
                    left = worker.close()
                    if left:
                        queue.appendleft(left)
        finally:
            for worker in workers:
                worker.kill()
            gc.unfreeze()


def prepare(campaign: Campaign) -> None:
    """Prepare a campaign, the same way each time."""
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002 (what random_state=None stands for)
    if campaign.prepare is not None:
        campaign.prepare()


def _next(queue: deque[range], size: int) -> range:
    numbers = queue.popleft()
    if len(numbers) > size:
        queue.appendleft(numbers[size:])
    return numbers[:size]


class _Worker:
    """A forked process that tries some inputs, one after the other."""

    def __init__(
        self, campaign: Campaign, report: Report, numbers: range, folder: str, until: float
    ):
        self._campaign, self._report, self._numbers = campaign, report, numbers
        self._text, self._is_closed, self._has_ended = b"", False, False
        self._folder = tempfile.mkdtemp(dir=folder)
        self._errors = os.path.join(self._folder, "stderr")
        self._heard = time.monotonic()
        self.pipe, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                work(campaign, report.seed, numbers, write, self._errors, until)
                status = 0
            except BaseException:
                fail(self._errors)
            finally:
                os._exit(status)
        os.close(write)

    def listen(self) -> None:
        """Read what the process has written, and pass it on to the report."""
        data = os.read(self.pipe, 1 << 16)
        self._is_closed = not data
        self._heard = time.monotonic()
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            if line + b"\n" == END:
                self._has_ended = True
            else:
                self._add(Judgement(*json.loads(line)))

    def is_over(self) -> bool:
        """Whether the process has ended, or takes too long for an input."""
        if self._is_closed or self._has_ended:
            return True
        return time.monotonic() - self._heard > self._campaign.limit

    def close(self) -> range:
        """Clean up after the process; return the inputs that have not been tried."""
        hangs = not self._has_ended and self._is_alive()
        if hangs:
            os.kill(self._pid, signal.SIGABRT)  # of which it writes where it is
            time.sleep(TO_WRITE)
        text = self._read_errors()
        status = self.kill()
        if hangs:
            self._add(Judgement("hung", f"at {stack(text) or '?'}", text, self._campaign.limit))
        elif not self._has_ended:
            self._add(Judgement("crashed", crash(status, text), text))
        return self._numbers

    def kill(self) -> int:
        """End the process and all that it has started; returns how it ended."""
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(self._pid, signal.SIGKILL)
        _, status = os.waitpid(self._pid, 0)
        os.close(self.pipe)
        shutil.rmtree(self._folder, ignore_errors=True)
        return status

    def _add(self, judgement: Judgement) -> None:
        self._report.add(self._numbers[0], judgement)
        self._numbers = self._numbers[1:]

    def _is_alive(self) -> bool:
        """Whether the process has not ended, nor ends at once; its status is not collected."""
        at_once = 0 if self._is_closed else os.WNOHANG
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | at_once) is None

    def _read_errors(self) -> str:
        try:
            with open(self._errors, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""
