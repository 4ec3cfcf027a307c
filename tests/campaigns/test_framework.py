"""Campaigns find crashes, hangs and wrong answers, name them by number, and repeat them."""

import json
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "campaigns"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="campaigns need Linux")

# Every fourth input has a fault; the others say what chance gave them.
FAULTY = """
import ctypes, os, sys, time
import numpy as np
from _campaign import Campaign, Outcome, Wrong, show
from _runner import main

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
    show("input", number)
    if number % 4 == 3 and number // 4 < len(FAULTS):
        FAULTS[number // 4]()
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
    Campaign("faulty", faulty, n=4 * len(FAULTS), batch=7, limit=1.5),
    Campaign("faulty alone", faulty, n=4 * len(FAULTS), limit=1.5),
    Campaign("random", random, n=20, batch=9),
    Campaign("once", random, n=1),
    Campaign("measured", measured, n=2),
    Campaign("prepared", prepared, prepare=lambda: made.append("once"), n=5, batch=2),
]))
"""
# By the number of the input: the verdict, and how the defect is described.
EXPECTED = {
    7: ("wrong", "ValueError without content"),
    11: ("wrong", "KeyError at faulty.py"),
    15: ("wrong", "NaN answer"),
    19: ("crashed", "SIGABRT at faulty.py"),
    23: ("crashed", "SIGSEGV at "),
    27: ("crashed", "ended with exit status 0"),
    31: ("hung", "at faulty.py"),
    35: ("hung", "at faulty.py"),
    39: ("crashed", "index N out of bounds"),
    43: ("wrong", "error on standard error"),
    47: ("wrong", "MemoryError at faulty.py"),
    51: ("wrong", "SystemExit at faulty.py"),
    55: ("crashed", "SIGABRT at faulty.py"),
}


# Runs programs in forks, which need not import numpy each time.
SERVER = """
import json, os, runpy, sys, traceback
import _runner

for line in sys.stdin:
    *argv, printed, complained = json.loads(line)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for descriptor, path in enumerate([os.devnull, printed, complained]):
                os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), descriptor)
            sys.argv = argv
            runpy.run_path(argv[0], run_name="__main__")
        except SystemExit as end:
            status = end.code
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def server():
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def run(server, tmp_path):
    """Run a program that uses the framework; returns its output, its errors, and the reports."""

    def run(*options, program=FAULTY, status=0):
        script, output, *texts = (
            tmp_path / name for name in ("faulty.py", "reports.json", "printed", "complained")
        )
        script.write_text(program)
        output.unlink(missing_ok=True)
        request = [*map(str, [script, *options, "--output", output, *texts])]
        print(json.dumps(request), file=server.stdin, flush=True)
        found = int(server.stdout.readline())
        printed, complained = (path.read_text() for path in texts)
        assert found == status, printed + complained
        reports = json.loads(output.read_text()) if output.exists() else []
        return printed, complained, {report["campaign"]: report for report in reports}

    return run


def test_faults_are_found_and_numbered_and_inputs_behind_them_are_tried(run):
    *_, reports = run("faulty", "faulty alone", "--jobs", 3, status=1)
    assert reports.keys() == {"faulty", "faulty alone"}
    for report in reports.values():
        found = {defect["numbers"][0]: defect for defect in report["defects"]}
        assert found.keys() == EXPECTED.keys()
        for number, (verdict, what) in EXPECTED.items():
            assert found[number]["verdict"] == verdict
            assert found[number]["what"].startswith(what)
            assert (found[number]["count"], found[number]["numbers"]) == (1, [number])
        assert (report["tried"], report["start"], report["end"]) == (56, 0, 56)
        assert report["outcomes"]["answered"] == {"fine": 42}
        assert report["outcomes"]["refused"] == {"ValueError": 1}
        assert sum(report["outcomes"]["wrong"].values()) == 6
        assert sum(report["outcomes"]["crashed"].values()) == 5
        assert sum(report["outcomes"]["hung"].values()) == 2


def test_without_faults_the_status_is_0(run):
    printed, _, reports = run("faulty", "random", "--n", 3)
    assert [report["tried"] for report in reports.values()] == [3, 3]
    assert "faulty: 3 inputs" in printed


@pytest.mark.parametrize("number", [11, 15, 51])
def test_an_input_is_repeated_in_view(run, number):
    printed, *_ = run("faulty", "--only", number, status=1)
    verdict, what = EXPECTED[number]
    assert f"input {number}\n" in printed
    assert f"faulty {number}: {verdict}: {what}" in printed
    assert "Traceback" in printed or verdict == "wrong"


def test_a_crash_is_repeated_in_the_same_process(run):
    printed, *_ = run("faulty", "--only", 19, status=-6)
    assert "input 19" in printed


def test_the_command_that_repeats_a_fault_is_printed(run):
    printed, *_ = run("faulty alone", "--start", 12, "--n", 5, "--seed", 3, status=1)
    assert re.search(r"python \S*faulty\.py 'faulty alone' --seed 3 --only 15\n", printed)


def test_inputs_depend_on_seed_and_number_alone(run):
    def outcomes(*options):
        *_, reports = run("random", *options)
        return reports["random"]["outcomes"]["answered"].keys()

    first = outcomes("--jobs", 1)
    assert len(first) == 20
    assert outcomes("--jobs", 3) == first
    part = outcomes("--start", 5, "--n", 10)
    assert len(part) == 10 and part < first
    assert not outcomes("--seed", 1) & first
    printed, *_ = run("random", "--only", 17)
    assert printed.split(": answered: ")[1].split("\n")[0] in first


def test_a_run_ends_in_time(run):
    start = time.monotonic()
    *_, reports = run("once", "measured", "--minutes", 0.02, "--jobs", 1)
    assert 1.2 <= time.monotonic() - start < 60
    assert all(reports[name]["tried"] > n for name, n in (("once", 1), ("measured", 2)))


def test_a_limit_can_be_set(run):
    *_, reports = run("faulty", "--start", 31, "--n", 1, "--limit", 0.5, status=1)
    assert reports["faulty"]["defects"][0]["verdict"] == "hung"
    assert reports["faulty"]["slowest"] == [0.5, 31]


def test_nothing_is_left_behind(tmp_path):
    folder, script = tmp_path / "temporary", tmp_path / "faulty.py"
    folder.mkdir()
    script.write_text(FAULTY)
    command = [sys.executable, str(script), "measured", "faulty alone", "--start", "52", "--n", "4"]
    process = subprocess.run(
        command, capture_output=True, env=ENVIRONMENT | {"TMPDIR": str(folder)}
    )
    assert process.returncode == 1 and b"--only 55" in process.stdout
    assert not list(folder.iterdir())
    others = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(script) not in others


def test_figures_are_kept(run):
    printed, _, reports = run("measured")
    assert sorted(reports["measured"]["measures"]["seconds"]) == [0, 0.25]
    assert "seconds: median 0.125, maximum 0.25" in printed


def test_all_names_have_campaigns(load):
    for name, module in load("run").MODULES.items():
        if module != "_lost_workers" or find_spec("distributed"):
            assert name in [campaign.name for campaign in load(module).CAMPAIGNS], name


def test_the_table_of_a_page_gets_new_rows_and_keeps_others(load, tmp_path):
    report, page = load("_report"), tmp_path / "page.md"
    page.write_text(f"Text\n{report.BEGIN}| campaign |\n| a | 1 |\n| b | 2 |\n{report.END}More\n")
    found = report.Report("b", 0, 0)
    found.add(0, load("_report").Judgement("answered", "yes", "", 0.5, {"size": 3.0}))
    report.write_table([found], page)
    text = page.read_text()
    assert "| a | 1 |\n| b | 1 | 1 | 0 | 0 | 0 | 0 | 0.50 s | size: 3, at most 3 | " in text
    assert text.startswith("Text\n") and text.endswith(f"\n{report.END}More\n")


def test_preparation_is_done_once(run):
    *_, reports = run("prepared")
    assert reports["prepared"]["outcomes"]["answered"] == {"prepared": 5}


def test_unknown_names_are_refused(run):
    _, complained, _ = run("nonsense", status=2)
    assert "no campaign is called nonsense" in complained


def test_the_example_of_the_readme_runs(load):
    text = (FOLDER / "README.md").read_text()
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    judge = load("_runner").judge
    names = {"__name__": "example"}
    exec(program, names)
    (campaign,) = names["CAMPAIGNS"]
    found = {judge(campaign, 0, number)[:2] for number in range(50)}
    assert found == {("answered", "equal")}


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
