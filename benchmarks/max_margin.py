"""Solvers of the max-margin problem: how far from the minimum after some passes, and how soon."""

import argparse
import warnings
from collections.abc import Iterator, Sequence

from _common import begin, cpu_seconds  # before numpy

# isort: split
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import MaxMarginCRF
from sklearn_crcrf.datasets import make_addresses

SOLVERS = ("bcfw", "smo", "subgradient", "eg")
PASSES = (10, 30, 100)
REMARK = (
    "The minimum is known up to {gap:.2g} per cent, from {n} passes of bcfw. Gupta's survey of "
    "CRFs, after Bartlett et al. (2004), says that the exponentiated gradient ends up with a "
    "better objective than SMO; here it is the reverse."
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("max_margin.py", description=__doc__)
    args = begin(parser, argv)
    warnings.simplefilter("ignore", ConvergenceWarning)  # a number of passes is wanted
    X, y = make_addresses(args.sentences or 200, random_state=0)
    n_passes = 10 * max(PASSES)
    best = MaxMarginCRF(max_iter=n_passes, tol=1e-9, random_state=0).fit(X, y)
    minimum = best.loss_curve_[-1]
    title = f"{len(X)} made-up addresses, C=1"
    columns = ["solver", "passes", "objective", "above the minimum, per cent", "CPU s"]
    args.report.table(title, columns, rows(X, y, minimum))
    args.report.remark(REMARK.format(gap=100 * best.duality_gap_ / minimum, n=n_passes))


def rows(X: list, y: list, minimum: float) -> Iterator[list[str]]:
    """Train by every solver; a gap that cannot be reached lets it use all its passes."""
    for solver in SOLVERS:
        for n_passes in PASSES:
            crf = MaxMarginCRF(solver=solver, max_iter=n_passes, tol=1e-9, random_state=0)
            seconds, _ = cpu_seconds(lambda crf=crf: crf.fit(X, y))
            objective = crf.loss_curve_[-1]
            above = f"{100 * (objective / minimum - 1):.2f}"
            yield [solver, str(n_passes), f"{objective:.1f}", above, f"{seconds:.2f}"]


if __name__ == "__main__":
    main()
