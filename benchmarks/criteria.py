"""How every criterion trains: how long it takes, and how well the result labels."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from _common import begin, cpu_seconds
from _tasks import TASKS, Rows, encode

from sklearn_crcrf import CRF
from sklearn_crcrf.criteria import CRITERIA, MCE
from sklearn_crcrf.metrics import (
    known_accuracy,
    segment_f1,
    sequence_accuracy,
    token_accuracy,
    unknown_accuracy,
)

COLUMNS = [
    "criterion",
    "sigma",
    "CPU s",
    "iterations",
    "objective",
    "all",
    "known",
    "unknown",
    "F1",
    "sentences",
]
METHODS = {**CRITERIA, "mce_logistic": MCE("logistic")}
# Standard deviations that --tune tries. What it found best is below, where it is not 1.
SIGMAS = (0.5, 1.0, 3.0, 10.0)
BEST_SIGMAS = {"mce": 3.0, "mce_logistic": 3.0, "mce_f1": 3.0, "expected_cost": 3.0}
# The non-convex criteria start from the optimum of the log loss, and gain what there is to gain
# in the first iterations.
MOST_ITERATIONS = {name: 60 for name, loss in METHODS.items() if not getattr(loss, "convex", True)}


class Result(NamedTuple):
    """What one training took, and what it reached, in per cent."""

    seconds: float
    n_iterations: int
    objective: float
    accuracy: float
    known: float
    unknown: float
    f1: float
    sentences: float

    def cells(self) -> list[str]:
        seconds, n_iterations, objective, *scores = self
        shown = [f"{score:.2f}" for score in scores]
        return [f"{seconds:.1f}", str(n_iterations), f"{objective:.1f}", *shown]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("criteria.py", description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="all")
    parser.add_argument("--criteria", nargs="+", choices=METHODS, default=list(METHODS), help="all")
    parser.add_argument(
        "--tune", action="store_true", help=f"try sigma {SIGMAS} on the tuning part instead"
    )
    parser.add_argument("--plot", type=Path, help="draw time and F1 into this file")
    args = begin(parser, argv)
    points = {}
    for name in args.tasks:
        task = TASKS[name]
        train, test = encode(task, args, args.tune)
        args.report.table(task.title, COLUMNS, rows(args, train, test, points.setdefault(name, [])))
    if args.plot:
        draw(points, args.plot)


def rows(
    args: argparse.Namespace, train: Rows, test: Rows, points: list[tuple[str, Result]]
) -> Iterator[list[str]]:
    """Train by each criterion; note the results."""
    for name in args.criteria:
        for sigma in SIGMAS if args.tune else [BEST_SIGMAS.get(name, 1.0)]:
            result = train_and_test(name, sigma, train, test)
            points.append((name, result))
            yield [name, f"{sigma:g}", *result.cells()]


def train_and_test(name: str, sigma: float, train: Rows, test: Rows) -> Result:
    crf = CRF(
        METHODS[name],
        sigma,
        features="observed",
        dtype="float32",
        max_iter=MOST_ITERATIONS.get(name, 1000),
        tol=1e-4,
    )
    seconds, _ = cpu_seconds(lambda: crf.fit(train.X, train.y))
    predicted, y = crf.predict(test.X), test.y
    scores = (
        token_accuracy(y, predicted),
        known_accuracy(y, predicted, test.is_known),
        unknown_accuracy(y, predicted, test.is_known),
        segment_f1(y, predicted),
        sequence_accuracy(y, predicted),
    )
    return Result(seconds, crf.n_iter_, crf.loss_curve_[-1], *(100 * score for score in scores))


def draw(points: dict[str, list[tuple[str, Result]]], path: Path) -> None:
    """Time against F1; a line joins what nothing else beats in both."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(points), figsize=(6 * len(points), 5), layout="constrained", squeeze=False
    )
    for ax, (task, results) in zip(axes[0], points.items(), strict=True):
        for name, result in results:
            ax.scatter(result.seconds, result.f1, color="C0")
            ax.annotate(name, (result.seconds, result.f1), fontsize=8)
        front, best = [], -1.0
        for _, result in sorted(results, key=lambda item: item[1].seconds):
            if result.f1 > best:
                best = result.f1
                front.append((result.seconds, best))
        ax.plot(*zip(*front, strict=True), color="C1", zorder=0)
        ax.set(xlabel="CPU seconds of training", ylabel="F1 of segments", title=TASKS[task].title)
    figure.savefig(path)


if __name__ == "__main__":
    main()
