"""A line that shows the progress of long work."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...training.monitor import Iteration

# Seconds between plain lines.
PAUSE = 1.0


class ProgressLine:
    """Shows nothing."""

    def advance(self, n: int = 1, text: str = "") -> None:
        """Report that ``n`` more units are done."""

    def close(self) -> None:
        """Report the end."""


class PlainProgress(ProgressLine):
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


class BarProgress(ProgressLine):
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
def progress_of(
    options: Namespace, name: str, total: int | None, unit: str
) -> Iterator[ProgressLine]:
    """Open the progress line that the options ask for."""
    progress = ProgressLine()
    if options.verbose:
        progress = PlainProgress(name, total, unit, 0.0)
    elif not options.quiet and sys.stderr.isatty():
        try:
            progress = BarProgress(name, total, unit)
        except ImportError:
            progress = PlainProgress(name, total, unit, PAUSE)
    try:
        yield progress
    finally:
        progress.close()


@contextmanager
def telling_iterations(estimator: Any, progress: ProgressLine) -> Iterator[None]:
    """Let each iteration of training advance the progress, instead of printing it.

    With the parameter ``verbose``, only every ``verbose``-th iteration does.
    """
    from sklearn.pipeline import Pipeline

    from ...training.monitor import listening

    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    verbose = classifier.get_params().get("verbose")
    every = int(verbose or 1)

    def tell(iteration: "Iteration") -> None:
        if iteration.number % every == 0:
            progress.advance(every, str(iteration))

    if verbose:
        classifier.set_params(verbose=0)
    try:
        with listening(tell):
            yield
    finally:
        if verbose:
            classifier.set_params(verbose=verbose)
