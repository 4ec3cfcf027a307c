"""Boosted trees of labels and of pairs of labels: accuracy, and time with influence trimming."""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from _common import begin, cpu_seconds  # before numpy

# isort: split
import numpy as np
from _tasks import TASKS, Part
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import CRF, BoostedCRF, SequenceArray, text_features
from sklearn_crcrf.metrics import segment_f1, token_accuracy

# Sentences of each part, and the least number of tokens of an attribute.
N_SENTENCES, MIN_TOKENS = 800, 100
N_SWITCHES = 300
SWITCH_COLUMNS = ["model", "right changes, per cent", "CPU s"]
ATTRIBUTES = {"chunking": "chunks", "ner": "names"}


def models() -> dict[str, Callable[[], CRF | BoostedCRF]]:
    """The models that are compared on text."""
    boosted = partial(BoostedCRF, random_state=0)
    return {
        "CRF": CRF,
        "BoostedCRF": boosted,
        "BoostedCRF, pairs": partial(boosted, pairs=True),
        "BoostedCRF, pairs, all tokens": partial(boosted, pairs=True, influence_trimming=0.0),
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("boosting.py", description=__doc__)
    tables = ["switches", *ATTRIBUTES]
    parser.add_argument("--tables", nargs="+", choices=tables, default=tables)
    args = begin(parser, argv)
    warnings.simplefilter("ignore", ConvergenceWarning)  # all rounds are wanted
    args.sentences, args.tune = args.sentences or N_SENTENCES, False
    if "switches" in args.tables:
        title = "Labels that stay or change with the sign of a number"
        args.report.table(title, SWITCH_COLUMNS, switch_rows())
    for name in ATTRIBUTES:
        if name in args.tables:
            title = f"{TASKS[name].title}, {args.sentences} sentences"
            columns = ["model", "F1", "tokens", "loss of training", "CPU s of training"]
            args.report.table(title, columns, text_rows(name, args))


def switch_rows() -> Iterator[list[str]]:
    """Changes of labels that are right, by the definition of the data."""
    (X, y), (X_test, y_test) = make_switches(0), make_switches(1)
    signs, signs_test = ([[str(v > 0) for v in x[:, 0]] for x in part] for part in (X, X_test))
    for name, crf, rows, rows_test in (
        ("BoostedCRF", BoostedCRF(random_state=0), X, X_test),
        ("BoostedCRF, pairs", BoostedCRF(pairs=True, random_state=0), X, X_test),
        ("CRF, edge_columns of the sign", CRF(edge_columns=["token"]), signs, signs_test),
    ):
        seconds, fitted = cpu_seconds(partial(crf.fit, rows, y))
        pairs = zip(fitted.predict(rows_test), y_test, strict=True)
        right = np.mean([(np.diff(a) != 0) == (np.diff(b) != 0) for a, b in pairs])
        yield [name, f"{100 * right:.1f}", f"{seconds:.2f}"]


def make_switches(seed: int) -> Part:
    """Sequences of one number for each token: the label changes where it is not positive."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(12, 1)) for _ in range(N_SWITCHES)]
    first = rng.integers(2, size=N_SWITCHES)
    return X, [
        (label + np.append(0, np.cumsum(x[1:, 0] <= 0))) % 2
        for label, x in zip(first, X, strict=True)
    ]


def text_rows(name: str, args: argparse.Namespace) -> Iterator[list[str]]:
    """Train and test every model on the attributes that are frequent."""
    (((X, y), (X_test, y_test)),) = TASKS[name].load(args).values()
    X_test, y_test = X_test[: args.sentences], y_test[: args.sentences]
    attributes = text_features(ATTRIBUTES[name])
    rows, rows_test = attributes.fit_transform(X, y), attributes.transform(X_test)
    frequent = np.flatnonzero((rows.data != 0).sum(axis=0) >= MIN_TOKENS)
    rows, rows_test = (
        SequenceArray(part.data[:, frequent], part.offsets) for part in (rows, rows_test)
    )
    for model, make in models().items():
        seconds, crf = cpu_seconds(lambda make=make: make().fit(rows, y))
        predicted = crf.predict(rows_test)
        f1, right = segment_f1(y_test, predicted), token_accuracy(y_test, predicted)
        losses = f"{crf.loss_curve_[-1]:.0f}"
        yield [model, f"{100 * f1:.2f}", f"{100 * right:.2f}", losses, f"{seconds:.1f}"]


if __name__ == "__main__":
    main()
