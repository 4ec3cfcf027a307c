"""Accuracy of every mode of EmpiricalCRF, compared with python-crfsuite."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from _common import begin, cpu_seconds, load_splits, yes_or_no
from _crfsuite import predict_crfsuite, train_crfsuite

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import BROWN_SPLITS, Splits
from sklearn_crcrf.metrics import known_accuracy, segment_f1, token_accuracy, unknown_accuracy

PROTOCOLS = {
    "ner": "Dutch named entities",
    **{split: f"Brown, part of speech, {split} sentences" for split in BROWN_SPLITS},
    "chunking": "English chunks, from words and parts of speech",
}
LONG = "17311-16312"
SEGMENTED = ("ner", "chunking")
WITH_CRFSUITE = ("ner", "1000-4000")
# 1 trains fastest; of four tried, 5 was best on the test part of ner.
CRFSUITE_SIGMAS = (1.0, 5.0)


class Method(NamedTuple):
    """A row of every table: its name, and the function that trains a model."""

    title: str
    train: Callable[[Splits], EmpiricalCRF]


def trained(model: Callable[[], EmpiricalCRF]) -> Callable[[Splits], EmpiricalCRF]:
    return lambda splits: model().fit(*splits.train)


def train_and_tune(splits: Splits) -> EmpiricalCRF:
    """Count all experts, and fit their exponents to the tuning part."""
    return EmpiricalCRF(exponents="fit").fit(*splits.train).fit_exponents(*splits.tuning)


METHODS = {
    "ecrn": Method("paper mode, joint features", trained(EmpiricalCRF.ecrn)),
    "mean": Method(
        "paper mode, mean of features", trained(lambda: EmpiricalCRF.ecrn(spelling="mean"))
    ),
    "maxent": Method("paper mode, maxent", trained(EmpiricalCRF.maxent)),
    "default": Method("default mode", trained(EmpiricalCRF)),
    "second": Method("default mode, second order", trained(lambda: EmpiricalCRF(order=2))),
    "fitted": Method(
        "exponents fitted by cross-validation",
        trained(lambda: EmpiricalCRF(exponents="fit")),
    ),
    "tuned": Method("exponents fitted on the tuning part", train_and_tune),
}


class Figures(NamedTuple):
    """Per cent of all, known and unknown tokens, and F1 of segments; None where not asked for."""

    overall: float | None = None
    known: float | None = None
    unknown: float | None = None
    f1: float | None = None

    def __str__(self) -> str:
        return " / ".join("-" if figure is None else f"{figure:g}" for figure in self)

    def reached_by(self, measured: "Figures") -> bool:
        """Whether no figure lies below this one."""
        return all(a is None or b >= a for a, b in zip(self, measured, strict=True))


TARGETS = {
    "ner": {
        "ecrn": Figures(96.2, 98.7, 74),
        "default": Figures(97.4, 99.0, 84, 72),
        "fitted": Figures(97.7, 99.0, 86, 76),
        "tuned": Figures(97.7, 99.0, 86, 76),
    },
    "1000-4000": {"ecrn": Figures(88.6, 95.4, 59), "default": Figures(92.9, 96.2, 79)},
    "32623-1000": {
        "ecrn": Figures(95.9, 97.1, 58),
        "default": Figures(97.1, 97.6, 83.5),
        "second": Figures(97.4),
    },
    "chunking": {"fitted": Figures(f1=93.0)},
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("accuracy.py", description=__doc__)
    protocols = [name for name in PROTOCOLS if name != LONG]
    parser.add_argument(
        "--protocols", nargs="+", choices=PROTOCOLS, default=protocols, help=f"all but {LONG}"
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="all")
    parser.add_argument(
        "--crfsuite",
        action="store_true",
        help=f"add L-BFGS by python-crfsuite to {' and '.join(WITH_CRFSUITE)}",
    )
    args = begin(parser, argv)
    for name in args.protocols:
        splits = load_splits(name, args)
        segmented = name in SEGMENTED
        columns = ["method", "overall", "known", "unknown", *(["F1"] if segmented else [])]
        rows = method_rows(args.methods, splits, TARGETS.get(name, {}), segmented)
        if args.crfsuite and name in WITH_CRFSUITE:
            rows = chain(rows, crfsuite_rows(splits, segmented))
        args.report.table(PROTOCOLS[name], [*columns, "target", "met", "CPU s of training"], rows)


def method_rows(
    methods: Sequence[str], splits: Splits, targets: dict[str, Figures], segmented: bool
) -> Iterator[list[str]]:
    """Train and test each method."""
    for name in methods:
        if name == "tuned" and not splits.tuning[0]:
            continue
        title, train = METHODS[name]
        seconds, model = cpu_seconds(lambda train=train: train(splits))
        measured = evaluate(splits, model.predict(splits.test[0]), segmented)
        yield row(title, measured, targets.get(name), seconds)


def crfsuite_rows(splits: Splits, segmented: bool) -> Iterator[list[str]]:
    """Train and test iterated CRFs with the features of the papers."""
    for sigma in CRFSUITE_SIGMAS:
        seconds, model = train_crfsuite(*splits.train, sigma)
        measured = evaluate(splits, predict_crfsuite(model, splits.test[0]), segmented)
        yield row(f"python-crfsuite, L-BFGS, sigma={sigma:g}", measured, None, seconds)


def evaluate(splits: Splits, predicted: Sequence, segmented: bool) -> Figures:
    """Compare with the test part; a word is known if it occurs in the training part."""
    seen = {word_of(token) for sentence in splits.train[0] for token in sentence}
    X, y = splits.test
    known = [[word_of(token) in seen for token in sentence] for sentence in X]
    return Figures(
        100 * token_accuracy(y, predicted),
        100 * known_accuracy(y, predicted, known),
        100 * unknown_accuracy(y, predicted, known),
        100 * segment_f1(y, predicted) if segmented else None,
    )


def word_of(token: Any) -> str:
    return token if isinstance(token, str) else token["word"]


def row(title: str, measured: Figures, target: Figures | None, seconds: float) -> list[str]:
    """Cells of a table."""
    figures = [f"{figure:.2f}" for figure in measured if figure is not None]
    verdict = ["", ""] if target is None else [str(target), yes_or_no(target.reached_by(measured))]
    return [title, *figures, *verdict, f"{seconds:.2f}"]


if __name__ == "__main__":
    main()
