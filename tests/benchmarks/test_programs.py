"""Programs from the command line, and the pages that they write."""

import csv
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn_crcrf._kernels.machine import instruction_sets

FOLDER = Path(__file__).parents[2] / "benchmarks"
NEEDS_DATA = pytest.mark.skipif(
    "SKLEARN_CRCRF_DATA" not in os.environ, reason="SKLEARN_CRCRF_DATA names no folder of corpora"
)


def test_tables_are_kept_as_a_page(load, tmp_path, capsys):
    path = tmp_path / "page.rst"
    load("label_bias").main(["--rounds", "1", "--sentences", "50", "--output", str(path)])
    printed, page = capsys.readouterr().out, path.read_text(encoding="utf-8")
    command = f"python benchmarks/label_bias.py --rounds 1 --sentences 50 --output {path}"
    assert printed.startswith(f"{command}\n\n- Python ")
    assert page.startswith("label_bias.py\n=============\n\nLabel bias: ")
    assert f"\n\n.. code-block:: sh\n\n   {command}\n\n- Python " in page
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]
    table = [
        line.strip() for line in page.split(":header-rows: 1\n\n")[1].split("\n\n")[0].splitlines()
    ]
    assert len(table) == len(rows) - 1 > 3
    assert [row[1] for row in csv.reader(table)] == [row[1] for row in rows if row[1] != "---"]


def test_pages_have_the_cells_that_are_printed(load, tmp_path, capsys):
    path = tmp_path / "page.rst"
    report = load("_report").Report("it.py", path)
    report.opening("Stars * and pipes |.", "python it.py", ["one"])
    cells = ["a*b", "2_", "**no**", 'x, "y"', "", "<= 3 `s`"]
    report.table("Title_", ["column"] * len(cells), iter([cells]))
    report.figure(tmp_path / "stars.svg", "Stars *")
    printed = capsys.readouterr().out
    assert f"Stars *: {tmp_path / 'stars.svg'}" in printed
    report.remark("The \\ end.")
    printed += capsys.readouterr().out
    assert f"| {' | '.join(cells)} |\n" in printed
    assert printed.endswith("\n\nThe \\ end.\n")
    core = pytest.importorskip("docutils.core")
    settings = {"report_level": 1, "halt_level": 2}
    tree = core.publish_doctree(path.read_text(encoding="utf-8"), settings_overrides=settings)
    nodes = pytest.importorskip("docutils.nodes")
    row = list(tree.findall(nodes.row))[-1]
    assert [entry.astext() for entry in row.findall(nodes.entry)] == [*cells[:2], "no", *cells[3:]]
    assert len(list(tree.findall(nodes.strong))) == 1
    assert [image["uri"] for image in tree.findall(nodes.image)] == ["stars.svg"]
    assert tree.astext().endswith("The \\ end.")


def test_missing_corpora_are_named(load, tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_CRCRF_DATA", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    with pytest.raises(SystemExit, match="SKLEARN_CRCRF_DATA"):
        load("accuracy").main([])


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory):
    """A folder with the first sentences of each corpus, which are read sooner than all."""
    folder = tmp_path_factory.mktemp("corpora")
    for path in Path(os.environ["SKLEARN_CRCRF_DATA"]).glob("*.tsv.gz"):
        with gzip.open(path) as text, gzip.open(folder / path.name, "wb", 1) as start:
            start.write(b"\n\n".join(text.read().split(b"\n\n", 1500)[:-1]))
    return str(folder)


N_CRF = 5 + ("baseline" in instruction_sets())
# By program: the number of rows that it prints, and its options.
PROGRAMS = {
    "accuracy": (4, ["--protocols", "ner", "chunking", "--methods", "ecrn", "default"]),
    "scaling": (1, ["--sizes", "500", "--modes", "paper"]),
    "scale": (10, ["--sizes", "2000", "--tables", "shards", "lbfgs", "--iterations", "1"]),
    "crf": (
        N_CRF,
        ["--rows", "ner", "baseline", "memory", "--runs", "1"],
    ),
    "papers": (23, ["--tables", "brown", "label_bias", "survey", "--splits", "1000-4000"]),
    "left_out": (
        11,
        ["--tables", "one_by_one", "left_out", "grid", "wrong_labels", "--sizes", "20", "40"],
    ),
    "induction": (5, ["--tables", "chunking"]),
    "criteria": (4, ["--tasks", "chunking", "--criteria", "log_loss", "mce_f1", "--costs"]),
    "text": (30, ["--tables", "labellings", "recall"]),
    "trees": (14, ["--tables", "constraint", "kernels", "--runs", "1"]),
}


def test_command_line():
    command = [sys.executable, FOLDER / "label_bias.py", "--rounds", "1", "--sentences", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("python benchmarks/label_bias.py --rounds 1 --sentences 50\n")
    assert len(re.findall("^[|] ", done.stdout, re.MULTILINE)) > 5


@pytest.mark.data
@NEEDS_DATA
@pytest.mark.filterwarnings("ignore")  # as a program prints them
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(load, beginnings, monkeypatch, capsys, name):
    monkeypatch.setenv("SKLEARN_CRCRF_DATA", beginnings)
    # The beginning of a file has another checksum than the file.
    monkeypatch.setattr("sklearn_crcrf.datasets._fetch._verify", lambda *args, **options: None)
    # A process of its own would import everything again.
    monkeypatch.setattr(load("_common"), "in_fresh_process", lambda of, *args: of(*args))
    load(name).main(["--sentences", "50", *PROGRAMS[name][1]])
    printed = capsys.readouterr().out
    assert printed.startswith(f"python benchmarks/{name}.py --sentences 50")
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len(rows) == PROGRAMS[name][0] + 2 * printed.count("###")
