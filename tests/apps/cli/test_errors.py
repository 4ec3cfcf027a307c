"""Errors of all commands."""

import gzip
import os
import pickle
import sys
import threading

import joblib
import pytest
from commands import run

from sklearn_crcrf.apps.cli import main


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["evaluate", "absent.tsv"], "absent.tsv: No such file"),
        (
            ["evaluate", "words.txt"],
            "no labels; the columns, separated by spaces and tabs, are: word",
        ),
        (["evaluate", "empty.txt"], "there are no tokens"),
        (["train", "wide.txt", "--model", "m"], "wide.txt: line 2 has 20,000 columns: write one"),
        (["train", "wide.txt", "--model", "m", "--out-of-core"], "line 2 has 20,000 columns"),
        (["evaluate", "ragged.txt"], "ragged.txt: line 2 has 3 columns, expected 2"),
        (["evaluate", "one.txt"], "none can be held out"),
        (["evaluate", "."], "./damaged.gz: line 45: the compressed data are damaged"),
        (
            ["train", "full.gz", "--max-bytes", "99", "--model", "m"],
            "full.gz: it unpacks to more than max",
        ),
        (
            ["train", "damaged.gz", "--model", "m"],
            ": the compressed data are damaged: Compressed file ended",
        ),
        (["train", "words.txt", "--model", "m", "--columns", "label"], "besides 'label'"),
        (
            ["train", "one.txt", "--model", "m", "--estimator", "crfs"],
            "there are CRF, HMM",
        ),
        (["train", "one.txt", "--model", "m", "--set", "sgma=1"], "Invalid parameter 'sgma' for"),
        (["train", "one.txt", "--model", "m", "--set", "sigma"], "takes NAME=VALUE, got 'sigma'"),
        (["train", "one.txt", "--model", "m", "--set", "sigma=x"], "'sigma' parameter of"),
        (
            ["train", "one.txt", "--model", "no/folder/m"],
            "no/folder/m: there is no folder no/folder",
        ),
        (["train", "one.txt", "--model", "."], "error: .: Is a directory"),
        (
            ["convert", "one.txt", "--model", "no/folder/m"],
            "no/folder/m: there is no folder no/folder",
        ),
        (["train", "latin.txt", "--model", "m"], "latin.txt: line 1 cannot be decoded as utf-8"),
        (
            ["train", "one.txt", "--model", "m", "--estimator", "BoostedCRF"],
            "there is no estimator",
        ),
        (["train", "one.txt", "--model", "m", "--syntax", "wapiti"], "needs --template"),
        (["train", "one.txt", "--model", "m", "--template", "bad.tpl"], "line 1, column 9"),
        (["train", "one.txt", "--model", "m", "--template", "none"], "none: No such file"),
        (
            ["train", "one.txt", "--model", "m", "--template", "b.tpl", "--estimator", "HMM"],
            "HMM has no transitions that depend on attributes",
        ),
        (["train", "one.txt", "--model", "m", "--columns", "known,label"], "'known'"),
        (["tag", "words.txt", "--model", "absent"], "absent: No such file"),
        (["tag", "words.txt", "--model", "words.txt"], "words.txt is not a model file"),
        (["tag", "words.txt", "--model", "list.joblib"], "list.joblib is not a model file"),
        (["inspect", "--model", "empty.txt"], "empty.txt is not a model file"),
        (["convert", "words.txt", "--model", "m"], "neither a model of CRFsuite nor"),
    ],
)
def test_errors_are_one_line_and_status_2(argv, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("Ann\nsings\n")
    (tmp_path / "one.txt").write_text("Ann N\nsings V\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_bytes("Stra\xdfe N\n".encode("latin-1"))
    (tmp_path / "ragged.txt").write_text("Ann N\nsings V x\n")
    (tmp_path / "wide.txt").write_text("\n" + " ".join(["Ann"] * 20_000) + "\n")
    (tmp_path / "full.gz").write_bytes(gzip.compress(b"Ann N\n" * 100))
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(b"Ann N\n" * 100)[:-12])
    (tmp_path / "bad.tpl").write_text("U00:%x[0;0]\n")
    (tmp_path / "b.tpl").write_text("U00:%x[0,0]\nB00:%x[0,0]\n")
    joblib.dump([], tmp_path / "list.joblib")
    before = sorted(path.name for path in tmp_path.iterdir())
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert err.startswith("sklearn-crcrf: error: ") and err.count("\n") == 1
    assert message in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train", "x"], "required: -m/--model (see sklearn-crcrf train --help)"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["tag", "x", "--model", "m", "--n-best", "0"], "must be a number of at least 1"),
        (["tag", "x", "--model", "m", "--n-best", "two"], "of at least 1, got 'two'"),
        (["inspect", "--model", "m", "--top", "-1"], "must be a number such as 3, got '-1'"),
    ],
)
def test_wrong_arguments_are_one_line_too(argv, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    err = capsys.readouterr().err
    assert err.startswith("sklearn-crcrf: error: ") and err.count("\n") == 1
    assert message in err


def test_what_is_not_foreseen_is_a_line_and_status_1(corpus, capsys, monkeypatch):
    def fail(*args):
        raise KeyError("oh\nno")

    monkeypatch.setattr("sklearn_crcrf.apps.cli.evaluation.evaluate", fail)
    status, _, err = run(capsys, "evaluate", corpus[0])
    assert status == 1 and err.startswith("sklearn-crcrf: error: KeyError: ")
    assert err.count("\n") == 1
    monkeypatch.setenv("SKLEARN_CRCRF_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["evaluate", str(corpus[0])])


def test_model_files_need_no_other_package(corpus, tmp_path, capsys, monkeypatch):
    for module in ("skops", "tqdm", "starlette", "pandas", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    assert run(capsys, "train", corpus[0], "--model", tmp_path / "m") == (0, "", "")
    assert run(capsys, "tag", corpus[0], "--model", tmp_path / "m")[0] == 0


def test_pickles_are_not_read(tmp_path, capsys):
    path = tmp_path / "evil"
    path.write_bytes(pickle.dumps(print))
    assert run(capsys, "inspect", "--model", path)[0] == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_written_to_and_not_replaced(corpus, model, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert run(capsys, "tag", corpus[0], "--model", model, "--output", pipe) == (0, "", "")
    reader.join()
    assert pipe.is_fifo() and read[0] == run(capsys, "tag", corpus[0], "--model", model)[1]
    status, _, err = run(capsys, "train", corpus[0], "--model", pipe)
    assert status == 2 and "pipe is not a regular file" in err
    assert pipe.is_fifo()


@pytest.mark.parametrize("command", ["tag", "evaluate", "inspect"])
def test_the_limit_is_one_of_models_too(command, corpus, model, capsys):
    file = [] if command == "inspect" else [corpus[0]]
    large = 10 * model.stat().st_size + corpus[0].stat().st_size
    for limit, expected in ((model.stat().st_size - 1, 2), (100 * large, 0)):
        status, _, err = run(capsys, command, *file, "--model", model, "--max-bytes", limit)
        assert status == expected
        assert expected == 0 or f"{model} is too large" in err
