"""The interface behind the page for annotation."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from sklearn_crcrf.apps.annotation import Log, Pool, SegmentMarks, Workbench
from sklearn_crcrf.apps.web import annotating, annotation_app, work

LINES = ["Ann Lee sings", "the dog walks", "Ann walks"]


@pytest.fixture
def bench(tmp_path):
    with (
        Log(tmp_path / "log.jsonl") as log,
        Workbench(Pool.of_lines(LINES), log, SegmentMarks(["PER"])) as bench,
    ):
        yield bench


@pytest.fixture
def client(bench):
    return TestClient(annotation_app(bench))


def post(client, path, **content):
    answer = client.post(f"/api/{path}", json={"by": "ann", **content})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_sentence_is_accepted_and_the_next_one_follows(client, bench):
    first = post(client, "next")["next"]
    assert first["tokens"] == ["Ann", "Lee", "sings"] and first["labellings"][0]["marks"] == []
    answer = post(client, "accept", sentence=0, marks=[[0, 2, "PER"]])
    assert answer["next"]["sentence"] != 0 and answer["conflict"] is None
    assert (answer["state"]["accepted"], answer["state"]["waiting"]) == (1, 2)
    assert bench.annotations.of(0).labels == ("B-PER", "I-PER", "O")


def test_undo_shows_the_sentence_again(client, bench):
    post(client, "accept", sentence=0, marks=[])
    answer = post(client, "undo")
    assert answer["next"]["sentence"] == 0 and answer["state"]["accepted"] == 0
    assert post(client, "undo")["next"]["sentence"] in range(3)


def test_skip_flag_label_search_and_open(client, bench):
    post(client, "skip", sentence=1)
    assert post(client, "flag", sentence=2)["state"]["flagged"] == [2]
    assert post(client, "label", name="LOC")["state"]["names"] == ["PER", "LOC"]
    assert [f["sentence"] for f in post(client, "search", text="WALKS")["found"]] == [1, 2]
    assert post(client, "open", sentence=2)["next"]["flagged"]
    assert client.get("/api/state").json()["waiting"] == 1


def test_a_search_looks_at_some_sentences_at_a_time(client, monkeypatch):
    monkeypatch.setattr(annotating, "N_SEARCHED", 1)
    assert [f["sentence"] for f in post(client, "search", text="walks")["found"]] == [1, 2]
    monkeypatch.setattr(annotating, "N_FOUND", 1)
    assert [f["sentence"] for f in post(client, "search", text="walks")["found"]] == [1]


def test_all_done(client):
    for sentence in range(3):
        answer = post(client, "accept", sentence=sentence, marks=[])
    assert answer["next"] is None


def test_a_full_disk_is_told_and_nothing_is_acknowledged(client, bench, monkeypatch):
    def fail(entry):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bench._log, "append", fail)
    answer = client.post("/api/accept", json={"by": "ann", "sentence": 0, "marks": []})
    assert answer.status_code == 507 and "nothing was saved" in answer.json()["error"]
    assert bench.state()["accepted"] == 0


def test_an_error_while_learning_is_told(client, bench, monkeypatch):
    monkeypatch.setattr(type(bench._worker._learner), "take", lambda self, changes: 1 / 0)
    answer = client.post("/api/accept", json={"by": "ann", "sentence": 0, "marks": []})
    assert answer.status_code == 500 and "learning has ended" in answer.json()["error"]
    assert bench.state()["accepted"] == 1  # it is in the log


@pytest.mark.parametrize("marks", [None, "x", [[0, 9, "PER"]], [[0, 1, "X"]], [["0", 1, "PER"]]])
def test_marks_that_do_not_fit_are_refused(client, bench, marks):
    answer = client.post("/api/accept", json={"by": "ann", "sentence": 0, "marks": marks})
    assert answer.status_code == 400 and bench.annotations.n_entries == 0


def test_a_search_counts_as_work(client, monkeypatch):
    monkeypatch.setattr(work, "MAX_WAITING", 2.0)
    answer = client.post("/api/search", json={"text": "walks"})
    assert answer.status_code == 503 and "try again" in answer.json()["error"]
