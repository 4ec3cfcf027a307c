"""The benchmarks run: on made data, and from the command line where there are corpora."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sklearn_crcrf.datasets import Splits, make_addresses

FOLDER = Path(__file__).parents[1] / "benchmarks"
NEEDS_DATA = pytest.mark.skipif(
    "SKLEARN_CRCRF_DATA" not in os.environ, reason="SKLEARN_CRCRF_DATA names no folder of corpora"
)


@pytest.fixture
def load(monkeypatch):
    """Import a script; afterwards its settings of threads are undone."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


@pytest.fixture
def splits():
    X, y = make_addresses(60, random_state=0)
    return Splits((X[:30], y[:30]), (X[30:40], y[30:40]), (X[40:], y[40:]))


def run(script, *options, **environment):
    command = [sys.executable, str(FOLDER / script), *options]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)


def test_accuracy_has_a_row_for_every_method(load, splits):
    accuracy = load("accuracy")
    targets = {"ecrn": accuracy.Figures(0.0), "default": accuracy.Figures(unknown=100.1)}
    rows = list(accuracy.method_rows(list(accuracy.METHODS), splits, targets, False))
    assert [row[0] for row in rows] == [method.title for method in accuracy.METHODS.values()]
    assert all(0 <= float(figure) <= 100 for row in rows for figure in row[1:4])
    verdicts = dict(zip(accuracy.METHODS, (row[5] for row in rows), strict=True))
    assert verdicts.pop("ecrn") == "yes"
    assert verdicts.pop("default") == "**no**"
    assert set(verdicts.values()) == {""}


def test_accuracy_of_perfect_predictions(load, splits):
    accuracy = load("accuracy")
    assert accuracy.evaluate(splits, splits.test[1], False)[:3] == (100, 100, 100)


def test_tuning_leaves_out_sentences_with_new_labels(load, splits):
    X, y = splits.tuning
    tuning = [*X, ["?"]], [*y, ["a label not seen in training"]]
    exponents = load("accuracy").train_and_tune(splits).exponents_
    assert load("accuracy").train_and_tune(splits._replace(tuning=tuning)).exponents_ == exponents


def test_speed_rows(load, splits):
    speed = load("speed")
    labels = sorted({label for _, y in splits for labels in y for label in labels})
    rows = [
        *speed.counting_rows(*splits.train, 1),
        *speed.fit_rows(*splits.train, 1),
        *speed.predict_rows(splits, [*labels, "one more"], 1),
    ]
    assert len(rows) == 3 + 2 + 4
    assert f"{len(labels) + 1} labels" in rows[-1][0]
    assert speed.at_most("it", 1.5, 3, "s") == ["it", "1.50 s", "<= 3 s", "yes"]
    assert speed.at_least("it", 99.96, 100, "%") == ["it", "100.0 %", ">= 100 %", "**no**"]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_memory_growth_is_that_of_the_peak(load):
    def hold(n_bytes):
        return len(bytearray(b"x") * n_bytes)

    common = load("_common")
    common.memory_growth(lambda: hold(1))
    growth, result = common.memory_growth(lambda: hold(300_000_000))
    assert result == 300_000_000
    # What else the process frees meanwhile is counted too.
    assert 200e6 < growth < 400e6
    assert common.memory_growth(lambda: hold(1))[0] < 50e6


def test_crfsuite_learns(load, splits):
    pytest.importorskip("pycrfsuite")
    crfsuite = load("_crfsuite")
    assert crfsuite.simple_attributes([["Re-reading", "it"]]) == [
        [
            ["word=Re-reading", "simple:capital_or_digit", "simple:hyphen", "simple:-ing"],
            ["word=it"],
        ]
    ]
    seconds, model = crfsuite.train_crfsuite(*splits.train)
    assert seconds > 0
    predicted = crfsuite.predict_crfsuite(model, splits.test[0])
    assert load("accuracy").evaluate(splits, predicted, False).known > 70


def test_enlarge(load):
    scaling = load("scaling")
    X, y = [["ab", "cd", "ef"], ["gh"]] * 20, [[0, 1, 2], [3]] * 20
    words, labels = scaling.enlarge(X, y, 4000)
    assert 4000 <= sum(map(len, words)) < 4003
    assert words[:40] == X
    assert list(map(len, words)) == list(map(len, labels))
    changed = [word for sentence in words[40:] for word in sentence if len(word) == 4]
    assert 0.08 < len(changed) / 4000 < 0.12


def test_scaling_finds_the_power(load, tmp_path):
    scaling = load("scaling")
    costs = [scaling.Cost(n, 3.0 * n**1.5, 0) for n in (10, 100, 1000)]
    assert scaling.slope(costs) == pytest.approx(1.5)
    pytest.importorskip("matplotlib")
    scaling.draw({"it": costs}, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_missing_corpora_are_named(tmp_path):
    done = run(
        "accuracy.py", SKLEARN_CRCRF_DATA=str(tmp_path), SCIKIT_LEARN_DATA=str(tmp_path / "home")
    )
    assert done.returncode == 1
    assert "SKLEARN_CRCRF_DATA" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.data
@NEEDS_DATA
@pytest.mark.parametrize(
    ("script", "options", "n_rows"),
    [
        ("accuracy.py", ["--protocols", "ner", "chunking", "--methods", "ecrn", "default"], 4),
        ("scaling.py", ["--sizes", "500", "--modes", "paper"], 1),
    ],
)
def test_command_line(script, options, n_rows):
    done = run(script, "--sentences", "50", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"python benchmarks/{script} --sentences 50")
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    n_tables = done.stdout.count("###")
    assert len(rows) == n_rows + 2 * n_tables
