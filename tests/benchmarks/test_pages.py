"""Pages of the benchmarks open with an answer that is computed from their tables, and a chart."""

import copy
import importlib
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "benchmarks").glob("*.rst"))

pytestmark = pytest.mark.skipif(not PAGES, reason="needs a checkout")


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("benchmark_pages")
    sys.path.remove(str(DOCS))


def test_every_page_has_an_answer(pages):
    assert set(pages.PAGES) == {path.stem for path in PAGES}
    for path in PAGES:
        opened = pages.opening(path.stem, pages.read_page(path))
        assert re.match(r"\*\*[^\n]*\d[^\n]*\.\*\*\n\n", opened), path.stem
        assert ("<svg" in opened) == (path.stem in pages.CHARTS), path.stem


def test_rows_that_have_a_name_are_in_the_answer(pages):
    for name, page in pages.PAGES.items():
        for row in set(page) - {"answer", "chart"}:
            assert f"{{{row}/" in page["answer"], (name, row)


def test_a_cell_or_the_least_and_the_greatest_number_answer(pages, monkeypatch):
    rows = [{"what": "a", "n": "1.5 x"}, {"what": "b", "n": "1,000"}, {"what": "bc", "n": "none"}]
    names = {"b": "T | ^b;", "all": "T", "most": "T | a|b | most n", "least": "T | | least n"}
    answer = "{b/n}; {all/n}; {all/n:.1f}; {most/what}; {least/n}"
    monkeypatch.setitem(pages.PAGES, "page", names | {"answer": answer})
    found = pages.answer("page", {"Table": rows})
    assert found == "1,000; 1.5 to 1000; 1.5 to 1000.0; b; 1.5"


def test_columns_are_explained(pages):
    for path in PAGES:
        for title, rows in pages.read_page(path).items():
            for column in list(rows[0])[1:]:
                assert pages.meaning_of(path.stem, column), (path.stem, title, column)


def test_circumstances_name_machine_load_and_commit():
    for path in PAGES:
        line = re.search(
            r"^- .*load average ([\d.]+) at the start.*$", path.read_text("utf-8"), re.M
        )
        assert ("under load" in line[0]) == (float(line[1]) > 1.5), path.stem
        assert re.search(r"commit \w+\+?$", line[0]), path.stem


def test_answers_follow_the_rows(pages):
    tables = pages.read_page(DOCS / "benchmarks" / "peers.rst")
    changed = copy.deepcopy(tables)
    for rows in changed.values():
        rows[0]["F1"] = rows[0]["accuracy"] = "99.99"
    assert "LatticeCRF" in pages.opening("peers", tables).splitlines()[0]
    assert pages.opening("peers", changed).startswith(
        "**The best F1, or accuracy: EmpiricalCRF() on 3 of 3"
    )


def test_bars_begin_at_zero_and_dots_name_their_range(pages):
    rows = [{"what": "<a>", "s": "1.0 s"}, {"what": "b", "s": "4.0 s"}, {"what": "none", "s": ""}]
    drawing = pages.bars(rows, 1, "s", "time")
    assert re.findall(r'width="([\d.]+)" height', drawing) == ["90.0", "360.0"]
    assert "&lt;a&gt;" in drawing and "none" not in drawing
    rows[0]["s"] = "-4.0 s"
    assert re.findall(r'<rect x="([\d.]+)"', pages.bars(rows, 1, "s", "time")) == ["0.0", "180.0"]
    rows[0]["s"] = "3.9 s"
    drawing = pages.bars(rows, 1, "s", "time")
    assert "<rect" not in drawing and "dots between 3.89 and 4.01" in drawing


def test_curves_have_a_point_for_each_size(pages):
    sizes = ["250 sentences", "500 sentences", "1,000 sentences"]
    rows = [dict(zip(["model", *sizes], ["m", "10", "20", "30"], strict=True))]
    drawing = pages.curves(rows, sizes, "F1")
    (points,) = re.findall(r'points="([^"]+)"', drawing)
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert len(heights) == 3
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])
    page = pages.with_curves("F1\n--\n\nrows\n", {"F1": rows})
    assert page.startswith("F1\n--\n\n.. raw:: html") and page.endswith("</figure>\n\nrows\n")
