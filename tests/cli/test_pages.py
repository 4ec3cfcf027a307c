"""The commands that open pages, as processes, and the command export."""

import json
import re
import signal
import socket
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from forks import Fork, needs_fork

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("skops")

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.annotation import Log
from sklearn_crcrf.cli import main
from sklearn_crcrf.model_files import save_model

LINES = ["Ann sings .", "the dog walks .", "Bob walks ."]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@contextmanager
def served(*command):
    with Fork(*command, "--port", "0", "--no-browser") as fork:
        line = next(line for line in fork.stdout if line.startswith(b"http")).decode()
        yield HTTPConnection(re.match(r"http://([^/]*)", line)[1], timeout=30), fork


def post(connection, path, **content):
    headers = {"Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(content), headers)
    answer = connection.getresponse()
    assert answer.status == 200
    return json.loads(answer.read())


def accept(connection, sentence, marks):
    return post(connection, "/api/accept", by="ann", sentence=sentence, marks=marks)


@needs_fork
def test_what_was_acknowledged_survives_a_kill(text, capsys):
    command = "annotate", text, "--labels", "PER"
    with served(*command) as (connection, fork):
        accept(connection, 0, [[0, 1, "PER"]])
        accept(connection, 2, [[0, 1, "PER"]])
        fork.send_signal(signal.SIGKILL)
    with served(*command) as (connection, fork):
        assert accept(connection, 1, [])["state"]["accepted"] == 3
        fork.send_signal(signal.SIGINT)
        fork.wait()
    log = f"{text}.annotations.jsonl"
    assert main(["export", log]) == 0
    exported = capsys.readouterr().out
    assert exported.split("\n\n")[1] == "the\tO\ndog\tO\nwalks\tO\n.\tO"
    assert main(["export", log, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[2]["labels"] == ["B-PER", "O", "O"] and rows[2]["by"] == "ann"


@needs_fork
def test_a_damaged_log_is_refused_until_it_is_repaired(text, capsys):
    command, log = ["annotate", str(text), "--labels", "PER"], Path(f"{text}.annotations.jsonl")
    with Log(log) as entries:
        for sentence in (0, 2):
            entries.append({"do": "flag", "sentence": sentence, "by": "ann"})
    log.write_bytes(damaged := log.read_bytes().replace(b'"sentence": 0', b'"sentence": 1'))
    assert main(command) == 2
    assert "line 1: it is not as it was written" in capsys.readouterr().err
    with served(*command, "--repair") as (connection, fork):
        assert post(connection, "/api/next", by="ann")["state"]["flagged"] == [2]
        fork.send_signal(signal.SIGINT)
        fork.wait()
    assert Path(f"{log}.damaged").read_bytes() == damaged


@needs_fork
def test_serve_labels_text(tmp_path):
    path = tmp_path / "model"
    save_model(EmpiricalCRF().fit([["Ann", "sings"]], [["B-PER", "O"]]), path)
    with served("serve", "--model", path) as (connection, _):
        (found,) = post(connection, "/tag", text="Ann sings")["sentences"]
    assert found["labels"] == ["B-PER", "O"]


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["annotate"], "needs TEXT, or --gold"),
        (["annotate", "{text}"], "needs --labels, --model or --gold"),
        (["annotate", "{text}", "--model", "{crf}"], "but this is a CRF"),
        (["annotate", "{empty}", "--labels", "A"], "no sentences"),
        (["annotate", "{missing}", "--labels", "A"], "No such file"),
        (["annotate", "{text}", "--labels", "A", "--port", "{port}"], "cannot listen"),
        (
            ["annotate", "{text}", "--labels", "A", "--log", "{text}"],
            "line 1: it is not a JSON object",
        ),
        (["annotate", "{text}", "--labels", "A", "--log", "{text}", "--repair"], "no line of it"),
        (["export", "{text}"], "line 1: it is not a JSON object"),
        (["serve", "--model", "{columns}"], "needs the columns word, pos"),
    ],
)
def test_problems_are_told_in_one_line(tmp_path, text, capsys, argv, problem):
    save_model(CRF().fit([["a"], ["b"]], [["D"], ["N"]]), tmp_path / "crf")
    tagged = EmpiricalCRF().fit([[{"word": "a", "pos": "b"}]], [["D"]])
    save_model(tagged, tmp_path / "columns", ["word", "pos", "label"])
    (tmp_path / "empty").write_text("\n \n")
    with socket.create_server(("localhost", 0)) as taken:
        names = {name: tmp_path / name for name in ("crf", "columns", "empty", "missing")}
        names |= {"text": text, "port": taken.getsockname()[1]}
        assert main([arg.format(**names) for arg in argv]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1
