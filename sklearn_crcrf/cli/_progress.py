"""A line that shows the progress of long work."""

import io
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from sklearn.pipeline import Pipeline

__all__ = ["Progress", "add_options", "progress_of", "telling_iterations"]

# Seconds between plain lines.
PAUSE = 1.0


class Progress:
    """Shows nothing."""

    def advance(self, n: int = 1, text: str = "") -> None:
        """Report that ``n`` more units are done."""

    def close(self) -> None:
        """Report the end."""


class PlainProgress(Progress):
    """Writes lines to standard error, at most one per ``pause`` seconds."""

    def __init__(self, name: str, total: int | None, unit: str, pause: float):
        self._name, self._unit, self._pause = name, unit, pause
        self._of = "" if total is None else f" of {total:,}"
        self._done, self._total, self._told = 0, total, time.monotonic()

    def advance(self, n: int = 1, text: str = "") -> None:
        self._done += n
        now = time.monotonic()
        if now - self._told >= self._pause:
            self._told = now
            line = text or f"{self._done:,}{self._of} {self._unit}s"
            print(f"{self._name}: {line}", file=sys.stderr, flush=True)


class BarProgress(Progress):
    """The bar of tqdm, on standard error."""

    def __init__(self, name: str, total: int | None, unit: str):
        from tqdm import tqdm

        self._bar = tqdm(desc=name, total=total, unit=f" {unit}s", file=sys.stderr, leave=False)

    def advance(self, n: int = 1, text: str = "") -> None:
        if text:
            self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(n)

    def close(self) -> None:
        self._bar.close()


def add_options(parser: ArgumentParser) -> None:
    """Add --quiet and --verbose."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="no progress line")
    group.add_argument(
        "--verbose",
        action="store_true",
        help="all progress, as lines; by default a single line, if standard error is a terminal",
    )


@contextmanager
def progress_of(options: Namespace, name: str, total: int | None, unit: str) -> Iterator[Progress]:
    """The progress line that the options ask for."""
    progress = _make(options, name, total, unit)
    try:
        yield progress
    finally:
        progress.close()


def _make(options: Namespace, name: str, total: int | None, unit: str) -> Progress:
    if options.verbose:
        return PlainProgress(name, total, unit, 0.0)
    if options.quiet or not sys.stderr.isatty():
        return Progress()
    try:
        return BarProgress(name, total, unit)
    except ImportError:
        return PlainProgress(name, total, unit, PAUSE)


@contextmanager
def telling_iterations(estimator: Any, progress: Progress) -> Iterator[None]:
    """Let each line that an estimator with the parameter ``verbose`` prints advance progress."""
    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if "verbose" not in classifier.get_params():
        yield
        return
    before = classifier.verbose
    classifier.set_params(verbose=before or 1)
    try:
        with redirect_stdout(_Lines(progress)):
            yield
    finally:
        classifier.set_params(verbose=before)


class _Lines(io.TextIOBase):
    """A stream whose lines advance a progress."""

    def __init__(self, progress: Progress):
        self._progress, self._begun = progress, ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._progress.advance(1, line)
        return len(text)
