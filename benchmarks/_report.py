"""Reports of benchmarks: Markdown on the screen and, optionally, a page of the site.

Columns of targets, and whether they are met, are for the screen: whoever reads the site needs the
figures.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path


class Report:
    """A page with notes, tables and remarks, printed as they come.

    Parameters
    ----------
    title : str
    path : Path, optional
        File of reStructuredText, which is written anew with each table and each remark.

    """

    def __init__(self, title: str, path: Path | None = None):
        self._path = path
        self._page = [_heading(title, "=")]

    def opening(self, summary: str, command: str, notes: Iterable[str]) -> None:
        """What is measured, by which command, and under which circumstances."""
        notes = list(notes)
        print(f"{command}\n")
        for note in notes:
            print(f"- {note}", flush=True)
        self._page += [_escaped(summary), f".. code-block:: sh\n\n   {command}"]
        self._page.append("\n".join(f"- {_escaped(note)}" for note in notes))

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table, row by row as they come."""
        print(f"\n### {title}\n", flush=True)
        printed = []
        for row in (columns, ["---"] * len(columns)):
            print(f"| {' | '.join(row)} |", flush=True)
        for row in rows:
            print(f"| {' | '.join(row)} |", flush=True)
            printed.append(row)
        shown = [j for j, name in enumerate(columns) if not re.match(r"(target|met)\b", name)]
        page = [[row[j] for j in shown] for row in (columns, *printed)]
        self._keep(_heading(title, "-"), _csv_table(page))

    def figure(self, path: Path, text: str) -> None:
        """A picture; on the page it is looked for in the folder of the page."""
        print(f"\n{text}: {path}", flush=True)
        self._keep(f".. image:: {path.name}\n   :alt: {_escaped(text)}")

    def remark(self, text: str) -> None:
        """A paragraph."""
        print(f"\n{text}", flush=True)
        self._keep(_escaped(text))

    def _keep(self, *blocks: str) -> None:
        self._page += blocks
        if self._path is not None:
            self._path.write_text("\n\n".join(self._page) + "\n", encoding="utf-8")


def _heading(text: str, line: str) -> str:
    text = _escaped(text)
    return f"{text}\n{line * len(text)}"


def _csv_table(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_escaped, row) for row in rows)
    lines = [f"   {line}" for line in text.getvalue().splitlines()]
    return "\n".join([".. csv-table::", "   :header-rows: 1", "", *lines])


def _escaped(text: str) -> str:
    """Escaped text; text that is bold as a whole stays bold."""
    if re.fullmatch(r"\*\*[^*]+\*\*", text):
        return text
    return re.sub(r"[\\*`|]|_(?!\w)", r"\\\g<0>", text)
