"""Campaigns: numbered inputs, and a function that tries one of them.

Import this module before numpy, which reads the number of threads only once.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple


class Wrong(Exception):
    """An answer that must not be given: NaN, a round trip that changes the data, a traceback.

    Parameters
    ----------
    what : str
        The defect, in words that are the same for all inputs that show it.
    example : str
        Details of this input.
    """

    def __init__(self, what: str, example: object = ""):
        super().__init__(what)
        self.example = str(example)


class Outcome(NamedTuple):
    """The outcome of an input, with figures.

    Parameters
    ----------
    name : str
    measures : mapping of str to float
        Figures of this input, of which the report has the median and the maximum.
    """

    name: str
    measures: Mapping[str, float] = {}


@dataclass(frozen=True)
class Campaign:
    """Numbered inputs of one kind.

    Parameters
    ----------
    name : str
    one : callable
        ``one(rng, number)`` makes the input and tries it. All chance must come from ``rng``, a
        ``random.Random`` that is seeded by the campaign, the seed and the number, or from numpy's
        global generator, which is seeded by it. Returns the name of the outcome, or an
        :class:`Outcome`. Raises one of ``allowed`` where the package refuses the input; any
        other exception is a defect, and so is :class:`Wrong`.
    prepare : callable, optional
        Called once, before the first input, in the process that all workers are forked from:
        all inputs can use its results.
    n : int
        Number of inputs if none is given.
    allowed : tuple of exception classes
        Exceptions by which the package may refuse an input.
    allowed_if_raised : tuple of exception classes
        As ``allowed``, but only from a statement that raises it, and not by accident.
    batch : int
        Number of inputs that a forked process tries. The default, 1, suits what takes
        milliseconds or leaves traces; what is cheap and leaves none takes thousands.
    limit : float
        Seconds that an input may take.
    """

    name: str
    one: Callable[[Random, int], str | Outcome]
    prepare: Callable[[], Any] | None = field(default=None, kw_only=True)
    n: int = field(default=1000, kw_only=True)
    allowed: tuple[type[Exception], ...] = field(default=(ValueError,), kw_only=True)
    allowed_if_raised: tuple[type[Exception], ...] = field(default=(), kw_only=True)
    batch: int = field(default=1, kw_only=True)
    limit: float = field(default=10.0, kw_only=True)


_shows = False


def show_inputs() -> None:
    """Let :func:`show` print, because a single input is repeated."""
    global _shows
    _shows = True


def show(*parts: object) -> None:
    """Print an input, or what is tried with it, if a single input is repeated."""
    if _shows:
        print(*parts, flush=True)


def show_error() -> None:
    """Print the exception that is being handled, when a single input is repeated."""
    if _shows:
        traceback.print_exc(file=sys.stdout)
