"""README and guide state the figures that the benchmarks printed."""

from pathlib import Path

import pytest
from programs import modules_of

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").exists() or not (ROOT / "README.md").exists(), reason="needs the documents"
)


@pytest.fixture(scope="module")
def figures():
    with modules_of(ROOT / "benchmarks") as load:
        yield load("figures")


def test_all_figures_are_on_the_pages_of_the_benchmarks(figures, capsys):
    status = figures.main([])
    assert status == 0, capsys.readouterr().out


def test_a_figure_that_differs_is_found_and_renewed(figures, tmp_path, monkeypatch):
    content = (ROOT / "README.md").read_text(encoding="utf-8")
    figure = "97.93 | 99.18"
    assert figure in content
    (tmp_path / "README.md").write_text(content.replace(figure, "97.99 | 99.18"), encoding="utf-8")
    (tmp_path / "docs").mkdir()
    ((path, before, after),) = figures.renewed(tmp_path)
    assert path == tmp_path / "README.md" and after == content
    (problem,) = figures.differing_lines(path, before, after)
    assert "97.99" in problem and "97.93" in problem


def test_a_figure_without_a_source_is_found(figures, tmp_path):
    (tmp_path / "README.md").write_text("It is 12.5 times faster, and right in 98.76 cases.")
    (tmp_path / "docs").mkdir()
    assert [figure for _, figure in figures.unsourced(tmp_path)] == ["12.5 times", "98.76"]
