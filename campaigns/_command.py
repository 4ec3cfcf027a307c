"""The command line that all campaigns share."""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from _campaign import Campaign, show_inputs
from _report import DEFECTS, Report, write_table
from _supervisor import prepare, supervise
from _worker import judge

__all__ = ["main"]

UNLIMITED = 1 << 62


def main(description: str, campaigns: Sequence[Campaign], argv: Sequence[str] | None = None) -> int:
    """Run campaigns with the options of the command line.

    Parameters
    ----------
    description : str
        For the help.
    campaigns : sequence of Campaign
    argv : sequence of str, optional
        Arguments; by default the arguments of the process.

    Returns
    -------
    int
        Exit status: 1 if anything crashed, hung or was answered wrongly, else 0.
    """
    options = _options(description, campaigns, argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    chosen = [campaign for campaign in campaigns if campaign.name in options.names]
    if options.limit is not None:
        chosen = [replace(campaign, limit=options.limit) for campaign in chosen]
    if options.only is not None:
        return int(max(_repeat(campaign, options) for campaign in chosen))
    reports, end = [], time.monotonic() + 60 * options.minutes
    for k, campaign in enumerate(chosen):
        left = end - time.monotonic()
        reports.append(_run(campaign, options, left / (len(chosen) - k)))
        if options.output is not None:
            options.output.write_text(json.dumps([report.as_dict() for report in reports]))
    if options.table:
        write_table(reports)
    return int(any(report.has_defects for report in reports))


def _options(
    description: str, campaigns: Sequence[Campaign], argv: Sequence[str] | None
) -> argparse.Namespace:
    names = [campaign.name for campaign in campaigns]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; default all")
    parser.add_argument("--n", type=int, help="number of inputs of each campaign")
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument(
        "--seed", type=int, default=0, help="runs with different seeds can be combined"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="number of processes at a time"
    )
    parser.add_argument("--minutes", type=float, help="time for all campaigns together")
    parser.add_argument("--limit", type=float, help="seconds that an input may take")
    parser.add_argument(
        "--only", type=int, metavar="NUMBER", help="repeat this input, with its output shown"
    )
    parser.add_argument("--output", type=Path, help="write the report as JSON")
    parser.add_argument("--table", action="store_true", help="write the table in README.md")
    options = parser.parse_args(argv)
    unknown = set(options.names) - set(names)
    if not names:
        parser.error("which campaigns? --help has their names")
    if unknown:
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}")
    options.names = options.names or names
    options.is_timed = options.minutes is not None
    options.minutes = options.minutes if options.is_timed else float("inf")
    return options


def _run(campaign: Campaign, options: argparse.Namespace, seconds: float) -> Report:
    report = Report(campaign.name, options.seed, options.start)
    n = options.n or (UNLIMITED if options.is_timed else campaign.n)
    numbers = range(options.start, options.start + n)
    begin = time.monotonic()
    try:
        supervise(campaign, report, numbers, options.jobs, begin + seconds)
    finally:
        report.seconds = time.monotonic() - begin
        report.print()
    return report


def _repeat(campaign: Campaign, options: argparse.Namespace) -> bool:
    """Try a single input in this process, and print everything about it; its files are kept."""
    show_inputs()
    prepare(campaign)
    folder = tempfile.mkdtemp(prefix=f"{campaign.name}-{options.only}-")
    print("in", folder)
    with contextlib.chdir(folder):
        judgement = judge(campaign, options.seed, options.only)
    print(f"{campaign.name} {options.only}: {judgement.verdict}: {judgement.what}")
    print(judgement.example)
    return judgement.verdict in DEFECTS
