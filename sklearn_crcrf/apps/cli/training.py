"""The command train."""

import argparse
import inspect
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from ...base.unwrap import steps_of
from ...model_files import save_model
from ...out_of_core.writing import write_parts
from ...utils import interruption
from . import _estimators, _progress
from ._files import add_files, check_trainable, files_of, first_text, read_texts
from ._text import ITEMS, Text, add_columns, check_output, reading_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_files(parser, "text with labels")
    parser.add_argument(
        "--out-of-core",
        action="store_true",
        help="keep one part of the text in memory at a time, and the rest in a folder beside MODEL "
        "while training lasts; for estimators that count, CRF and online trainers",
    )
    parser.add_argument("-m", "--model", metavar="MODEL", required=True, help="file to write")
    add_columns(
        parser,
        "names of the columns of the file; 'label' is the one to predict, '_' leaves a column out. "
        "Default: the last column is the label; the words are found among the others",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="write only what prediction needs: a smaller file, with which tag starts at once",
    )
    _estimators.add_options(parser)
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Train, and write the model; if training is interrupted, the model of the last iteration."""
    check_output(options.model)
    estimator = _estimators.make_estimator(options)
    files = files_of(options.files)
    with noting_interrupts() as interrupts:
        if options.out_of_core:
            with reporting(estimator, options, interrupts):
                text = fit_out_of_core(estimator, files, options)
        else:
            text = read_texts(files, options)
            fit(estimator, text, options, interrupts)
        interrupts.only_recorded = True
        save_model(
            estimator,
            options.model,
            text.columns,
            separator=text.separator,
            compact=options.compact,
        )
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
    check_trainable(text)
    with reporting(estimator, options, interrupts):
        estimator.fit(text.X, text.y)
    return estimator


def fit_out_of_core(estimator: Any, files: list[str], options: argparse.Namespace) -> Text:
    """Fit an estimator, and return the first part of the text.

    Raises
    ------
    ValueError
        If a file is not valid, or the estimator cannot be fitted out of core.
    """
    is_pipeline = isinstance(estimator, Pipeline)
    *transformers, (_, classifier) = estimator.steps if is_pipeline else [("", estimator)]
    # What is fitted from a folder, which has the labels too, does not need y.
    if inspect.signature(classifier.fit).parameters["y"].default is inspect.Parameter.empty:
        raise ValueError(f"--out-of-core: {type(classifier).__name__} needs all data in memory")
    if options.columns == ITEMS:
        raise ValueError("--out-of-core needs columns, not --format crfsuite")
    text = first_text(files, options)
    check_trainable(text)
    folder = os.path.dirname(os.path.abspath(options.model))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".corpus-") as temporary:
        corpus = write_parts(
            files,
            os.path.join(temporary, "corpus"),
            text.columns,
            reading_of(options),
            options.encoding,
            Pipeline(transformers) if transformers else None,
        )
        classifier.fit(corpus)
    return text


@contextmanager
def reporting(
    estimator: BaseEstimator, options: argparse.Namespace, interrupts: "Interrupts"
) -> Iterator[None]:
    """Meanwhile show the progress of an estimator and, if not interrupted, warnings."""
    caught: Any = []
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            _progress.progress_of(options, "training", None, "iteration") as progress,
            _progress.telling_iterations(estimator, progress),
        ):
            warnings.simplefilter("always", ConvergenceWarning)
            yield
            words = getattr(steps_of(estimator)[1], "observation_", None)
            if options.verbose and words is not None:
                print(f"training: the words are the column {words!r}", file=sys.stderr)
    finally:  # a warning may tell why training failed
        for it in caught:
            if not (interrupts.happened and issubclass(it.category, ConvergenceWarning)):
                warnings.showwarning(it.message, it.category, it.filename, it.lineno)


@dataclass
class Interrupts:
    """Whether Ctrl-C was pressed; an estimator may handle it without an exception.

    ``only_recorded`` says whether it is recorded without KeyboardInterrupt.
    """

    happened: bool = False
    only_recorded: bool = False

    def __call__(self, number: int, frame: Any) -> None:
        self.happened = True
        if not self.only_recorded:
            raise KeyboardInterrupt


@contextmanager
def noting_interrupts() -> Iterator[Interrupts]:
    """Record whether Ctrl-C was pressed, within this context."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
