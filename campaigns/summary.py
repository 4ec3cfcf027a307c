"""Adds up reports of campaigns, and writes the tables in README.md.

Campaigns without a report keep the rows that they have in the tables.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise, takewhile
from pathlib import Path
from statistics import median
from typing import Any

from _report import VERDICTS

__all__ = ["main", "summarised"]

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- written by summary.py -->\n", "<!-- end -->\n"
COLUMNS = ["campaign", "inputs", *VERDICTS, "slowest", "hours", "commit"]
MEASURES = ["campaign", "figure", "number", "median", "maximum"]

Rows = dict[str, list[list[str]]]  # of a table, by campaign


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables, or print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="+", type=Path, help="reports that campaigns wrote with --output"
    )
    parser.add_argument("--print", action="store_true", help="print instead of writing")
    options = parser.parse_args(argv)
    reports = [report for file in options.files for report in json.loads(file.read_text())]
    page = README.read_text()
    before, _, rest = page.partition(BEGIN)
    tables, _, after = rest.partition(END)
    try:
        text = summarised(reports, tables)
    except ValueError as error:
        parser.error(str(error))
    if options.print:
        print(text)
    else:
        README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0


def summarised(reports: Iterable[dict[str, Any]], tables: str = "") -> str:
    """Tables in Markdown, with a row for all reports of a campaign.

    Rows of campaigns without a report are taken from the old ``tables``.

    Raises
    ------
    ValueError
        If two reports have inputs in common, which would be counted twice.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        groups.setdefault(_title(report), []).append(report)
    for title, group in groups.items():
        _check_distinct(title, group)
    counts = {title: [_row(title, group)] for title, group in groups.items()}
    measures = {title: list(_measure_rows(title, group)) for title, group in groups.items()}
    written = [
        _table(COLUMNS, _rows(tables, COLUMNS) | counts),
        _table(MEASURES, _rows(tables, MEASURES) | measures),
    ]
    return "\n".join(filter(None, written))


def _title(report: dict[str, Any]) -> str:
    title = report["campaign"]
    if report["sanitized"]:
        title += ", sanitized"
    if report["instructions"]:
        title += f", {report['instructions']}"
    return title


def _check_distinct(title: str, group: list[dict[str, Any]]) -> None:
    ranges = sorted((report["seed"], report["start"], report["end"]) for report in group)
    for (seed, _, end), (next_seed, start, _) in pairwise(ranges):
        if seed == next_seed and start < end:
            raise ValueError(f"{title}: two reports have seed {seed} and number {start}")


def _row(title: str, group: list[dict[str, Any]]) -> list[str]:
    counts = [
        sum(sum(report["outcomes"][verdict].values()) for report in group) for verdict in VERDICTS
    ]
    hours = sum(report["seconds"] for report in group) / 3600
    slowest = max(report["slowest"][0] for report in group)
    commits = sorted({report["commit"] for report in group})
    return [
        title,
        f"{sum(counts):,}",
        *(f"{count:,}" for count in counts),
        f"{slowest:.2f} s",
        f"{hours:.2f}",
        ", ".join(commits),
    ]


def _measure_rows(title: str, group: list[dict[str, Any]]) -> Iterable[list[str]]:
    values: dict[str, list[float]] = {}
    for report in group:
        for name, found in report["measures"].items():
            values.setdefault(name, []).extend(found)
    for name, found in values.items():
        yield [title, name, f"{len(found):,}", f"{median(found):.4g}", f"{max(found):.4g}"]


def _rows(tables: str, columns: Sequence[str]) -> Rows:
    """The rows of the table with these columns, by campaign."""
    found: Rows = {}
    _, _, rest = tables.partition(_line(columns))
    for line in takewhile(lambda line: line.startswith("|"), rest.splitlines()[1:]):
        row = line.strip("| ").split(" | ")
        found.setdefault(row[0], []).append(row)
    return found


def _table(columns: Sequence[str], rows: Rows) -> str:
    """A table, or nothing if it has no rows."""
    lines = [_line(row) for row in chain.from_iterable(rows.values())]
    return "".join([_line(columns), _line(["---"] * len(columns)), *lines]) if lines else ""


def _line(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |\n"


if __name__ == "__main__":
    sys.exit(main())
