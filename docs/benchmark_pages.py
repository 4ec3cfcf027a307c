"""Open the pages of the benchmarks: the answer in a sentence, a chart, and what the columns mean.

The pages themselves are what the programs measured; ``benchmark_answers.toml`` answers from that.
"""

import html
import re
import tomllib
from pathlib import Path

from benchmark_answers import CHARTS, NUMBER, PAGES, Row, Tables, answer, number, read_page

ROW, WIDTH = 34, 360  # units of a drawing, which phones show one to one
CURVE = 190
COLOURS = ("#1f88b5", "#d0641f", "#4b9a46", "#b15fb5", "#b58d1f", "#c94a5f")  # for light and dark
# What a column means, by a pattern for the page and the name of the column.
COLUMNS = tomllib.loads((Path(__file__).parent / "benchmark_columns.toml").read_text("utf-8"))


def open_page(app, docname: str, source: list[str]) -> None:
    """Put answer, chart and the meaning of columns before the command of a page."""
    name = docname.removeprefix("benchmarks/")
    if name in PAGES:
        tables = read_page(Path(app.env.doc2path(docname)))
        before, command, after = source[0].partition(".. code-block:: sh\n")
        source[0] = before + opening(name, tables) + command + with_curves(after, tables)


def opening(name: str, tables: dict[str, list[Row]]) -> str:
    """What a page begins with, as reStructuredText."""
    parts = [f"**{escaped(answer(name, tables))}**"]
    if name in CHARTS:
        table, n_names, column, pattern = CHARTS[name]
        rows = Tables(tables)(table, pattern)
        title = next(title for title in tables if title.startswith(table))
        parts.append(raw(bars(rows, n_names, column, f"{title}: {column}")))
    parts.append(meanings(name, {column for rows in tables.values() for column in rows[0]}))
    return "\n\n".join(parts) + "\n\n"


def meanings(page: str, columns: set[str]) -> str:
    """A list that opens: what the columns mean."""
    names: dict[str, list[str]] = {}
    for column in sorted(columns):
        if pattern := meaning_of(page, column):
            names.setdefault(COLUMNS[pattern], []).append(f"*{escaped(column)}*")
    lines = [f"   - {', '.join(shown)}: {meaning}" for meaning, shown in names.items()]
    return ".. dropdown:: What the columns mean\n\n" + "\n".join(lines)


def meaning_of(page: str, column: str) -> str | None:
    """The first pattern that the column of a page has."""
    found = (pattern for pattern in COLUMNS if re.fullmatch(pattern, f"{page}/{column}"))
    return next(found, None)


def with_curves(page: str, tables: dict[str, list[Row]]) -> str:
    """A page with a drawing above each table whose columns are numbers of sentences."""
    for title, rows in tables.items():
        sizes = [column for column in rows[0] if re.fullmatch(r"[\d,]+ sentences", column)]
        if len(sizes) > 2:
            heading = f"{title}\n{'-' * len(title)}\n\n"
            page = page.replace(heading, heading + raw(curves(rows, sizes, title)) + "\n\n", 1)
    return page


def escaped(text: str) -> str:
    return re.sub(r"([\\*`|_])", r"\\\1", text)


def raw(drawing: str) -> str:
    return ".. raw:: html\n\n   " + drawing.replace("\n", "\n   ")


def bars(rows: list[Row], n_names: int, column: str, title: str) -> str:
    """A bar for each row; a dot between the least and the greatest value where bars would look "
    "alike."""
    rows = [row for row in rows if NUMBER.match(row[column])]
    values = [number(row[column]) for row in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    if dots := min(values) > 0.6 * high:
        gap = (max(values) - min(values)) or 1.0
        low, high = min(values) - 0.1 * gap, max(values) + 0.1 * gap
    scale = WIDTH / ((high - low) or 1.0)
    drawing = []
    for i, (row, value) in enumerate(zip(rows, values, strict=True)):
        y = ROW * i
        name = ", ".join(filter(None, list(row.values())[:n_names]))
        name = html.escape(name if len(name) < 52 else name[:50] + "…")
        drawing.append(f'<text x="0" y="{y + 13}">{name}</text>')
        drawing.append(f'<text x="{WIDTH}" y="{y + 13}" class="value">{row[column]}</text>')
        drawing.append(f'<path class="track" d="M0 {y + 22}H{WIDTH}"/>')
        if dots:
            drawing.append(f'<circle cx="{scale * (value - low):.1f}" cy="{y + 22}" r="5"/>')
        else:
            left, width = scale * (min(value, 0.0) - low), max(scale * abs(value), 1.0)
            drawing.append(f'<rect x="{left:.1f}" y="{y + 18}" width="{width:.1f}" height="8"/>')
    title += f"; dots between {low:.4g} and {high:.4g}" if dots else ""
    return figure("".join(drawing), ROW * len(rows), title)


def curves(rows: list[Row], sizes: list[str], title: str) -> str:
    """A line for each row, over the numbers of sentences."""
    values = [number(row[size]) for row in rows for size in sizes if row[size]]
    low, high = min(values), max(values)
    xs = [round(34 + i * (WIDTH - 44) / (len(sizes) - 1), 1) for i in range(len(sizes))]
    drawing = []
    for value in (low, (low + high) / 2, high):
        y = height(value, low, high)
        drawing.append(f'<path class="grid" d="M34 {y}H{WIDTH}"/>')
        drawing.append(f'<text x="30" y="{y + 4}" class="value">{value:.0f}</text>')
    for x, size in zip(xs, sizes, strict=True):
        count = size.removesuffix(" sentences")
        drawing.append(f'<text x="{x}" y="{CURVE + 14}" class="middle">{count}</text>')
    for i, (row, colour) in enumerate(zip(rows, COLOURS, strict=False)):
        points = " ".join(
            f"{x},{height(number(row[s]), low, high)}"
            for x, s in zip(xs, sizes, strict=True)
            if row[s]
        )
        name = html.escape(next(iter(row.values())))
        dashes = "" if name.startswith("Empirical") else ' stroke-dasharray="6 3"'
        y = CURVE + 36 + 16 * i
        drawing.append(f'<polyline points="{points}" stroke="{colour}"{dashes}/>')
        drawing.append(f'<path d="M0 {y - 4}H26" stroke="{colour}" stroke-width="2"{dashes}/>')
        drawing.append(f'<text x="34" y="{y}">{name}</text>')
    title += ", by the number of sentences"
    return figure("".join(drawing), CURVE + 36 + 16 * len(rows), title)


def height(value: float, low: float, high: float) -> float:
    return round(CURVE - 4 - (CURVE - 16) * (value - low) / ((high - low) or 1.0), 1)


def figure(drawing: str, height: int, title: str) -> str:
    title = html.escape(title)
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{title}">{drawing}</svg><figcaption>{title}</figcaption></figure>'
    )
