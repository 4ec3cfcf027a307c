"""The command evaluate."""

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from ...data.sequences import as_sequences
from ...data.words import words_of
from ...labels.segments.schemes import SCHEMES, detect_scheme
from ...labels.segments.segments import to_segments
from ...metrics import (
    known_accuracy,
    segment_f1,
    segment_report,
    span_precision_recall_f1,
    token_accuracy,
    unknown_accuracy,
)
from . import _documents, _estimators, _progress
from ._files import add_groups, groups_of
from ._text import add_columns, add_document_options, add_file, read_text
from .tagging import Labeller, labels_of, named
from .training import fit, noting_interrupts

HELD_OUT = 0.2


class Evaluation(NamedTuple):
    """Predicted labels and their accuracy.

    Parameters
    ----------
    y, predicted : list of label lists
    scheme : str or None
        The scheme by which labels mark segments, if any.
    accuracy : dict
        Accuracy of all tokens, and, if it can be told which are known, of known and unknown ones.
    n_unknown : int or None
    seconds : float
        Time of prediction.
    """

    y: list
    predicted: list
    scheme: str | None
    accuracy: dict[str, float]
    n_unknown: int | None
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser, "text with labels, or a folder of files of it")
    parser.add_argument(
        "test", metavar="TEST", nargs="?", help="train on FILE, and test on this file"
    )
    parser.add_argument(
        "-m",
        "--model",
        metavar="MODEL",
        help="written by train. Without it, a model is trained on FILE and tested on TEST, or "
        "tested on a random fifth of FILE, or of its documents, and trained on the rest",
    )
    add_columns(parser, "names of the columns of the files, as for train")
    parser.add_argument(
        "--scheme",
        choices=SCHEMES,
        help="how labels spell segments; IO: a run of equal labels is a segment. Default: as the "
        "labels show, without segments for bare labels",
    )
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    add_groups(parser, "Whole documents are held out")
    _estimators.add_options(parser)
    add_document_options(parser)
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Evaluate."""
    if options.model is None:
        _train_and_test(options)
        return
    given = _estimators.given_options(options)
    if given or options.test:
        raise ValueError(f"--model leaves no use for {given[0] if given else 'a second file'}")
    labeller = Labeller(options)
    text = labeller.read_labelled(options.file)
    result = evaluate(labeller.estimator, text.X, text.y, scheme=options.scheme)
    _tell(options, result, {"labelled": (text.X, result.seconds)})


def _train_and_test(options: argparse.Namespace) -> None:
    estimator = _estimators.make_estimator(options)
    text = _documents.read_labelled(options.file, options)
    X, groups = groups_of(text, options.groups)
    y = text.y
    if options.test is not None:
        read = partial(read_text, columns=text.columns)
        test = _documents.read_labelled(options.test, options, read)
        (X_test, _), y_test = groups_of(test, options.groups), test.y
    elif len(X) < 2:
        raise ValueError(f"{options.file}: there is one sequence, so none can be held out")
    elif groups is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=HELD_OUT, random_state=0)
    else:
        split = GroupShuffleSplit(1, test_size=HELD_OUT, random_state=0)
        train, held_out = next(split.split(X, y, groups))
        X, X_test = [X[i] for i in train], [X[i] for i in held_out]
        y, y_test = [y[i] for i in train], [y[i] for i in held_out]
        if not options.json:
            n = len({groups[i] for i in held_out})
            print(f"held out   {n:7,} of {len(set(groups)):,} documents")
    start = time.perf_counter()
    with noting_interrupts() as interrupts:
        fit(estimator, text._replace(X=X, y=y), options, interrupts)
    if interrupts.happened:
        raise KeyboardInterrupt
    seconds = time.perf_counter() - start
    result = evaluate(estimator, X_test, y_test, X, options.scheme)
    _tell(options, result, {"trained on": (X, seconds), "labelled": (X_test, result.seconds)})


def evaluate(
    estimator: Any, X: list, y: list, X_train: list | None = None, scheme: str | None = None
) -> Evaluation:
    """Predict, and compare; warn of labels that the estimator does not know.

    Parameters
    ----------
    estimator : fitted estimator
    X, y : lists of sequences
    X_train : list of sequences, optional
        Training data; shows which tokens are known if the estimator cannot tell.
    scheme : str, optional
        How labels spell segments; by default as they show.
    """
    _check_labels(y, labels_of(estimator))
    start = time.perf_counter()
    predicted = [list(labels) for labels in estimator.predict(X)]
    seconds = time.perf_counter() - start
    accuracy, n_unknown = {"all": token_accuracy(y, predicted)}, None
    known = _known_tokens(estimator, X, X_train)
    if known is not None:
        n_unknown = sum(map(len, X)) - int(sum(map(sum, known)))
        for name, metric in (("known", known_accuracy), ("unknown", unknown_accuracy)):
            accuracy[name] = metric(y, predicted, known, zero_division=np.nan)
    if scheme is None:
        scheme = detect_scheme(label for sequence in [*y, *predicted] for label in sequence)
    return Evaluation(y, predicted, scheme, accuracy, n_unknown, seconds)


def _check_labels(y: list, known: Sequence[Any]) -> None:
    counts = Counter(label for labels in y for label in labels)
    unknown = [label for label in counts if label not in known]
    if unknown:
        n, n_all = sum(counts[label] for label in unknown), counts.total()
        warnings.warn(
            f"the model does not know the labels {named(unknown)} of {n:,} of {n_all:,} tokens, "
            f"which count as wrong; it knows {named(known)}",
            stacklevel=2,
        )


def _known_tokens(estimator: Any, X: list, X_train: list | None) -> Any:
    if hasattr(estimator, "known_tokens"):
        return estimator.known_tokens(X)
    if X_train is None:
        return None
    name = words_of(as_sequences(X_train).X)

    def word(token: str | dict[str, str]) -> str | None:
        return token if isinstance(token, str) else token.get(name)

    seen = {word(token) for sequence in X_train for token in sequence}
    return [[word(token) in seen for token in sequence] for sequence in X]


def _tell(
    options: argparse.Namespace, result: Evaluation, work: dict[str, tuple[list, float]]
) -> None:
    report: Any = None
    if result.scheme is not None:
        shown: Any = {"scheme": result.scheme, "digits": 4, "zero_division": np.nan}
        report = segment_report(result.y, result.predicted, output_dict=options.json, **shown)
    if options.json:
        figures: dict[str, Any] = {"sequences": len(result.y), "tokens": sum(map(len, result.y))}
        figures["accuracy"] = _numbers(result.accuracy)
        if result.n_unknown is not None:
            figures["unknown_tokens"] = result.n_unknown
        if report is not None:
            figures["segments"] = {kind: _numbers(row) for kind, row in report.items()}
            figures |= _numbers({"overlapping_f1": overlapping_f1(result)})
        print(json.dumps(figures))
        return
    for name, (X, seconds) in work.items():
        print(f"{name:10} {size(X)} in {seconds:.2f} s")
    print()
    print_accuracy(result)
    if report is not None:
        print(f"{'F1, if overlaps are right':26} {_percent(overlapping_f1(result))}")
        print(f"\n{report}", end="")


def _numbers(values: dict[str, Any]) -> dict[str, float | None]:
    """Return numbers for JSON, which has no NaN."""
    return {name: None if np.isnan(v) else float(v) for name, v in values.items()}


def print_accuracy(result: Evaluation) -> None:
    """Print accuracies, and the F1 of segments."""
    for name, share in result.accuracy.items():
        more = f"   ({result.n_unknown:,} tokens)" if name == "unknown" else ""
        print(f"{f'accuracy, {name} tokens':26} {_percent(share)}{more}")
    if result.scheme is not None:
        f1 = segment_f1(result.y, result.predicted, scheme=result.scheme, zero_division=np.nan)
        print(f"{'F1 of segments':26} {_percent(f1)}")


def overlapping_f1(result: Evaluation) -> float:
    """Return the F1 of segments where those of one type that share a token are right."""
    spans, scheme = [], result.scheme or "IOB2"
    for labels in (result.y, result.predicted):
        found: list[list[tuple]] = [[] for _ in labels]
        for sequence, *span in zip(*to_segments(labels, scheme), strict=True):
            found[sequence].append(tuple(span))
        spans.append(found)
    return span_precision_recall_f1(*spans, match="overlap", zero_division=np.nan).f1


def size(X: list) -> str:
    """Write the numbers of sequences and tokens."""
    return f"{len(X):7,} sequences, {sum(map(len, X)):9,} tokens"


def _percent(share: float) -> str:
    return "     -" if np.isnan(share) else f"{100 * share:6.2f} %"
