"""Figures in README and guide are figures of the stored pages of the benchmarks."""

from pathlib import Path

import pytest
from programs import modules_of

FOLDER = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(
    not (FOLDER.parent / "docs" / "benchmarks").exists(), reason="needs a checkout"
)


@pytest.fixture
def figures():
    with modules_of(FOLDER) as load:
        yield load("figures")


def test_figures_are_on_the_pages(figures, capsys):
    assert figures.main([]) == 0, capsys.readouterr().out


def test_figures_are_renewed(figures, monkeypatch, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    readme = tmp_path / "README.md"
    text = "| interning of strings | 99.9 M tokens/s |\nIt took 7 s.\n"
    readme.write_text(text, encoding="utf-8")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    assert figures.main([]) == 1
    assert f"{readme}:1: " in capsys.readouterr().out
    assert readme.read_text(encoding="utf-8") == text
    assert figures.main(["--write"]) == 1
    assert f"{readme}: 7 s is from no page" in capsys.readouterr().out
    assert "99.9" not in readme.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("cell", "spec", "figure"),
    [
        ("0.417 s", ".2f", "0.42 s"),
        ("691 k/s", ",.0f", "691,000/s"),
        ("11.8 M x", None, "11.8 M x"),
    ],
)
def test_figures_keep_their_units(figures, cell, spec, figure):
    assert figures.rounded(cell, spec) == figure
