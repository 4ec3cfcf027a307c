"""Runs campaigns by a command line: workers are forked, and replaced when they crash or hang."""

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
from _campaign import Campaign, Outcome, Wrong, show_error, show_inputs
from _crashes import crash, is_from_elsewhere, is_raised, is_sanitized, place_of, reported, stack
from _report import DEFECTS, Judgement, Report, write_table

UNLIMITED, FOREVER = 1 << 62, float("inf")
END = b"end\n"
PR_SET_PDEATHSIG = 1  # of Linux: a process ends with the one that started it
GIBIBYTES = 4
LENGTH = 600  # of a text; a line must fit into the buffer of a pipe, to be written at once
PATIENCE = 0.1  # seconds between two looks at the clock
TO_WRITE = 0.3  # seconds that a process which hangs has to write where it is


def main(description: str, campaigns: Sequence[Campaign], argv: Sequence[str] | None = None) -> int:
    """Run campaigns with the options of the command line.

    Parameters
    ----------
    description : str
        For the help.
    campaigns : sequence of Campaign
    argv : sequence of str, optional
        Arguments; by default the arguments of the process.

    Returns
    -------
    int
        Exit status: 1 if anything crashed, hung or was answered wrongly, else 0.
    """
    options = _options(description, campaigns, argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    chosen = [campaign for campaign in campaigns if campaign.name in options.names]
    if options.limit is not None:
        chosen = [replace(campaign, limit=options.limit) for campaign in chosen]
    if options.only is not None:
        return int(max(_repeat(campaign, options) for campaign in chosen))
    reports, end = [], time.monotonic() + 60 * options.minutes
    for k, campaign in enumerate(chosen):
        left = end - time.monotonic()
        reports.append(_run(campaign, options, left / (len(chosen) - k)))
        if options.output is not None:
            options.output.write_text(json.dumps([report.as_dict() for report in reports]))
    if options.table:
        write_table(reports)
    return int(any(report.has_defects for report in reports))


def _options(
    description: str, campaigns: Sequence[Campaign], argv: Sequence[str] | None
) -> argparse.Namespace:
    names = [campaign.name for campaign in campaigns]
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; default all")
    add("--n", type=int, help="number of inputs of each campaign")
    add("--start", type=int, default=0, help="number of the first input")
    add("--seed", type=int, default=0, help="runs with different seeds can be combined")
    add("--jobs", type=int, default=os.cpu_count(), help="number of processes at a time")
    add("--minutes", type=float, default=FOREVER, help="time for all campaigns together")
    add("--limit", type=float, help="seconds that an input may take")
    add("--only", type=int, metavar="NUMBER", help="repeat this input, with its output shown")
    add("--output", type=Path, help="write the report as JSON")
    add("--table", action="store_true", help="write the table in README.md")
    options = parser.parse_args(argv)
    unknown = set(options.names) - set(names)
    if not names:
        parser.error("which campaigns? --help has their names")
    if unknown:
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}")
    options.names = options.names or names
    return options


def _run(campaign: Campaign, options: argparse.Namespace, seconds: float) -> Report:
    report = Report(campaign.name, options.seed, options.start)
    n = options.n or (UNLIMITED if options.minutes < FOREVER else campaign.n)
    numbers = range(options.start, options.start + n)
    begin = time.monotonic()
    try:
        supervise(campaign, report, numbers, options.jobs, begin + seconds)
    finally:
        report.seconds = time.monotonic() - begin
        report.print()
    return report


def _repeat(campaign: Campaign, options: argparse.Namespace) -> bool:
    """Try a single input in this process, and print everything about it; its files are kept."""
    show_inputs()
    prepare(campaign)
    folder = tempfile.mkdtemp(prefix=f"{campaign.name}-{options.only}-")
    print("in", folder)
    with contextlib.chdir(folder):
        judgement = judge(campaign, options.seed, options.only)
    print(f"{campaign.name} {options.only}: {judgement.verdict}: {judgement.what}")
    print(judgement.example)
    return judgement.verdict in DEFECTS


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
            with contextlib.suppress(ProcessLookupError):
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


def judge(campaign: Campaign, seed: int, number: int) -> Judgement:
    """Try an input in this process."""
    rng = Random(f"{campaign.name} {seed} {number}")
    np.random.seed(rng.getrandbits(32))  # noqa: NPY002 (what random_state=None stands for)
    start = time.perf_counter()
    try:
        outcome = campaign.one(rng, number)
        outcome = Outcome(outcome) if isinstance(outcome, str) else Outcome(*outcome)
        found = "answered", outcome.name, "", outcome.measures
    except Wrong as wrong:
        found = "wrong", str(wrong), wrong.example, {}
    except BaseException as error:
        show_error()
        if isinstance(error, campaign.allowed) or (
            isinstance(error, campaign.allowed_if_raised) and is_raised(error)
        ):
            found = _refused(error)
        else:
            found = "wrong", f"{_kind(error)} at {place_of(error)}", str(error), {}
    verdict, what, example, measures = found
    return Judgement(verdict, what, example, time.perf_counter() - start, measures)


def _refused(error: Exception) -> tuple[str, str, str, dict]:
    """Judge an allowed exception: it must have a message, and not come from the campaign."""
    name, message = _kind(error), str(error).strip()
    if not is_from_elsewhere(error):
        return "wrong", f"{name} of the campaign itself", message, {}
    if len(message) < 8 or " " not in message:
        return "wrong", f"{name} without content at {place_of(error)}", repr(error), {}
    return "refused", name, "", {}


def _kind(error: BaseException) -> str:
    kind = type(error)
    is_plain = kind.__module__ == "builtins" or kind.__module__.startswith("sklearn")
    return kind.__name__ if is_plain else f"{kind.__module__}.{kind.__name__}"


def work(
    campaign: Campaign, seed: int, numbers: range, pipe: int, errors: str, until: float
) -> None:
    """Try inputs until all are done or the time is up; for each write a line to the pipe.

    Parameters
    ----------
    campaign : Campaign
    seed : int
    numbers : range
    pipe : int
        File descriptor.
    errors : str
        File that replaces standard error.
    until : float
        No input is started after this time, by the monotonic clock.
    """
    _isolate(errors)
    for number in numbers:
        judgement = judge(campaign, seed, number)
        if os.fstat(2).st_size:
            with open(errors, encoding="utf-8", errors="replace") as file:
                judgement = _with_report(judgement, file.read())
            os.truncate(errors, 0)
        os.write(pipe, _line(judgement))
        if time.monotonic() > until:
            break
    os.write(pipe, END)


def _isolate(errors: str) -> None:
    """Give the process its own group and empty folder, limited memory, and no output."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    folder = tempfile.mkdtemp(dir=os.path.dirname(errors))
    os.chdir(folder)
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    os.environ["LIBC_FATAL_STDERR_"] = "1"
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(os.open(errors, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600), 2)
    faulthandler.enable(file=2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not is_sanitized():  # which reserves terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (GIBIBYTES << 30, resource.RLIM_INFINITY))


def _with_report(judgement: Judgement, text: str) -> Judgement:
    """Judge the standard error, which may report a defect."""
    report = reported(text)
    if report is not None:
        return judgement._replace(verdict="crashed", what=report, example=text)
    if "Exception ignored in" in text or "Traceback (most recent call last)" in text:
        return judgement._replace(verdict="wrong", what="error on standard error", example=text)
    return judgement


def _line(judgement: Judgement) -> bytes:
    verdict, what, example, seconds, measures = judgement
    texts = (str(text)[:LENGTH] for text in (what, example))
    return json.dumps([verdict, *texts, round(seconds, 6), dict(measures)]).encode() + b"\n"


def fail(errors: str) -> None:
    """Write down why the worker itself could not go on."""
    with open(errors, "a", encoding="utf-8") as file:
        traceback.print_exc(file=file)
