"""Calibration error and F1 before and after a choice on held-out sequences."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from _common import begin, yes_or_no  # before numpy

# isort: split
import numpy as np
from corpora import CORPORA, calibration_error, crf, kind_of
from exponents import Part

from sklearn_crcrf import CalibratedSequenceClassifier, EmpiricalCRF, SegmentF1Classifier
from sklearn_crcrf.metrics import segment_f1

TASKS = "Dutch names", "German names", "chunks", "Greek tags", "German tags"
MODELS: dict[str, Callable[[str], Any]] = {
    "EmpiricalCRF()": lambda kind: EmpiricalCRF(),
    'EmpiricalCRF(exponents="fit")': lambda kind: EmpiricalCRF(exponents="fit"),
    "CRF, sigma=5": lambda kind: crf(kind, sigma=5.0),
}
BEFORE_AFTER = ["before", "after"]
# With all training data, the error must not be greater, in per cent.
MOST = 1.0


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("calibration.py", description=__doc__)
    note = "every tenth sequence of the training data, unless all; folds and parameters by default"
    args = begin(parser, argv, note)
    parts = {name: CORPORA[name].load(args) for name in TASKS}
    columns = ["corpus", "temperature", *BEFORE_AFTER, "met"]
    title = "Calibration error of EmpiricalCRF(), %, all training data"
    args.report.table(title, columns, all_data(parts))
    parts = {name: (every_tenth(train), test) for name, (train, test) in parts.items()}
    columns = ["corpus", "model", "temperature", *BEFORE_AFTER]
    args.report.table("Calibration error, %", columns, calibration(parts))
    names = {name: parts[name] for name in TASKS if CORPORA[name].segments}
    columns = ["corpus", "model", "cost", *BEFORE_AFTER]
    args.report.table("F1", columns, costs(names))
    noisy = {name: tuple(map(half_lower, both)) for name, both in names.items()}
    args.report.table("F1, half of all sequences in lower case", columns, costs(noisy))


def every_tenth(part: Part) -> Part:
    """Every tenth sequence."""
    X, y = part
    return X[::10], y[::10]


def half_lower(part: Part) -> Part:
    """The same text with half of its sequences, chosen at random, in lower case."""
    X, y = part
    is_lower = np.random.default_rng(0).random(len(X)) < 0.5
    return [[w.lower() for w in x] if low else x for x, low in zip(X, is_lower, strict=True)], y


def all_data(parts: dict) -> Iterator[list[str]]:
    """Errors of the probabilities of a counted model before and after."""
    for name, (train, test) in parts.items():
        model = CalibratedSequenceClassifier(EmpiricalCRF()).fit(*train)
        before, after = (100 * calibration_error(m, *test) for m in (model.estimator_, model))
        figures = f"{model.temperature_:.2f}", f"{before:.2f}", f"{after:.2f}"
        yield [name, *figures, yes_or_no(after <= MOST)]


def calibration(parts: dict) -> Iterator[list[str]]:
    """Errors of the probabilities before and after."""
    for name, (train, test) in parts.items():
        for title, make in MODELS.items():
            model = CalibratedSequenceClassifier(make(kind_of(name))).fit(*train)
            errors = (calibration_error(m, *test) for m in (model.estimator_, model))
            figures = (f"{100 * error:.2f}" for error in errors)
            yield [name, title, f"{model.temperature_:.2f}", *figures]


def costs(parts: dict) -> Iterator[list[str]]:
    """F1 before and after."""
    for name, (train, (X, y)) in parts.items():
        for title, make in MODELS.items():
            model = SegmentF1Classifier(make(kind_of(name))).fit(*train)
            f1 = (segment_f1(y, m.predict(X)) for m in (model.estimator_, model))
            yield [name, title, f"{model.outside_cost_:.2f}", *(f"{100 * f:.2f}" for f in f1)]


if __name__ == "__main__":
    main()
