"""The page of the papers has every equation, and names code and tests that exist."""

import ast
import csv
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from cases import for_each

import sklearn_crcrf

ROOT = Path(sklearn_crcrf.__file__).parents[1]
FOLDER = ROOT / "docs" / "user_guide" / "papers"
BIBLIOGRAPHY = ROOT / "docs" / "references.bib"
# How many numbered equations each paper has.
EQUATIONS = {"ep": 25, "ecrn": 6, "sep": 0, "mce": 16, "survey": 61}
TEST = re.compile(r"``(tests/[\w/]+\.py)::(test_\w+)``")
# What a role links to, and dotted names of what the API does not list.
IDENTIFIERS = {
    "doi": r"10\.\d{4,9}/\S+",
    "eprint": r"\d{4}\.\d{4,5}",
    "url": r"https://hdl\.handle\.net/\d+/\d+",
}
NAME = re.compile(r":(?:class|func|meth):`(?:[^`<]*<|~)?([\w.]+)>?`|``(sklearn_crcrf[\w.]+)``")

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs the folder of the documentation")


@cache
def rows(paper):
    with (FOLDER / f"{paper}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def named_tests(cell):
    """Paths and names of tests, which must be all there is in a cell."""
    assert not TEST.sub("", cell).strip(" ,"), cell
    return TEST.findall(cell)


@cache
def defined(path):
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def resolve(name):
    """Import what a dotted name stands for."""
    owner, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(owner), attribute)
    except ModuleNotFoundError:
        return getattr(resolve(owner), attribute)


@for_each("paper", EQUATIONS)
def test_every_row_says_what_where_and_how_it_is_tested(paper):
    for row in rows(paper):
        assert all(row[column] for column in ("equation", "what it says", "in the package", "test"))
        assert None not in row, f"a comma too many: {row}"


@for_each("paper", EQUATIONS)
def test_every_equation_has_a_row(paper):
    numbers = []
    for row in rows(paper):
        for several in re.findall(r"eqs?\. (\d+(?:(?:, | to )\d+)*)", row["equation"]):
            for first, last in re.findall(r"(\d+)(?: to (\d+))?", several):
                numbers += range(int(first), int(last or first) + 1)
    assert sorted(numbers) == list(range(1, EQUATIONS[paper] + 1))


@for_each("paper", EQUATIONS)
def test_every_named_test_exists(paper):
    for row in rows(paper):
        named = named_tests(row["test"]) + TEST.findall(row["deviation"])
        for path, name in named:
            assert name in defined(path), f"{path}::{name}"


@for_each("paper", EQUATIONS)
def test_every_named_class_and_function_is_there(paper):
    for row in rows(paper):
        names = [of_role or plain for of_role, plain in NAME.findall(row["in the package"])]
        assert names, row
        for name in names:
            assert callable(resolve(name)), name


@cache
def references():
    """The fields of the papers in the bibliography, without braces, by the keys of the guide."""
    entries = re.findall(r"@\w+{(\w+),\n(.*?)\n}", BIBLIOGRAPHY.read_text("utf-8"), re.DOTALL)
    fields = {
        key: dict(re.findall(r"^  (\w+) = {(.*?)},$", text, re.DOTALL | re.MULTILINE))
        for key, text in entries
    }
    papers = {name: fields[name.upper()] for name in EQUATIONS}
    return {
        name: {field: one_line(re.sub("[{}]", "", value)) for field, value in paper.items()}
        for name, paper in papers.items()
    }


def one_line(text):
    return " ".join(text.split())


@for_each("paper", EQUATIONS)
def test_references_agree(paper):
    fields = references()[paper]
    found = {kind: fields[kind] for kind in IDENTIFIERS if kind in fields}
    assert found or paper == "survey"  # which has none
    for kind, value in found.items():
        assert re.fullmatch(IDENTIFIERS[kind], value), value
    text = one_line((ROOT / "CITATION.cff").read_text("utf-8"))
    for value in (fields["title"], fields["year"], *found.values()):
        assert value in text, value


def test_references_of_docstrings_agree():
    papers = {fields["title"]: fields for fields in references().values()}
    del papers["Conditional Random Fields"]  # which others begin with
    n_found = 0
    for path in (ROOT / "sklearn_crcrf").rglob("*.py"):
        text = one_line(path.read_text("utf-8"))
        for title, fields in papers.items():
            identifiers = [fields[kind] for kind in IDENTIFIERS if kind in fields]
            for after in re.findall(rf'{re.escape(title)}",(.{{80}})', text):
                for value in (fields["year"], *identifiers):
                    assert value.removeprefix("https://hdl.handle.net/") in after, path
                n_found += 1
    assert n_found > 8
