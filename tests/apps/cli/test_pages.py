"""The commands that open pages, as processes, and the command export."""

import json
import os
import re
import signal
import socket
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from forks import Fork, needs_fork

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.apps.annotation import Log
from sklearn_crcrf.apps.cli import main
from sklearn_crcrf.model_files import save_model

LINES = ["Ann sings .", "the dog walks .", "Bob walks ."]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


TOKEN = "s3cret"
HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("SKLEARN_CRCRF_TOKEN", TOKEN)


@contextmanager
def served(*command):
    with Fork(*command, "--port", "0", "--no-browser") as fork:
        line = next(line for line in fork.stdout if line.startswith(b"http")).decode()
        yield HTTPConnection(re.match(r"http://([^/]*)", line)[1], timeout=30), fork


def post(connection, path, **content):
    connection.request("POST", path, json.dumps(content), HEADERS)
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
    data = Path(log).read_bytes()
    Path(log).write_bytes(data[:-1])  # by an editor
    assert main(["export", log]) == 0
    exported = capsys.readouterr().out
    assert exported.split("\n\n")[1] == "the\tO\ndog\tO\nwalks\tO\n.\tO"
    assert main(["export", log, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    Path(log).write_bytes(data[:-2])
    assert main(["export", log]) == 0
    assert "the last line was half-written" in capsys.readouterr().err
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
def test_serve_labels_text(model):
    with served("serve", "--model", model) as (connection, _):
        (found,) = post(connection, "/tag", text="Ann sings")["sentences"]
    assert found["labels"] == ["B-PER", "O"]


@needs_fork
def test_serve_labels_tokens_of_several_columns(tmp_path):
    X = [[{"word": "a", "pos": "b"}, {"word": "c", "pos": "d"}]]
    save_model(EmpiricalCRF().fit(X, [["D", "N"]]), tmp_path / "model", ["word", "pos", "label"])
    with served("serve", "--model", tmp_path / "model") as (connection, _):
        (found,) = post(connection, "/tag", tokens=X[0])["sentences"]
    assert found["labels"] == ["D", "N"]


DOCUMENTS = [
    {"text": "Zoë Lee sings.\nIn '88 it rained.", "spans": [[0, 7, "PER"]]},
    {"text": "Rex barks in Rome."},
]


@needs_fork
@pytest.mark.parametrize("how", [(), ("--proposed",)])
def test_spans_are_imported_once(tmp_path, capsys, how):
    path = tmp_path / "documents.jsonl"
    lines = (json.dumps(document, ensure_ascii=False) for document in DOCUMENTS)
    path.write_text("\n".join(lines), encoding="latin-1")
    command = "annotate", path, "--encoding", "latin-1", "--labels", "LOC", *how
    n = 0 if how else 2
    for _ in range(2):
        with served(*command) as (connection, fork):
            state = post(connection, "/api/next", by="ann")["state"]
            assert (state["accepted"], state["names"]) == (n, ["PER", "LOC"])
            given = [post(connection, "/api/open", by="ann", sentence=k)["next"] for k in range(3)]
            fork.send_signal(signal.SIGINT)
            fork.wait()
    assert [one["given"] for one in given] == [[[0, 2, "PER"]], [], None]
    assert given[1]["tokens"] == ["In", "'88", "it", "rained", "."]
    assert main(["export", f"{path}.annotations.jsonl", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == n and all(row["by"] == "documents.jsonl" for row in rows)
    if rows:
        assert rows[0]["labels"] == ["B-PER", "I-PER", "O", "O"]


@needs_fork
def test_spans_can_be_checked(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(map(json.dumps, DOCUMENTS)))
    with served("annotate", "--gold", path, "--scheme", "IOBES") as (connection, _):
        assert post(connection, "/api/next", by="ann")["state"]["checks_gold"]
        (found,) = accept(connection, 0, [[0, 2, "PER"]])["state"]["names"]
    assert found == "PER" and "S-PER" not in Path(f"{path}.annotations.jsonl").read_text()
    assert '"E-PER"' in Path(f"{path}.annotations.jsonl").read_text()


def status(connection, **headers):
    connection.request("GET", "/health", headers=headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    save_model(EmpiricalCRF().fit([["Ann", "sings"]], [["B-PER", "O"]]), path)
    return path


@needs_fork
def test_a_token_comes_from_a_file_or_the_environment_and_annotate_draws_one(
    model, text, tmp_path, monkeypatch
):
    (tmp_path / "token").write_text("other\n")
    (tmp_path / "token").chmod(0o600)
    serve = "serve", "--model", model
    with served(*serve, "--token-file", tmp_path / "token") as (connection, _):
        assert status(connection) == 401
        assert status(connection, Authorization=f"Bearer {TOKEN}") == 401
        assert status(connection, Authorization="Bearer other") == 200
    with served(*serve) as (connection, _):
        assert status(connection) == 401
        assert status(connection, Authorization=f"Bearer {TOKEN}") == 200
    monkeypatch.delenv("SKLEARN_CRCRF_TOKEN")
    with served(*serve) as (connection, _):
        assert status(connection) == 200
    for more in ("annotate", text, "--labels", "A"), (*serve, "--public-url", "http://a.example"):
        with served(*more) as (connection, _):
            assert status(connection) == 401


@needs_fork
def test_the_port_is_ours_on_all_loopback_addresses(model):
    with served("serve", "--model", model) as (connection, _):
        for family, name in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]:
            with pytest.raises(OSError), socket.socket(family) as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other.bind((name, connection.port))


@needs_fork
def test_on_all_addresses_the_loopback_names_are_ours_too(model):
    with served("serve", "--model", model, "--host", "0.0.0.0") as (connection, _):
        for name in ("localhost", "127.0.0.1", "0.0.0.0", socket.gethostname()):
            host = f"{name}:{connection.port}"
            assert status(connection, Host=host, Authorization=f"Bearer {TOKEN}") == 200


@contextmanager
def kept_busy(folder):
    """A service whose clients ask for more than it can do in a minute, and the clients."""
    labels = [f"T{k}" for k in range(100)]
    save_model(EmpiricalCRF().fit([labels], [labels]), folder / "busy")
    content = json.dumps({"sentences": [labels[:20]] * 1000, "details": True})
    with served("serve", "--model", folder / "busy") as (connection, fork):
        clients = [HTTPConnection(connection.host, connection.port) for _ in range(45)]
        for client in clients:
            client.request("POST", "/tag", content, HEADERS)
        yield connection, fork, clients
        for client in clients:
            client.close()


@needs_fork
def test_ctrl_c_ends_the_work_of_requests(tmp_path):
    with kept_busy(tmp_path) as (connection, fork, _):
        assert status(connection, **HEADERS) == 200
        start = time.monotonic()
        fork.send_signal(signal.SIGINT)
        assert fork.stderr.read() == b"sklearn-crcrf: error: interrupted\n"
        assert fork.wait() == 130
        assert time.monotonic() - start < 5  # 2 on a computer that does nothing else


@needs_fork
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_busy_service_answers_and_rests_when_its_clients_leave(tmp_path):
    def processor_seconds(pid):
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    with kept_busy(tmp_path) as (connection, fork, clients):
        times = []
        for _ in range(20):
            start = time.monotonic()
            assert status(connection, **HEADERS) == 200
            times.append(time.monotonic() - start)
        assert sorted(times)[10] < 0.5  # 0.1 on a computer that does nothing else
        for client in clients:
            client.close()
        time.sleep(1.5)
        before = processor_seconds(fork.pid)
        time.sleep(1.5)
        assert processor_seconds(fork.pid) - before < 0.4


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--token", ""], "use --token-file FILE"),
        (["--token", "s3cret"], "SKLEARN_CRCRF_TOKEN"),
        (["--token-file", "{empty}"], "at least one character"),
        (["--token-file", "{words}"], "letters, digits and"),
        (["--token-file", "{missing}"], "No such file"),
        (["--public-url", "example.org"], "must be like https://"),
    ],
)
@pytest.mark.parametrize("command", [["serve", "--model", "{model}"], ["annotate", "{text}"]])
def test_a_token_or_an_address_that_is_not_valid_is_refused(
    tmp_path, model, text, capsys, command, argv, problem
):
    names = {name: tmp_path / name for name in ("empty", "words", "missing")}
    names["empty"].write_text("\n")
    names["words"].write_text("two words")
    argv = [*command, *argv, "--no-browser", "--port", "0"]
    argv += ["--labels", "A"] if command[0] == "annotate" else []
    try:
        status = main([arg.format(**names, model=model, text=text) for arg in argv])
    except SystemExit as end:  # of the parser of arguments
        status = end.code
    error = capsys.readouterr().err.splitlines()[-1]
    assert status == 2 and problem in error


@needs_fork
def test_an_empty_token_in_the_environment_is_refused(model, monkeypatch, capsys):
    monkeypatch.setenv("SKLEARN_CRCRF_TOKEN", "")
    assert main(["serve", "--model", str(model), "--port", "0", "--host", "0.0.0.0"]) == 2
    assert "at least one character" in capsys.readouterr().err


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
        (["serve", "--model", "{attributes}"], "but the model needs attributes"),
        (["annotate", "{spans}"], "leaves the text of 3 characters"),
        (["annotate", "{sound}", "--scheme", "tags"], "but the file has spans"),
        (["annotate", "{latin}", "--labels", "A"], "say its encoding"),
    ],
)
def test_problems_are_told_in_one_line(tmp_path, text, capsys, argv, problem):
    save_model(CRF().fit([["a"], ["b"]], [["D"], ["N"]]), tmp_path / "crf")
    save_model(CRF().fit([[["a"], ["b"]]], [["D", "N"]]), tmp_path / "attributes", ["label", "*"])
    (tmp_path / "spans").write_text('{"text": "Ann", "spans": [[0, 9, "PER"]]}')
    (tmp_path / "sound").write_text('{"text": "Ann", "spans": [[0, 3, "PER"]]}')
    (tmp_path / "latin").write_bytes("Zoë".encode("latin-1"))
    (tmp_path / "empty").write_text("\n \n")
    with socket.create_server(("localhost", 0)) as taken:
        files = ("crf", "attributes", "empty", "missing", "spans", "sound", "latin")
        names = {name: tmp_path / name for name in files}
        names |= {"text": text, "port": taken.getsockname()[1]}
        assert main([arg.format(**names) for arg in argv]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1
