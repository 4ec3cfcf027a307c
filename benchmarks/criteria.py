"""Time and accuracy of training by every criterion."""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, product
from math import inf, isinf
from pathlib import Path
from statistics import median
from typing import NamedTuple

from _common import begin, cpu_seconds, weights_of
from _tasks import TASKS, Rows, Task, encoded
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import CRF
from sklearn_crcrf.criteria import CRITERIA, MCE, MCEF1, as_criterion
from sklearn_crcrf.estimators.crf.initial_weights import STARTS
from sklearn_crcrf.metrics import (
    known_accuracy,
    segment_f1,
    sequence_accuracy,
    token_accuracy,
    unknown_accuracy,
)
from sklearn_crcrf.solvers import lbfgs

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
COSTS = ["criterion", "CPU s", "times the log loss"]
# Evaluations that are timed.
RUNS = 7


class Method(NamedTuple):
    """A criterion, and how it is trained.

    Parameters
    ----------
    criterion : str or callable
    sigma : float
        Standard deviation of the prior.
    max_iter : int
        What is not smooth, or not convex, starts from the weights of ``log_loss``, and gains what
        there is to gain soon.
    """

    criterion: str | Callable
    sigma: float = 1.0
    max_iter: int = 1000

    @property
    def starts_from_log_loss(self) -> bool:
        return as_criterion(self.criterion).start == "log_loss"

    def variants(self) -> Iterator["Method"]:
        """Settings that --tune tries."""
        sigmas = [self.sigma] if isinf(self.sigma) else SIGMAS
        iterations = ITERATIONS if self.max_iter in ITERATIONS else [self.max_iter]
        for sigma, max_iter in product(sigmas, iterations):
            yield self._replace(sigma=sigma, max_iter=max_iter)


METHODS = {
    **{name: Method(name) for name in CRITERIA},
    # The likelihood alone, which has no maximum where a rare attribute is always with one label.
    "log_loss, no prior": Method("log_loss", inf, 200),
    "mce": Method("mce", 3.0, 16),
    "mce_logistic": Method(MCE("logistic"), 3.0, 16),
    "mce_f1": Method(MCEF1(), 3.0, 16),
    "expected_cost": Method("expected_cost", 3.0, 60),
    "token_error": Method("token_error", 1.0, 60),
    "marginal_likelihood": Method("marginal_likelihood", 1.0, 60),
}
LOG_LOSS = METHODS["log_loss"]
# Settings that --tune tries.
SIGMAS = (0.5, 1.0, 3.0, 10.0)
ITERATIONS = (8, 16, 24)


class Trained(NamedTuple):
    """A model, and the CPU time of its training, including the log loss if it starts there."""

    crf: CRF
    seconds: float


class Result(NamedTuple):
    """Time and results of one training, in per cent."""

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
        "--tune",
        action="store_true",
        help=f"try sigma {SIGMAS}, and {ITERATIONS} iterations of classification error, on parts "
        "for tuning instead",
    )
    parser.add_argument("--plot", type=Path, help="draw time and F1 into this file")
    parser.add_argument(
        "--costs", action="store_true", help="also time single evaluations of all criteria"
    )
    args = begin(parser, argv)
    warnings.simplefilter("ignore", ConvergenceWarning)  # tables tell the iterations
    points = {}
    for name in args.tasks:
        task = TASKS[name]
        for part, train, test in encoded(task, args):
            results = points.setdefault(name, [])
            args.report.table(
                f"{task.title}: {part}", COLUMNS, rows(task, train, test, args, results)
            )
        if args.costs:
            args.report.table(f"{task.title}: one evaluation", COSTS, cost_rows(task, train, args))
    if args.plot:
        draw(points, args.plot)
        args.report.figure(args.plot, "Time of training against F1")


def rows(
    task: Task, train: Rows, test: Rows, args: argparse.Namespace, results: list[tuple[str, Result]]
) -> Iterator[list[str]]:
    """Train by each criterion; note the results."""
    start = None
    for name in args.criteria:
        for method in METHODS[name].variants() if args.tune else [METHODS[name]]:
            if method.starts_from_log_loss and start is None:
                start = trained(LOG_LOSS, task, train)
            fitted = trained(method, task, train, start)
            if method == LOG_LOSS:
                start = fitted
            result = tested(fitted, test)
            results.append((name, result))
            yield [name, f"{method.sigma:g}", *result.cells()]


def trained(method: Method, task: Task, train: Rows, start: Trained | None = None) -> Trained:
    """A model, and how long it took; from the log loss on, if training starts there."""
    crf = CRF(
        method.criterion,
        method.sigma,
        features=task.features,
        dtype="float32",
        max_iter=method.max_iter,
        tol=1e-4,
    )
    seconds = 0.0
    if method.starts_from_log_loss:
        crf.set_params(init=weights_of(start.crf))
        seconds = start.seconds
    return Trained(crf, seconds + cpu_seconds(lambda: crf.fit(train.X, train.y))[0])


def tested(model: Trained, test: Rows) -> Result:
    crf, seconds = model
    predicted, y = crf.predict(test.X), test.y
    scores = (
        token_accuracy(y, predicted),
        known_accuracy(y, predicted, test.is_known),
        unknown_accuracy(y, predicted, test.is_known),
        segment_f1(y, predicted),
        sequence_accuracy(y, predicted),
    )
    return Result(seconds, crf.n_iter_, crf.loss_curve_[-1], *(100 * score for score in scores))


def cost_rows(task: Task, train: Rows, args: argparse.Namespace) -> Iterator[list[str]]:
    """Median seconds of the objective and its gradient in double precision, on the same weights.

    The weights come from a few iterations on the log loss.
    """
    crf = CRF(features=task.features)
    corpus = crf._read(train.X, train.y, None).longest_first()
    crf._n_seen = corpus.weight.sum()
    problem = crf._problem(corpus, None)
    x = lbfgs(problem.objective(), problem.vector(STARTS["zeros"](problem)), max_iter=RUNS).x
    of_log_loss = None
    for name in dict.fromkeys(["log_loss", *args.criteria]):
        criterion = as_criterion(METHODS[name].criterion).for_labels(crf.classes_)
        objective = problem._replace(criterion=criterion).objective()
        seconds = median(cpu_seconds(lambda f=objective: f(x))[0] for _ in range(RUNS))
        of_log_loss = of_log_loss or seconds
        yield [name, f"{seconds:.3f}", f"{seconds / of_log_loss:.1f}"]


def draw(points: dict[str, list[tuple[str, Result]]], path: Path) -> None:
    """Draw time against F1; a line joins the Pareto-optimal criteria."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(points), figsize=(6 * len(points), 5), layout="constrained", squeeze=False
    )
    for ax, (task, results) in zip(axes[0], points.items(), strict=True):
        for (name, result), marker in zip(results, cycle("os^Dv<>PX*ph"), strict=False):
            ax.plot(result.seconds, result.f1, marker, label=name)
        front, best = [], -1.0
        for _, result in sorted(results, key=lambda item: item[1].seconds):
            if result.f1 > best:
                best = result.f1
                front.append((result.seconds, best))
        ax.plot(*zip(*front, strict=True), color="0.7", zorder=0)
        ax.set(xlabel="CPU seconds of training", ylabel="F1 of segments", title=TASKS[task].title)
        ax.set_xscale("log")
        ax.legend(fontsize=8)
    figure.savefig(path)


if __name__ == "__main__":
    main()
