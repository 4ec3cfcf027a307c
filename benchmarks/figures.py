"""Compare the figures in README and guide with the pages of the benchmarks, or renew them.

``figures.toml`` has the sentences and rows of tables that state figures. Its keys are a page of
``docs/benchmarks``, a table of this page, and the first cells of a row. A text may stand in several
files; bars, quotes of code and line breaks do not matter. ``{column}`` is the cell of
the row in this column, with its unit, ``{column:.1f}`` the same, rounded, and ``{row/column}`` a
cell of another row, named by its first cell.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from benchmark_answers import read_page  # noqa: E402

PAGES = ROOT / "docs" / "benchmarks"
TEXTS = Path(__file__).with_name("figures.toml")
GAP = r"[\s|`*-]+"  # between words
NUMBER = r"\d[\d,]*(?:\.\d+)?"
FIELD = re.compile(r"\{(?:([^{}/]*)/)?([^{}:]*)(?::([^{}]*))?\}")
CELL = re.compile(rf"({NUMBER})(?: ([kM])(?=[ /]|$))?(.*)")
FACTORS = {None: 1, "k": 1_000, "M": 1_000_000}
# What looks like a measured figure: a number with one of these units, or a share such as 97.93.
MEASURED = re.compile(
    rf"(?<![\w.,])(?:{NUMBER}(?: [kM])?"
    r"(?: (?:s|ms|MB|GB|x|times|per cent|tokens/s|%)(?!\w)|/s)|\d\d\.\d+)"
)
# Neither code nor formulas state what was measured.
CODE = re.compile(
    r"^```.*?^```|^ *>>>.*?(?=^\s*$|\Z)|``.*?``|:math:`[^`]*`|^\.\. code-block::.*?(?=^\S|\Z)",
    re.MULTILINE | re.DOTALL,
)


class Text(NamedTuple):
    """A text of ``figures.toml``: what finds it, and its figures on the pages.

    Where its longest word is not, its pattern need not be tried, which takes long.
    """

    template: str
    longest: str
    pattern: re.Pattern
    figures: list[str]


class Place(NamedTuple):
    """A figure in a file: where it is, and what it should be."""

    start: int
    end: int
    figure: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("figures.py", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the figures in the files")
    args = parser.parse_args(argv)
    problems, texts = [], list(read_texts())
    for path, before, after in renewed(ROOT, texts):
        if args.write:
            path.write_text(after, encoding="utf-8")
        problems += [] if args.write else differing_lines(path, before, after)
    problems += [f"in no file: {template}" for template in missing(ROOT, texts)]
    problems += [f"{path}: {figure} is from no page" for path, figure in unsourced(ROOT, texts)]
    print("\n".join(problems) or "All figures are on the pages of the benchmarks.")
    return bool(problems)


def find_row(rows: list[dict[str, str]], first_cells: str) -> dict[str, str]:
    """The only row that begins with these cells, which bars divide."""
    cells = first_cells.split(" | ")
    found = [row for row in rows if list(row.values())[: len(cells)] == cells]
    if len(found) != 1:
        raise ValueError(f"{len(found)} rows begin with {first_cells!r}")
    return found[0]


def rounded(cell: str, spec: str | None) -> str:
    """A cell, its number rounded."""
    number, factor, unit = CELL.fullmatch(cell).groups()
    if spec is None:
        return cell
    return f"{float(number.replace(',', '')) * FACTORS[factor]:{spec}}{unit}"


def read_texts() -> Iterator[Text]:
    """All texts, with their figures."""
    listed = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    del listed["not measured here"]
    for page, tables in listed.items():
        content = read_page(PAGES / f"{page}.rst")
        for title, rows in tables.items():
            for first_cells, templates in rows.items():
                for template in [templates] if isinstance(templates, str) else templates:
                    yield text_of(template, content[title], first_cells)


def text_of(template: str, rows: list[dict[str, str]], first_cells: str) -> Text:
    figures = []
    for other, column, spec in FIELD.findall(template):
        row = find_row(rows, other or first_cells)
        figures.append(rounded(row[column], spec or None))
    patterns = iter(
        [
            f"({NUMBER}{re.escape(CELL.fullmatch(f)[0][len(CELL.fullmatch(f)[1]) :])})"
            for f in figures
        ]
    )
    words = FIELD.sub("\0", template).replace("|", " ").split()
    longest = max(" ".join(words).replace("\0", " ").split(), key=len)
    pattern = GAP.join("`*".join(map(re.escape, word)) for word in words)
    pattern = re.sub("\0", lambda _: next(patterns).replace("\\ ", r"\s+"), pattern)
    return Text(template, longest, re.compile(rf"(?<![\w.,]){pattern}(?!\w|[.,]\d)"), figures)


def files_of(root: Path) -> list[Path]:
    """The files that state figures."""
    docs = root / "docs"
    return [
        root / "README.md",
        *sorted(docs.glob("*.rst")),
        *sorted(docs.glob("user_guide/**/*.rst")),
    ]


def matches_in(content: str, texts: Sequence[Text]) -> Iterator[tuple[Text, re.Match]]:
    """Where texts are in a file."""
    unquoted = content.replace("`", "")
    for text in texts:
        if text.longest in unquoted:
            yield from ((text, match) for match in text.pattern.finditer(content))


def places_in(content: str, texts: Sequence[Text]) -> Iterator[Place]:
    """The figures of all texts in a file."""
    for text, match in matches_in(content, texts):
        for group, figure in enumerate(text.figures, 1):
            yield Place(*match.span(group), figure)


def renewed(root: Path, texts: Sequence[Text]) -> Iterator[tuple[Path, str, str]]:
    """Files with other figures than the pages, as they are and as they should be."""
    for path in files_of(root):
        before = after = path.read_text(encoding="utf-8")
        for start, end, figure in sorted(places_in(before, texts), reverse=True):
            if re.sub(r"\s+", " ", before[start:end]) != figure:
                after = after[:start] + figure + after[end:]
        if after != before:
            yield path, before, after


def differing_lines(path: Path, before: str, after: str) -> list[str]:
    lines = zip(before.splitlines(), after.splitlines(), strict=True)
    return [
        f"{path}:{number}: {old.strip()!r} should be {new.strip()!r}"
        for number, (old, new) in enumerate(lines, 1)
        if old != new
    ]


def missing(root: Path, texts: Sequence[Text]) -> list[str]:
    """Texts that are in no file."""
    found = set()
    for path in files_of(root):
        found |= {text.template for text, _ in matches_in(path.read_text("utf-8"), texts)}
    return [text.template for text in texts if text.template not in found]


def unsourced(root: Path, texts: Sequence[Text]) -> Iterator[tuple[Path, str]]:
    """Figures that belong to no text, and are not listed as not measured here."""
    others = tomllib.loads(TEXTS.read_text(encoding="utf-8"))["not measured here"]["texts"]
    for path in files_of(root):
        content = path.read_text(encoding="utf-8")
        known = [(start, end) for start, end, _ in places_in(content, texts)]
        known += [match.span() for match in CODE.finditer(content)]
        for other in others:
            pattern = r"\s+".join(map(re.escape, other.split()))
            known += [match.span() for match in re.finditer(pattern, content)]
        for match in MEASURED.finditer(content):
            if not any(start < match.end() and match.start() < end for start, end in known):
                yield path, match.group()


if __name__ == "__main__":
    raise SystemExit(main())
