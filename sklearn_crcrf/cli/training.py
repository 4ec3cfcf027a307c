"""The command train."""

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..model_files import require_skops, save_model
from ..utils import interruption
from . import _estimators, _progress
from ._text import Text, add_columns, add_file, check_output, read_source, read_text

__all__ = ["Interrupts", "add_arguments", "fit", "noting_interrupts", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser, "text with labels")
    parser.add_argument("-m", "--model", metavar="MODEL", required=True, help="file to write")
    add_columns(
        parser,
        "names of the columns of the file; 'label' is the one to predict, '_' leaves a column out. "
        "Default: the first column is the word, the last the label",
    )
    _estimators.add_options(parser)
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Train, and write the model; if training is interrupted, the model of the last iteration."""
    require_skops()
    check_output(options.model)
    estimator = _estimators.make_estimator(options)
    text = read_text(
        read_source(options.file, options.max_bytes, options.encoding),
        options.columns,
        labelled=True,
    )
    with noting_interrupts() as interrupts:
        fit(estimator, text, options, interrupts)
        interrupts.wait()
        save_model(estimator, options.model, text.columns)
    if interrupts.happened:
        print(
            f"sklearn-crcrf: interrupted; {options.model} is the model of the last iteration",
            file=sys.stderr,
        )
    return interruption.STATUS if interrupts.happened else 0


def fit(
    estimator: BaseEstimator, text: Text, options: argparse.Namespace, interrupts: "Interrupts"
) -> BaseEstimator:
    """Fit an estimator and show its progress and, if not interrupted, warnings."""
    if text.known is not None:
        raise ValueError("a column 'known' is for tag; train uses the column 'label'")
    with (
        warnings.catch_warnings(record=True) as caught,
        _progress.progress_of(options, "training", None, "iteration") as progress,
        _progress.telling_iterations(estimator, progress),
    ):
        warnings.simplefilter("always", ConvergenceWarning)
        estimator.fit(text.X, text.y)
    for it in caught:
        if not (interrupts.happened and issubclass(it.category, ConvergenceWarning)):
            warnings.showwarning(it.message, it.category, it.filename, it.lineno)
    return estimator


class Interrupts:
    """Whether Ctrl-C was pressed; an estimator may handle it without an exception."""

    def __init__(self):
        self.happened, self._waiting = False, False

    def wait(self) -> None:
        """From now on only record it, without KeyboardInterrupt."""
        self._waiting = True

    def __call__(self, number: int, frame: Any) -> None:
        self.happened = True
        if not self._waiting:
            raise KeyboardInterrupt


@contextmanager
def noting_interrupts() -> Iterator[Interrupts]:
    """Within this context, record whether Ctrl-C was pressed."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
