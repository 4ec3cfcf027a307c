"""Reports of campaigns: outcomes are counted, numbered, printed, and stored as JSON."""

import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from _crashes import is_sanitized

VERDICTS = ("answered", "refused", "wrong", "crashed", "hung")
DEFECTS = VERDICTS[2:]
N_NUMBERS = 5  # of the inputs that show a defect
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- written by run.py --table -->\n", "<!-- end -->\n"


class Judgement(NamedTuple):
    """The outcome of an input.

    Parameters
    ----------
    verdict : str
        "answered", "refused", "wrong", "crashed" or "hung".
    what : str
        The name of the outcome or the defect, the same for all inputs that show it.
    example : str
        Details of this input.
    seconds : float
    measures : mapping of str to float
    """

    verdict: str
    what: str
    example: str = ""
    seconds: float = 0.0
    measures: Mapping[str, float] = {}


class Report:
    """Outcomes of the inputs of one campaign.

    Parameters
    ----------
    campaign : str
    seed, start : int
        The seed of the inputs, and the first number.
    """

    def __init__(self, campaign: str, seed: int, start: int):
        self.campaign, self.seed, self.start = campaign, seed, start
        self.seconds = 0.0
        self._end = start
        self._outcomes = {verdict: Counter() for verdict in VERDICTS}
        self._defects: dict[tuple[str, str], dict[str, Any]] = {}
        self._slowest = (0.0, None)
        self._measures: dict[str, list[float]] = {}

    def add(self, number: int, judgement: Judgement) -> None:
        """Count an input; a defect that is new is printed."""
        verdict, what, example, seconds, measures = judgement
        self._end = max(self._end, number + 1)
        self._outcomes[verdict][what] += 1
        if verdict != "crashed" and seconds > self._slowest[0]:
            self._slowest = (seconds, number)
        for name, value in measures.items():
            self._measures.setdefault(name, []).append(round(value, 6))
        if verdict in DEFECTS:
            self._add_defect(number, verdict, what, example)

    def _add_defect(self, number: int, verdict: str, what: str, example: str) -> None:
        new = {"verdict": verdict, "what": what, "example": example, "count": 0, "numbers": []}
        defect = self._defects.setdefault((verdict, what), new)
        defect["count"] += 1
        if len(defect["numbers"]) < N_NUMBERS:
            defect["numbers"].append(number)
        if defect["count"] == 1:
            print(f"{verdict} {what}\n    {_short(example)}", flush=True)
            print(f"    {self._command(number)}", flush=True)

    @property
    def tried(self) -> int:
        """Number of inputs."""
        return sum(self.count(verdict) for verdict in VERDICTS)

    def count(self, verdict: str) -> int:
        """Number of inputs with this outcome."""
        return self._outcomes[verdict].total()

    @property
    def has_defects(self) -> bool:
        """Whether anything crashed, hung or was answered wrongly."""
        return any(self.count(verdict) for verdict in DEFECTS)

    def as_dict(self) -> dict[str, Any]:
        """The report as a dict of JSON types."""
        return {
            "campaign": self.campaign,
            "commit": _commit(),
            "seed": self.seed,
            "start": self.start,
            "end": self._end,
            "seconds": round(self.seconds, 1),
            "sanitized": is_sanitized(),
            "instructions": os.environ.get("SKLEARN_CRCRF_INSTRUCTIONS"),
            "tried": self.tried,
            "outcomes": {verdict: dict(counts) for verdict, counts in self._outcomes.items()},
            "defects": list(self._defects.values()),
            "slowest": list(self._slowest),
            "measures": self._measures,
        }

    def row(self) -> list[str]:
        """What the table in README.md says."""
        title = self.campaign + ", sanitized" * is_sanitized()
        counts = (f"{self.count(verdict):,}" for verdict in VERDICTS)
        figures = [
            f"{name}: {median(values):.3g}, at most {max(values):.3g}"
            for name, values in self._measures.items()
        ]
        slowest = f"{self._slowest[0]:.2f} s"
        return [title, f"{self.tried:,}", *counts, slowest, "; ".join(figures[:2]), _commit()]

    def print(self) -> None:
        """Print what was found."""
        rate = self.tried / self.seconds if self.seconds else 0
        print(
            f"\n{self.campaign}: {self.tried:,} inputs, seed {self.seed}, numbers {self.start} to "
            f"{self._end - 1}, {self.seconds:.0f} s, {rate:,.1f} per second; commit {_commit()}"
        )
        for verdict, counts in self._outcomes.items():
            shown = [f"{what} {count:,}" for what, count in counts.most_common(12)]
            named = ": " + ", ".join(shown) if shown and verdict not in DEFECTS else ""
            print(f"  {verdict:9} {counts.total():9,}{named}")
        seconds, number = self._slowest
        if number is not None:
            print(f"  slowest   {seconds:9.3f} s, number {number}")
        for name, values in self._measures.items():
            print(f"  {name}: median {median(values):.4g}, maximum {max(values):.4g}")
        for defect in self._defects.values():
            print(f"  {defect['verdict']} {defect['count']:,} times: {defect['what']}")
            print(f"    {self._command(defect['numbers'][0])}")
        sys.stdout.flush()

    def _command(self, number: int) -> str:
        program = os.path.relpath(sys.argv[0])
        return f"python {program} {shlex.quote(self.campaign)} --seed {self.seed} --only {number}"


def write_table(reports: list[Report], page: Path = README) -> None:
    """Write a row for each report into the table of a page, in place of an older one."""
    before, begin, rest = page.read_text().partition(BEGIN)
    table, end, after = rest.partition(END)
    rows = {line.split(" | ")[0].strip("| "): line for line in table.splitlines()}
    for report in reports:
        row = report.row()
        rows[row[0]] = f"| {' | '.join(row)} |"
    page.write_text(before + begin + "\n".join(rows.values()) + "\n" + end + after)


def _commit() -> str:
    """The commit of the checkout, with a plus sign if files differ from it."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*"]
    run = subprocess.run([*command, "--dirty=+"], capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def _short(text: str) -> str:
    lines = text.strip().splitlines()
    return " ".join(lines)[:200]
