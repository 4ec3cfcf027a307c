"""Campaigns find crashes, hangs and wrong answers, name them by number, and repeat them."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "campaigns"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="campaigns need Linux")

# Every tenth input has a fault; the others say what chance gave them.
FAULTY = """
import ctypes, os, sys, time
import numpy as np
from _campaign import Campaign, Outcome, Wrong, show
from _command import main

def refuse(): raise ValueError("this input is bad")
def refuse_silently(): raise ValueError("bad")
def raise_wrongly(): raise KeyError("a key that is not there")
def answer_nan(): raise Wrong("NaN answer", [float("nan")])
def abort(): os.abort()
def read_anywhere(): ctypes.string_at(0)
def exit(): os._exit(0)
def hang(): time.sleep(1000)
def hang_with_lock(): ctypes.PyDLL(None).sleep(1000)
def report(): os.write(2, b"k.c:3:2: runtime error: index 12345 out of bounds for type 'int[3]'\\n")
def complain(): os.write(2, b"Exception ignored in: <function f>\\n")
def take_memory(): bytearray(1 << 40)
def leave(): raise SystemExit(0)
def crash_with_child():
    if os.fork() == 0:
        time.sleep(1000)
    os.abort()

FAULTS = [
    refuse, refuse_silently, raise_wrongly, answer_nan, abort, read_anywhere, exit, hang,
    hang_with_lock, report, complain, take_memory, leave, crash_with_child,
]

def faulty(rng, number):
    tens, ones = divmod(number, 10)
    show("input", number)
    if ones == 3 and tens < len(FAULTS):
        FAULTS[tens]()
    return "fine"

def random(rng, number):
    return f"{number} {rng.random()} {np.random.random()}"

def measured(rng, number):
    open("left behind", "w").close()
    return Outcome("measured", {"seconds": number / 4})

made = []

def prepared(rng, number):
    if made != ["once"]:
        raise Wrong("not prepared", made)
    return "prepared"

sys.exit(main("For tests.", [
    Campaign("faulty", faulty, n=10 * len(FAULTS), batch=7, limit=4.0),
    Campaign("faulty alone", faulty, n=10 * len(FAULTS), limit=4.0),
    Campaign("random", random, n=40, batch=9),
    Campaign("measured", measured, n=5),
    Campaign("prepared", prepared, prepare=lambda: made.append("once"), n=5, batch=2),
]))
"""
# By the number of the input: the verdict, and how the defect is described.
EXPECTED = {
    13: ("wrong", "ValueError without content"),
    23: ("wrong", "KeyError at faulty.py"),
    33: ("wrong", "NaN answer"),
    43: ("crashed", "SIGABRT at faulty.py"),
    53: ("crashed", "SIGSEGV at "),
    63: ("crashed", "ended with exit status 0"),
    73: ("hung", "at faulty.py"),
    83: ("hung", "at faulty.py"),
    93: ("crashed", "index N out of bounds"),
    103: ("wrong", "error on standard error"),
    113: ("wrong", "MemoryError at faulty.py"),
    123: ("wrong", "SystemExit at faulty.py"),
    133: ("crashed", "SIGABRT at faulty.py"),
}


@pytest.fixture
def run(tmp_path):
    """Run a program that uses the framework; returns the process, and the reports by name."""

    def run(*options, program=FAULTY, status=0):
        script, output = tmp_path / "faulty.py", tmp_path / "reports.json"
        script.write_text(program)
        output.unlink(missing_ok=True)
        command = [sys.executable, str(script), *map(str, options), "--output", str(output)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])}
        process = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
        assert process.returncode == status, process.stdout + process.stderr
        reports = json.loads(output.read_text()) if output.exists() else []
        return process, {report["campaign"]: report for report in reports}

    return run


@pytest.mark.parametrize("name", ["faulty", "faulty alone"])
def test_faults_are_found_and_numbered(run, name):
    _, reports = run(name, "--jobs", 3, status=1)
    report = reports[name]
    found = {defect["numbers"][0]: defect for defect in report["defects"]}
    assert found.keys() == EXPECTED.keys()
    for number, (verdict, what) in EXPECTED.items():
        assert found[number]["verdict"] == verdict
        assert found[number]["what"].startswith(what)
        assert (found[number]["count"], found[number]["numbers"]) == (1, [number])


def test_inputs_behind_a_fault_are_tried(run):
    _, reports = run("faulty", "--jobs", 2, status=1)
    report = reports["faulty"]
    assert (report["tried"], report["start"], report["end"]) == (140, 0, 140)
    assert report["outcomes"]["answered"] == {"fine": 126}
    assert report["outcomes"]["refused"] == {"ValueError": 1}
    assert sum(report["outcomes"]["wrong"].values()) == 6
    assert sum(report["outcomes"]["crashed"].values()) == 5
    assert sum(report["outcomes"]["hung"].values()) == 2


def test_without_faults_the_status_is_0(run):
    process, reports = run("faulty", "random", "--n", 12)
    assert [report["tried"] for report in reports.values()] == [12, 12]
    assert "faulty: 12 inputs" in process.stdout


@pytest.mark.parametrize("number", [23, 33, 123])
def test_an_input_is_repeated_in_view(run, number):
    process, _ = run("faulty", "--only", number, status=1)
    verdict, what = EXPECTED[number]
    assert f"input {number}\n" in process.stdout
    assert f"faulty {number}: {verdict}: {what}" in process.stdout
    assert "Traceback" in process.stdout or verdict == "wrong"


def test_a_crash_is_repeated_in_the_same_process(run):
    process, _ = run("faulty", "--only", 43, status=-6)
    assert "input 43" in process.stdout


def test_the_command_that_repeats_a_fault_is_printed(run):
    process, _ = run("faulty alone", "--start", 30, "--n", 5, "--seed", 3, status=1)
    assert re.search(r"python \S*faulty\.py 'faulty alone' --seed 3 --only 33\n", process.stdout)


def test_inputs_depend_on_seed_and_number_alone(run):
    def outcomes(*options):
        _, reports = run("random", *options)
        return reports["random"]["outcomes"]["answered"].keys()

    first = outcomes("--jobs", 1)
    assert len(first) == 40
    assert outcomes("--jobs", 3) == first
    part = outcomes("--start", 15, "--n", 10)
    assert len(part) == 10 and part < first
    assert not outcomes("--seed", 1) & first
    process, _ = run("random", "--only", 17)
    assert process.stdout.split(": answered: ")[1].split("\n")[0] in first


def test_a_run_ends_in_time(run):
    start = time.monotonic()
    _, reports = run("random", "measured", "--minutes", 0.03)
    assert 1.8 < time.monotonic() - start < 60
    assert all(reports[name]["tried"] > n for name, n in (("random", 40), ("measured", 5)))


def test_a_limit_can_be_set(run):
    _, reports = run("faulty", "--start", 73, "--n", 1, "--limit", 1.5, status=1)
    assert reports["faulty"]["defects"][0]["verdict"] == "hung"
    assert reports["faulty"]["slowest"] == [1.5, 73]


def test_nothing_is_left_behind(run, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    run("measured", "faulty alone", "--start", 130, "--n", 5, status=1)
    assert not list(folder.iterdir())
    others = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(tmp_path / "faulty.py") not in others


def test_figures_are_kept(run):
    process, reports = run("measured")
    assert sorted(reports["measured"]["measures"]["seconds"]) == [0, 0.25, 0.5, 0.75, 1]
    assert "seconds: median 0.5, maximum 1" in process.stdout


def test_preparation_is_done_once(run):
    _, reports = run("prepared")
    assert reports["prepared"]["outcomes"]["answered"] == {"prepared": 5}


def test_unknown_names_are_refused(run):
    process, _ = run("nonsense", status=2)
    assert "no campaign is called nonsense" in process.stderr


def test_the_example_of_the_readme_runs(run):
    text = (FOLDER / "README.md").read_text()
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    _, reports = run("--n", 50, program=program)
    assert reports["accuracy"]["outcomes"]["answered"].keys() == {"equal"}


def test_a_campaign_that_fails_itself_is_no_refusal(load):
    crashes = load("_crashes")

    def raised(filename, source):
        try:
            exec(compile(source, filename, "exec"))
        except ValueError as error:
            error.__traceback__ = error.__traceback__.tb_next
            return error

    parse = "import json; json.loads('[')"
    assert not crashes.is_from_elsewhere(raised(str(FOLDER / "files.py"), parse))
    assert not crashes.is_from_elsewhere(raised(str(FOLDER / "files.py"), "int('x')"))
    assert crashes.is_from_elsewhere(raised("elsewhere.py", parse))
