"""The command line as a process: pipes, a terminal, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import pytest
from forks import Fork, needs_fork, run_in_fork

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses, write_conll
from sklearn_crcrf.model_files import load_model, save_model

PROGRAM = [sys.executable, "-m", "sklearn_crcrf"]
# So many iterations that only Ctrl-C ends them.
HMM = ["--estimator", "HMM"]
LONG = ["--estimator", "CRF", "--set", "max_iter=1000000", "tol=0", "solver=sgd"]


@pytest.fixture
def corpus(tmp_path):
    X, y = make_addresses(60, random_state=1)
    write_conll(tmp_path / "train.txt", X, y)
    return X, y


@pytest.fixture
def model(corpus, tmp_path):
    path = tmp_path / "model"
    save_model(CRF(max_iter=30, tol=1e-2).fit(*corpus), path, ["word", "label"])
    return path


def run(folder, *argv, **options):
    argv = [*PROGRAM, *map(str, argv)]
    return subprocess.run(argv, cwd=folder, capture_output=True, timeout=300, **options)


def test_python_m_runs_it(tmp_path):
    done = run(tmp_path, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"usage: sklearn-crcrf")
    for command in ("train", "tag", "evaluate", "check", "inspect", "convert", "demo"):
        assert command.encode() in done.stdout


def test_help_does_not_wait_for_what_commands_need(tmp_path):
    # What is not there cannot be imported.
    code = "import sys; sys.modules['numpy'] = None; from sklearn_crcrf.__main__ import main; "
    done = subprocess.run(
        [sys.executable, "-c", code + "sys.exit(main())", "--help"], capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"") and b"evaluate" in done.stdout


def test_a_tagger_waits_only_for_numpy(tmp_path):
    X = [["the", "dog", "walks"], ["a", "cat"]]
    EmpiricalCRF().fit(X, [["D", "N", "V"], ["D", "N"]]).tagger().save(tmp_path / "tagger")
    blocked = "sys.modules.update(dict.fromkeys(['sklearn', 'scipy', 'joblib'])); "
    code = f"import sys; {blocked}from sklearn_crcrf.__main__ import main; sys.exit(main())"
    argv = [sys.executable, "-c", code, "tag", "--model", str(tmp_path / "tagger")]
    done = subprocess.run(argv, input=b"the\ncat\n\na\n", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split("\n") == ["the\tD", "cat\tN", "", "a\tD", "", ""]


@needs_fork
def test_a_pipe_from_other_programs_is_utf_8_wherever(corpus, tmp_path):
    argv = ["train", "-", *HMM, "--model", "m"]
    with Fork(*argv, folder=tmp_path, stdin=tmp_path / "train.txt", encoding="ascii") as fork:
        assert (fork.stdout.read(), fork.stderr.read(), fork.wait()) == (b"", b"", 0)
    assert load_model(tmp_path / "m").estimator.score(*corpus) > 0.5


def test_a_pipe_from_and_to_other_programs_is_utf_8_wherever(model, tmp_path):
    environment = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    lines = (tmp_path / "train.txt").read_bytes().splitlines()
    words = "Straße\n".encode() + b"".join(line.split(b"\t")[0] + b"\n" for line in lines)
    tagged = run(tmp_path, "tag", "--model", "model", input=words, env=environment)
    assert (tagged.returncode, tagged.stderr) == (0, b"")
    assert [line.split(b"\t")[0] for line in tagged.stdout.splitlines()] == words.splitlines()


@needs_fork
def test_a_reader_that_goes_away_is_no_error(model, tmp_path):
    many = (tmp_path / "train.txt").read_bytes() * 20
    (tmp_path / "many.txt").write_bytes(many)
    with Fork("tag", "many.txt", "--model", model, "--marginals", folder=tmp_path) as fork:
        fork.stdout.readline()
        fork.stdout.close()
        assert fork.stderr.read() == b""
        assert fork.wait() == 141


@needs_fork
def test_ctrl_c_keeps_the_model_of_the_last_iteration(corpus, tmp_path):
    argv = ["train", "train.txt", "--model", "m", *LONG, "--verbose"]
    with Fork(*argv, folder=tmp_path) as fork:
        lines = [fork.stderr.readline().decode() for _ in range(3)]
        fork.send_signal(signal.SIGINT)
        err = fork.stderr.read().decode()
        assert fork.wait() == 130
    assert all(line.startswith("training: iteration ") for line in lines)
    told = [line for line in err.splitlines() if not line.startswith("training: iteration ")]
    assert told == ["sklearn-crcrf: interrupted; m is the model of the last iteration"]
    crf = load_model(tmp_path / "m").estimator
    assert crf.n_iter_ >= 3 and not crf.converged_
    assert crf.score(*corpus) > 0.5
    assert crf.verbose == 0


# Presses Ctrl-C when a module is looked for.
PRESSING = """
import os, signal, sys

class Finder:
    def find_spec(name, path=None, target=None):
        if name == os.environ["PRESS_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""
SCRIPT = "import sys\nfrom sklearn_crcrf.__main__ import main\nsys.exit(main())\n"


def interrupted_at(module, argv, folder):
    (folder / "sitecustomize.py").write_text(PRESSING)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "PRESS_AT": module}
    return subprocess.run(argv, cwd=folder, capture_output=True, timeout=300, env=environment)


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends a process there")
@pytest.mark.parametrize(
    "module, command, as_script",
    [
        ("sklearn_crcrf.apps.cli", "inspect", True),
        ("sklearn_crcrf.apps.cli", "inspect", False),
        ("sklearn_crcrf.apps.cli.app", "inspect", True),
        ("numpy", "inspect", False),
        ("sklearn_crcrf.estimators.boosting", "train", True),
        ("sklearn_crcrf.model_files.saving", "train", False),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_one_line(module, command, as_script, tmp_path):
    (tmp_path / "sklearn-crcrf").write_text(SCRIPT)
    program = [sys.executable, "sklearn-crcrf"] if as_script else PROGRAM
    done = interrupted_at(module, [*program, command, "--model", "m"], tmp_path)
    assert done.returncode == 130
    assert (done.stdout, done.stderr) == (b"", b"sklearn-crcrf: error: interrupted\n")


def test_ctrl_c_in_other_programs_is_an_exception(tmp_path):
    program = "from sklearn_crcrf import BoostedCRF"
    (tmp_path / "other.py").write_text(program)
    for argv in (["other.py"], ["-m", "other"], ["-c", program]):
        done = interrupted_at(
            "sklearn_crcrf.estimators.boosting", [sys.executable, *argv], tmp_path
        )
        assert done.returncode != 130 and b"\nKeyboardInterrupt" in done.stderr


def in_a_terminal(argv, folder, typed=b"", interrupt_after=None, missing=()):
    """What the command line writes to a terminal, and its status."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    pid, terminal = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (24, 100))
        sys.modules.update(dict.fromkeys(missing))
        run_in_fork(argv, folder)
    written = b""
    if typed:
        os.write(terminal, typed)
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # Linux says so that the terminal is closed
            break
        if not chunk:
            break
        written += chunk
        if interrupt_after is not None and interrupt_after in written:
            # Not in the microseconds before a program waits for input: Python would not notice.
            time.sleep(0.2)
            os.write(terminal, b"\x03")
            interrupt_after = None
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return written.decode(), os.waitstatus_to_exitcode(status)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
class TestTerminal:
    def test_a_progress_line_and_ctrl_c(self, corpus, tmp_path):
        pytest.importorskip("tqdm")
        argv = ["train", "train.txt", "--model", "m", *LONG]
        written, status = in_a_terminal(argv, tmp_path, interrupt_after=b"iteration ")
        assert status == 130
        assert "training: " in written and " iterations [" in written
        assert "Traceback" not in written
        assert load_model(tmp_path / "m").estimator.n_iter_ >= 1

    def test_plain_lines_without_tqdm(self, corpus, tmp_path):
        argv = ["train", "train.txt", "--model", "m", *LONG]
        written, status = in_a_terminal(
            argv, tmp_path, interrupt_after=b"training: iteration", missing=["tqdm"]
        )
        assert status == 130
        assert "interrupted; m is the model of the last iteration" in written

    def test_ctrl_c_ends_an_evaluation(self, corpus, tmp_path):
        argv = ["evaluate", "train.txt", *LONG, "--verbose"]
        written, status = in_a_terminal(argv, tmp_path, interrupt_after=b"iteration 3")
        assert status == 130
        assert written.endswith("sklearn-crcrf: error: interrupted\r\n")
        assert "accuracy" not in written and "warning" not in written

    def test_ctrl_c_before_there_is_a_model_leaves_the_file_that_is_there(self, tmp_path):
        (tmp_path / "m").write_bytes(b"older")
        argv = ["train", "--model", "m"]
        written, status = in_a_terminal(argv, tmp_path, interrupt_after=b"Ctrl-D ends it")
        assert status == 130
        assert "sklearn-crcrf: error: interrupted" in written and "Traceback" not in written
        assert (tmp_path / "m").read_bytes() == b"older"

    def test_quiet(self, corpus, tmp_path):
        argv = ["train", "train.txt", "--model", "m", "--quiet", *HMM]
        assert in_a_terminal(argv, tmp_path) == ("", 0)

    def test_words_are_typed(self, model, tmp_path):
        argv = ["tag", "--model", model, "--quiet"]
        written, status = in_a_terminal(argv, tmp_path, typed=b"Straat\n\x04")
        assert status == 0
        assert "Ctrl-D ends it" in written and "Straat\tB-" in written.replace("       ", "\t")
