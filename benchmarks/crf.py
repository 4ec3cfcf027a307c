"""Speed of CRF in training and labelling, compared with python-crfsuite; and its limits."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from _common import begin
from _contests import CONTESTS, baseline_rows, contest_rows, f1_rows, perceptron_rows
from _limits import COLUMNS as LIMIT_COLUMNS
from _limits import limit_rows
from _optima import COLUMNS as OPTIMUM_COLUMNS
from _optima import optimum_rows
from _usage import decoding_rows, encoding_rows, memory_rows
from _verdicts import COLUMNS as VERDICT_COLUMNS

from sklearn_crcrf._kernels import INSTRUCTIONS

Rows = Callable[[argparse.Namespace], Iterator[list[str]]]


class Table(NamedTuple):
    """The rows of one table, by name."""

    title: str
    columns: list[str]
    rows: dict[str, Rows]


TABLES = [
    Table(
        "Compared with python-crfsuite",
        VERDICT_COLUMNS,
        {
            **{name: partial(contest_rows, contest) for name, contest in CONTESTS.items()},
            "baseline": baseline_rows,
            "f1": f1_rows,
            "perceptron": perceptron_rows,
            "encoding": encoding_rows,
            "decoding": decoding_rows,
            "memory": memory_rows,
        },
    ),
    Table("Where training ends", OPTIMUM_COLUMNS, {"optima": optimum_rows}),
    Table("Kernels compared with the limits of one core", LIMIT_COLUMNS, {"limits": limit_rows}),
]
NAMES = [name for table in TABLES for name in table.rows]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("crf.py", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=NAMES, default=NAMES, help="all")
    parser.add_argument("--runs", type=int, default=5, help="number of runs; the median counts")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="time a few evaluations of python-crfsuite, and take their number from earlier runs",
    )
    args = begin(parser, argv, f"instructions: {INSTRUCTIONS}")
    for table in TABLES:
        rows = [rows(args) for name, rows in table.rows.items() if name in args.rows]
        if rows:
            args.report.table(table.title, table.columns, chain.from_iterable(rows))


if __name__ == "__main__":
    main()
