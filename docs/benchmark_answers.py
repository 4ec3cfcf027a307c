"""What the pages of the benchmarks answer, by ``benchmark_answers.toml`` and their tables.

Below, a function is called what its page is called, and returns what has to be computed.
"""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

Row = dict[str, str]
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
FIELD = re.compile(r"\{(?:(\w+)/)?([^{}]*?)(?::([+.\d]*[dfg]))?\}")  # {name/column:format}

PAGES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CHARTS = {name: page["chart"] for name, page in PAGES.items() if "chart" in page}


def read_page(path: Path) -> dict[str, list[Row]]:
    """The tables of a page by title; each row has its cells by column."""
    tables = {}
    page = path.read_text(encoding="utf-8")
    table = r"^(.+)\n-+\n\n\.\. csv-table::\n   :header-rows: 1\n\n((?:   .+\n)+)"
    for title, lines in re.findall(table, page, re.MULTILINE):
        rows = csv.DictReader(line.strip() for line in lines.splitlines())
        tables[unescaped(title)] = [{k: unescaped(v) for k, v in row.items()} for row in rows]
    return tables


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def number(cell: str) -> float:
    """The number that a cell begins with."""
    return float(NUMBER.match(cell)[0].replace(",", ""))


class Tables:
    """The tables of a page."""

    def __init__(self, tables: dict[str, list[Row]]):
        self.all = tables

    def __call__(self, title: str, pattern: str = "") -> list[Row]:
        """Rows of the first table whose title begins so, with this pattern in their cells."""
        rows = next(rows for name, rows in self.all.items() if name.startswith(title))
        return [row for row in rows if re.search(pattern, "; ".join(row.values()))]

    def named(self, name: str) -> list[Row]:
        """The rows that ``TABLE | PATTERN | most COLUMN`` names."""
        parts = [part.strip() for part in re.split(r" \|(?= )", name)]
        title, pattern, choice = (*parts, "", "")[:3]
        which, _, column = choice.partition(" ")
        rows = self(title, pattern)
        return [best(rows, column, which == "least")] if choice else rows


def answer(page: str, tables: dict[str, list[Row]]) -> str:
    """The sentence that a page opens with."""
    t = Tables(tables)
    computed = COMPUTED[page](t) if page in COMPUTED else {}

    def figure(field: re.Match) -> str:
        name, column, spec = field.groups()
        return cells(t.named(PAGES[page][name]), column, spec) if name else str(computed[column])

    return FIELD.sub(figure, PAGES[page]["answer"])


def cells(rows: list[Row], column: str, spec: str | None) -> str:
    """The cell of a row, or the least and the greatest number of several."""
    if len(rows) == 1 and not spec:
        return rows[0][column].removesuffix(" x")
    return span(numbers(rows, column), spec or "g")


def best(rows: list[Row], column: str, least: bool = False) -> Row:
    """The row with the greatest number in a column, or with the least."""
    rows = [row for row in rows if NUMBER.match(row[column] or "")]
    return (min if least else max)(rows, key=lambda row: number(row[column]))


def numbers(rows: list[Row], column: str) -> list[float]:
    return [number(row[column]) for row in rows if NUMBER.match(row[column] or "")]


def span(values: list[float], spec: str = "g") -> str:
    """The least and the greatest value."""
    least, greatest = format(min(values), spec), format(max(values), spec)
    return least if least == greatest else f"{least} to {greatest}"


def differences(rows: list[Row], column: str, less: str) -> list[float]:
    return [number(row[column]) - number(row[less]) for row in rows]


def annotation(t: Tables) -> dict:
    rows = t("A simulated annotator")
    shares = [
        100 * number(r["same score with"]) / number(r["sentences in text order"]) for r in rows
    ]
    return {"share": span(shares, ".0f")}


def annotation_service(t: Tables) -> dict:
    kept = t("Kills")[0]["lost"] == t("/tag")[0]["errors"] == "0"
    return {"verdict": "Yes" if kept else "No"}


def calibration(t: Tables) -> dict:
    rows = t("Calibration error, %")
    means = {name: sum(numbers(rows, name)) / len(rows) for name in ("before", "after")}
    return {"count": len(rows), **{name: f"{mean:.2f}" for name, mean in means.items()}}


def corpora(t: Tables) -> dict:
    """How often which row is the best of its table."""
    won = Counter()
    for rows in t.all.values():
        score = next(name for name in ("F1", "overall", "accuracy") if rows[0].get(name))
        first = best(rows, score)
        won[next(iter(first.values()))] += 1
    return {"wins": ", ".join(f"{name} on {n} of {len(t.all)}" for name, n in won.most_common())}


def peers(t: Tables) -> dict:
    return corpora(t)


def f1_criterion(t: Tables) -> dict:
    return surely(t("F1, and"))


def f1_defaults(t: Tables) -> dict:
    return surely(t("F1 by"))


def surely(rows: list[Row]) -> dict:
    """In how many rows all draws but 5 % are above zero, and below."""
    ranges = [re.findall(r"[-+]\d+\.\d+", row["95 % of draws"]) for row in rows]
    more = sum(float(low) > 0 for low, _ in ranges)
    less = sum(float(high) < 0 for _, high in ranges)
    return {"count": len(rows), "more": more, "less": less}


def label_bias(t: Tables) -> dict:
    column = "from the best"
    rows = [row for row in t("Label bias") if row[column]]
    biased = [row for row in rows if number(row[column]) < -1]
    others = numbers([row for row in rows if row not in biased], column)
    return {
        "biased": " and ".join(sorted({row["method"].partition(",")[0] for row in biased})),
        "far": span([-below for below in numbers(biased, column)]),
        "near": format(max(map(abs, others)), "g"),
    }


def lattice(t: Tables) -> dict:
    gains = differences(t("Other corpora"), "LatticeCRF", "CRF")
    return {"won": sum(gain > 0 for gain in gains), "count": len(gains)}


def learning_curves(t: Tables) -> dict:
    where = {
        title.partition(":")[0]: row["overtakes EmpiricalCRF() at"]
        for title, rows in t.all.items()
        if title.endswith("overtake")
        for row in rows
        if row["iterated model"] == "CRF, text_features, sigma=1"
    }
    found = [f"{corpus} ({at})" for corpus, at in where.items() if not at.startswith("not")]
    return {"found": len(found), "count": len(where), "where": ", ".join(found) or "none"}


def papers(t: Tables) -> dict:
    rows = [row for row in t("[EP] table 1") if row["in the paper"]]
    return {"apart": f"{max(map(abs, differences(rows, 'accuracy', 'in the paper'))):.1f}"}


def parsers(t: Tables) -> dict:
    return {"others": f"{sum(numbers(t('Labels'), 'sequences with other labels')):g}"}


def promise_sizes(t: Tables) -> dict:
    rows, column = t("The smallest"), "at 90 %: by probability"
    open_ended = [row for row in rows if not NUMBER.match(row[column])]  # such as "over 1,000"
    most = open_ended[-1] if open_ended else best(rows, column)
    return {"least": best(rows, column, least=True)[column], "most": most[column]}


def promises(t: Tables) -> dict:
    made = [row for row in t("Whole") if NUMBER.match(row["held, %"])]
    missed = max(0.0, *differences(made, "promised, %", "held, %"))
    n_all = len(t("Whole"))
    return {"count": n_all, "refused": n_all - len(made), "missed": f"{missed:.1f}"}


def segments(t: Tables) -> dict:
    gains = differences(t("EmpiricalCRF: F1"), "segments", "tokens")
    won = sum(gain > 0 for gain in gains)
    return {"gains": span(gains, "+.2f"), "won": won, "count": len(gains)}


def starts(t: Tables) -> dict:
    rows = t("init")
    pairs = [list(map(number, r["evaluations to 1 % above the minimum"].split(", "))) for r in rows]
    return {"fewer": sum(counted < zeros for zeros, counted in pairs), "count": len(rows)}


def unlabelled(t: Tables) -> dict:
    gains = differences(t("Per cent", "; EmpiricalCRF;"), "best, 1", "alone")
    return {"gains": span(gains, "+.2f"), "count": len(gains)}


COMPUTED: dict[str, Callable[[Tables], dict]] = {
    name: globals()[name] for name in PAGES if name in globals()
}
