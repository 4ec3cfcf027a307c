"""Commands that promise how many names are missed."""

import json

import pytest
from commands import run

from sklearn_crcrf.model_files import load_model

NAMES = ["Ann", "Bob", "Eve", "Tom"]
LEVEL = ("--confidence-level", "0.9")


def documents(path, n):
    """Write a file of documents with a name each."""
    lines = []
    for i in range(n):
        name = NAMES[i % 4]
        lines.append(json.dumps({"text": f"then {name} left", "spans": [[5, 8, "PER"]]}))
    path.write_text("\n".join(lines) + "\n")
    return path


def columns(path, n):
    """Write a file of words and labels with a name in each sentence."""
    path.write_text("".join(f"then O\n{NAMES[i % 4]} B-PER\nleft O\n\n" for i in range(n)))
    return path


@pytest.mark.parametrize("write", [documents, columns])
@pytest.mark.parametrize("calibrated", [False, True])
def test_answers_say_what_is_promised(write, calibrated, tmp_path, capsys):
    train, more = write(tmp_path / "train.jsonl", 20), write(tmp_path / "more.jsonl", 12)
    if write is columns:
        train, more = train.rename(tmp_path / "train.txt"), more.rename(tmp_path / "more.txt")
    model = tmp_path / "model"
    given = ("--calibrate", more) if calibrated else ()
    status, _, err = run(capsys, "train", train, "-m", model, *LEVEL, *given)
    assert (status, err) == (0, "")
    loaded = load_model(model).estimator
    conformal = loaded.estimator_ if write is documents else loaded
    assert conformal.n_calibration_ == (12 if calibrated else 20)
    assert (conformal.cv is None) == calibrated
    text = tmp_path / "text.txt"
    text.write_text("then Ann left\n")
    told = "sklearn-crcrf: target recall, confidence_level 0.9, unit token\n"
    assert run(capsys, "redact", text, "-m", model) == (0, "then [PER] left\n", told)
    status, out, _ = run(capsys, "redact", text, "-m", model, "-o", "jsonl")
    promise = {"target": "recall", "confidence_level": 0.9, "unit": "token"}
    assert json.loads(out) == {"text": "then [PER] left\n", **promise}
    status, out, err = run(capsys, "tag", "--text", text, "-m", model)
    assert (status, err) == (0, told) and "Ann" in out
    assert run(capsys, "redact", text, "-m", model, "--quiet")[2] == ""


def test_documents_are_left_out_as_a_whole(tmp_path, capsys):
    texts = [json.loads(line) for line in documents(tmp_path / "d", 24).read_text().splitlines()]
    lines = [json.dumps({**text, "document": i // 2}) for i, text in enumerate(texts)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    parts = columns(tmp_path / "c", 24).read_text().split("\n\n")[:24]
    both = ["\n\n".join(parts[i : i + 2]) for i in range(0, 24, 2)]
    (tmp_path / "train.txt").write_text("".join(f"-DOCSTART- O\n\n{it}\n\n" for it in both))
    for name in ("train.jsonl", "train.txt"):
        assert run(capsys, "train", tmp_path / name, "-m", tmp_path / "model", *LEVEL)[0] == 0
        loaded = load_model(tmp_path / "model").estimator
        conformal = loaded.estimator_ if name == "train.jsonl" else loaded
        assert conformal.n_calibration_ == 12


def test_a_single_mark_of_a_document_makes_no_group(tmp_path, capsys):
    more = columns(tmp_path / "more.txt", 12)
    more.write_text("-DOCSTART- O\n\n" + more.read_text())
    given = columns(tmp_path / "train.txt", 20), "-m", tmp_path / "model", "--calibrate", more
    assert run(capsys, "train", *given, *LEVEL)[0] == 0
    assert load_model(tmp_path / "model").estimator.n_calibration_ == 12


def test_promises_that_cannot_be_made(tmp_path, capsys):
    train, few = documents(tmp_path / "train.jsonl", 20), documents(tmp_path / "few.jsonl", 3)
    words, model = columns(tmp_path / "train.txt", 20), tmp_path / "model"
    for options, message in [
        (("--calibrate", few), "--calibrate needs --confidence-level"),
        ((*LEVEL, "--calibrate", few), "needs 9 sequences with names or more"),
        ((*LEVEL, "--calibrate", words), "has columns, but the text has documents"),
        (("--confidence-level", "1.5"), "confidence_level"),
    ]:
        status, _, err = run(capsys, "train", train, "-m", model, *options)
        assert status == 2 and message in err
        assert not model.exists()
    status, _, err = run(capsys, "train", words, "-m", model, *LEVEL, "--calibrate", train)
    assert status == 2 and "has documents, but the text has columns" in err
