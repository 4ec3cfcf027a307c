"""The command train."""

import argparse
import inspect
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from ... import ConformalSequenceClassifier, EmpiricalCRF
from ...base.unwrap import steps_of
from ...model_files import save_model
from ...out_of_core.writing import write_parts
from ...text import TextTagger
from ...utils import interruption
from . import _estimators, _progress
from ._documents import read_documents, text_of_documents
from ._files import (
    add_files,
    check_trainable,
    columns_of_tokens,
    files_of,
    first_text,
    groups_of,
    read_texts,
)
from ._text import (
    ITEMS,
    Text,
    add_columns,
    add_document_options,
    check_labelled,
    check_output,
    first_of,
    reading_of,
)

# How many sequences are shown after training, and how many characters of each.
SHOWN, WIDEST = 2, 150


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_files(parser, "text with labels, or documents with spans")
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
    parser.add_argument(
        "--confidence-level",
        metavar="LEVEL",
        type=float,
        help="promise that redact, serve and tag --text miss a share of at most 1 - LEVEL of the "
        "words of names, on average, such as 0.99; calibrated with the file of --calibrate, or, "
        "which is no guarantee, with the text itself, of which parts are left out",
    )
    parser.add_argument(
        "--calibrate",
        metavar="FILE",
        help="like the text, but not trained on, for --confidence-level",
    )
    _estimators.add_options(parser)
    add_document_options(parser)
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Train, and write the model; if training is interrupted, the model of the last iteration."""
    check_output(options.model)
    estimator = _promising(_estimators.make_estimator(options), options)
    documents = read_documents(options.files, options)
    if documents is not None and options.out_of_core:
        raise ValueError("--out-of-core needs columns, not documents with spans")
    if options.compact and (documents is not None or options.confidence_level is not None):
        raise ValueError(
            "--compact holds what labels tokens: neither how documents become tokens, nor a promise"
        )
    files = files_of(options.files) if documents is None else []
    with noting_interrupts() as interrupts:
        if documents is not None:
            text = text_of_documents(documents, options)
            how = options.tokenizer, options.sentences, options.alignment
            check_labelled(text, options.files[0])
            with reporting(estimator, options, interrupts):
                groups = documents.groups if _takes_groups(estimator) else None
                estimator = TextTagger(estimator, *how).fit(*documents[:2], groups)
        elif options.out_of_core:
            with reporting(estimator, options, interrupts):
                text = fit_out_of_core(estimator, files, options)
        else:
            text = read_texts(files, options)
            fit(estimator, text, options, interrupts)
        if options.calibrate is not None:
            _calibrate(estimator, options)
        is_wanted = options.verbose or (sys.stderr.isatty() and not options.quiet)
        if is_wanted and not interrupts.happened:
            tell_learned(text)
        interrupts.only_recorded = True
        save_model(
            estimator,
            options.model,
            None if documents else columns_of_tokens(text, options),
            separator=text.separator,
            compact=options.compact,
        )
    if interrupts.happened:
        print(
            f"sklearn-crcrf: interrupted; {options.model} is the model of the last iteration",
            file=sys.stderr,
        )
    return interruption.STATUS if interrupts.happened else 0


def _promising(estimator: Any, options: argparse.Namespace) -> Any:
    """Return an estimator that finds as many names as are promised, if anything is."""
    if options.confidence_level is None:
        if options.calibrate is not None:
            raise ValueError("--calibrate needs --confidence-level")
        return estimator
    is_exact = isinstance(estimator, EmpiricalCRF) and estimator.exponents != "fit"
    cv = None if options.calibrate else "left_out" if is_exact else 5
    return ConformalSequenceClassifier(estimator, options.confidence_level, "recall", cv=cv)


def _takes_groups(estimator: Any) -> bool:
    """Say whether documents are left out as a whole, to calibrate with them."""
    return isinstance(estimator, ConformalSequenceClassifier)


def _calibrate(estimator: Any, options: argparse.Namespace) -> None:
    documents = read_documents([options.calibrate], options)
    if documents is not None:
        if not hasattr(estimator, "redact"):
            raise ValueError(f"{options.calibrate} has documents, but the text has columns")
        estimator.conformalize(*documents)
    else:
        text = read_texts([options.calibrate], options)
        check_labelled(text, options.calibrate)
        if hasattr(estimator, "redact"):
            raise ValueError(f"{options.calibrate} has columns, but the text has documents")
        estimator.conformalize(text.X, text.y, groups_of(text, None)[1])


def tell_learned(text: Text) -> None:
    """Print how many sequences and labels there are, and the first sequences as understood."""
    counts = Counter(label for labels in text.y for label in labels)
    of = f" of {len(set(text.groups)):,} documents" if text.groups else ""
    told = [f"{len(text.X):,} sequences{of}, {counts.total():,} tokens"]
    told.append(
        f"{len(counts):,} labels: " + first_of([f"{k} {n:,}" for k, n in counts.most_common()])
    )
    for tokens, labels in zip(text.X[:SHOWN], text.y, strict=False):
        words = [
            token if isinstance(token, str) else " ".join(map(str, token.values()))
            for token in tokens
        ]
        told.append(" ".join(f"{a}/{b}" for a, b in zip(words, labels, strict=True)))
    for line in told:
        print(f"training: {line[:WIDEST]}", file=sys.stderr)


def fit(
    estimator: BaseEstimator, text: Text, options: argparse.Namespace, interrupts: "Interrupts"
) -> BaseEstimator:
    """Fit an estimator and show its progress and, if not interrupted, warnings."""
    check_trainable(text)
    with reporting(estimator, options, interrupts):
        groups = {"groups": groups_of(text, None)[1]} if _takes_groups(estimator) else {}
        estimator.fit(text.X, text.y, **groups)
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
