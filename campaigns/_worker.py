"""The process in which inputs are tried, and its messages to the supervisor."""

import ctypes
import faulthandler
import json
import os
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

import numpy as np
from _campaign import Campaign, Outcome, Wrong, show_error
from _crashes import is_from_elsewhere, is_raised, is_sanitized, place_of, reported

__all__ = ["END", "Judgement", "fail", "judge", "work"]

END = b"end\n"
PR_SET_PDEATHSIG = 1  # of Linux: a process ends with the one that started it
GIBIBYTES = 4
LENGTH = 600  # of a text; a line must fit into the buffer of a pipe, to be written at once


class Judgement(NamedTuple):
    """The outcome of an input.

    Parameters
    ----------
    verdict : str
        "answered", "refused", "wrong", "crashed" or "hung".
    what : str
        The name of the outcome or the defect, the same for all inputs that show it.
    example : str
        Details of this input.
    seconds : float
    measures : mapping of str to float
    """

    verdict: str
    what: str
    example: str = ""
    seconds: float = 0.0
    measures: Mapping[str, float] = {}


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
