"""What it brings to let the C library keep the memory that was freed (utils/memory.py)."""

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

from _common import begin, in_fresh_process  # before numpy

# isort: split
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, SequenceArray, SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.datasets import make_addresses

N_LINES, N_ITERATIONS, N_PREDICTIONS = 15_000, 20, 10
# Where the function is called; "without" puts another one in its place.
CALLERS = ("sklearn_crcrf.linear.objective", "sklearn_crcrf.base.classifier")
COLUMNS = ["what", "memory", "CPU s", "wall s", "page faults", "peak, MB", "less CPU"]


class Cost(NamedTuple):
    """What one run in a process of its own took."""

    cpu: float
    wall: float
    faults: int
    peak: float


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("allocator.py", description=__doc__)
    parser.add_argument("--pairs", type=int, default=13, help="runs with and without")
    parser.add_argument("--lines", type=int, default=N_LINES, help="made-up addresses")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="all")
    args = begin(parser, argv)
    title = "Freed memory of the size of arrays, kept or given back: medians"
    args.report.table(title, COLUMNS, rows(args))


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Two rows for each task; pairs of runs take turns in who is first."""
    for task in args.tasks:
        costs = {True: [], False: []}
        for pair in range(args.pairs):
            for kept in (True, False) if pair % 2 == 0 else (False, True):
                costs[kept].append(in_fresh_process(cost, task, args.lines, kept))
        gains = [1 - a.cpu / b.cpu for a, b in zip(costs[True], costs[False], strict=True)]
        yield row(task, "given back", costs[False], "")
        yield row(task, "kept", costs[True], f"{100 * median(gains):.1f} %")


def row(task: str, memory: str, costs: Sequence[Cost], gain: str) -> list[str]:
    """Medians of all figures."""
    cpu, wall, faults, peak = (median(figures) for figures in zip(*costs, strict=True))
    return [task, memory, f"{cpu:.2f}", f"{wall:.2f}", f"{faults:,.0f}", f"{peak:.0f}", gain]


def cost(task: str, n_lines: int, kept: bool) -> Cost:
    """One run; the data are made, and what is loaded at the first use is loaded, before it."""
    X, y = make_addresses(n_lines, random_state=0)
    columns = TokenFeatures(["lower", "shape"]), Window([-2, -1, 0, 1, 2]), SequenceVectorizer()
    X = make_pipeline(*columns).fit_transform(X)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with ExitStack() as stack:
        for caller in () if kept else CALLERS:
            stack.enter_context(patch(f"{caller}.retain_freed_memory"))
        CRF(max_iter=2).fit(X[:10], y[:10]).predict(X[:10])
        return measured(TASKS[task](X, y))


def measured(run: Callable[[], object]) -> Cost:
    """CPU time and page faults of a function, and the peak memory of the whole process."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    run()
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - start
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, after.ru_minflt - before.ru_minflt, after.ru_maxrss / 1024)


def training(**options: object) -> Callable:
    """Trains on rows for a few iterations."""
    return lambda X, y: lambda: CRF(max_iter=N_ITERATIONS, tol=0, **options).fit(X, y)


def prediction(method: str) -> Callable:
    """Labels all rows several times; the model is trained before."""

    def task(X: SequenceArray, y: Sequence) -> Callable:
        predict = getattr(CRF(max_iter=N_ITERATIONS, tol=0).fit(X[:1000], y[:1000]), method)
        return lambda: [predict(X) for _ in range(N_PREDICTIONS)]

    return task


TASKS = {
    "log_loss": training(),
    "pseudo_likelihood": training(criterion="pseudo_likelihood"),
    "expected_cost": training(criterion="expected_cost"),
    "predict": prediction("predict"),
    "predict_proba": prediction("predict_proba"),
}

if __name__ == "__main__":
    main()
