"""Documents with spans, in place of columns."""

import io
import json
import sys
from unicodedata import normalize

import pytest
from commands import json_lines, run

from sklearn_crcrf.text import read_spans, write_spans

NAMES, PLACES = ["Ann", "Bob Lee", "Rex"], ["Rome", "New York", "Paris"]


@pytest.fixture
def documents():
    texts, spans = [], []
    for name in NAMES:
        for place in PLACES:
            text = f"{name} sings in {place}.\r\nThe dog sleeps."
            start = text.index(place)
            texts.append(text)
            spans.append([(0, len(name), "PER"), (start, start + len(place), "LOC")])
    return texts, spans


@pytest.fixture
def file(documents, tmp_path):
    write_spans(tmp_path / "docs.jsonl", *documents)
    return tmp_path / "docs.jsonl"


def test_commands_name_their_own_options(file, tmp_path, capsys):
    model, emoji = tmp_path / "model", tmp_path / "emoji.jsonl"
    status, _, err = run(capsys, "train", file, "-m", model, "--compact")
    assert status == 2 and "--compact" in err and not model.exists()
    emoji.write_text('{"text": "\U0001f600 Ann", "label": [[3, 6, "PER"]]}\n')
    assert "the offsets 'characters' would" in run(capsys, "train", emoji, "-m", model)[2]
    status, _, err = run(capsys, "convert", file, "-m", model, "--format", "jsonl")
    assert status == 2 and "--output" in err
    latin, text = tmp_path / "latin.txt", tmp_path / "a.txt"
    latin.write_bytes("Zo\u00eb".encode("latin-1"))
    text.write_text("Ann\n")
    for command in (("tag", "--text"), ("redact",)):
        status, _, err = run(capsys, *command, latin, "-m", model)
        assert status == 2 and "latin.txt: line 1 cannot be decoded as utf-8" in err
    err = run(capsys, "redact", text, file, "-m", model, "-o", tmp_path / "out")[2]
    assert "docs.jsonl has documents with spans, but" in err and "a.txt has none" in err


def test_a_file_without_tokens_is_an_error(file, tmp_path, capsys):
    model, empty = tmp_path / "model", tmp_path / "empty.jsonl"
    empty.write_text('{"text": " ", "spans": []}\n')
    run(capsys, "train", file, "-m", model)
    for command in ("evaluate", "check"):
        status, out, err = run(capsys, command, empty, "-m", model)
        assert (status, out) == (2, "") and "empty.jsonl: there are no tokens" in err
    given = "--confidence-level", "0.5", "--calibrate", empty
    assert "no tokens to calibrate with" in run(capsys, "train", file, "-m", model, *given)[2]


def test_both_normal_forms_are_evaluated_alike(tmp_path, capsys):
    texts, files = ["then Zo\u00eb left", "then Ren\u00e9 left"] * 5, []
    for form in ("NFC", "NFD"):
        made = [normalize(form, text) for text in texts]
        files.append(tmp_path / f"{form}.jsonl")
        write_spans(files[-1], made, [[(5, text.index(" l"), "PER")] for text in made])
    run(capsys, "train", files[0], "-m", tmp_path / "model")
    figures = [
        json.loads(run(capsys, "evaluate", f, "-m", tmp_path / "model", "--json")[1]) for f in files
    ]
    assert figures[0] == figures[1] and figures[0]["unknown_tokens"] == 0


@pytest.mark.parametrize("format", ["jsonl", "doccano", "label-studio", "brat", "prodigy", "spacy"])
def test_every_format_is_evaluated(format, documents, tmp_path, capsys):
    write_spans(tmp_path / "docs", *documents, format)
    status, out, err = run(capsys, "evaluate", tmp_path / "docs")
    assert (status, err) == (0, "")
    assert "held out         2 of 9 documents" in out
    assert "PER" in out and "LOC" in out
    found = run(capsys, "evaluate", tmp_path / "docs", tmp_path / "docs", "--json")
    assert json.loads(found[1])["sequences"] == 18


def test_check_names_document_and_characters(documents, tmp_path, capsys):
    texts, spans = documents
    spans[3] = spans[3][1:]
    write_spans(tmp_path / "docs.jsonl", texts, spans)
    status, out, _ = run(capsys, "check", tmp_path / "docs.jsonl", "--top", "1")
    assert status == 0
    assert "1. document 3, characters 0 to 7: given O" in out
    (row,) = json_lines(run(capsys, "check", tmp_path / "docs.jsonl", "--top", "1", "--json")[1])
    assert (row["document"], row["characters"]) == (3, [0, 7])


@pytest.mark.parametrize("format", ["label-studio", "doccano", "conllu", "brat"])
def test_documents_are_converted(format, file, documents, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(capsys, "convert", file, "-o", out, "--to", format) == (0, "", "")
    assert read_spans(out)[:2] == read_spans(file)[:2]
    back = run(capsys, "convert", out, "-o", "jsonl")[1]
    assert [line["text"] for line in json_lines(back)] == documents[0]


def test_what_cannot_be_converted(file, tmp_path, capsys):
    status, _, err = run(capsys, "convert", file, "-o", tmp_path / "x.conll")
    assert status == 0 and "not the spaces between them: document 0, characters 17 to 17" in err
    write_spans(tmp_path / "a.jsonl", ["Annette sings"], [[(0, 3, "PER")]])
    status, _, err = run(capsys, "convert", tmp_path / "a.jsonl", "-o", "conllu")
    assert status == 2 and "document 0: " in err and "within a token" in err
    more = ["-o", "conllu", "--alignment", "expand"]
    assert "Annette" in run(capsys, "convert", tmp_path / "a.jsonl", *more)[1]
    status, _, err = run(capsys, "convert", file)
    assert status == 2 and "convert needs --output OUT for documents, or --model MODEL" in err
    status, _, err = run(capsys, "convert", file, "-o", "x", "--format", "crf++")
    assert status == 2 and "say --model" in err


@pytest.fixture
def model(file, tmp_path, capsys):
    assert run(capsys, "train", file, "-m", tmp_path / "model") == (0, "", "")
    return tmp_path / "model"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "new.txt"
    path.write_bytes(b"\xef\xbb\xbfRex sings in New York.\r\nThe dog sleeps.\r\n")
    return path


SPANS = [[0, 3, "PER"], [13, 21, "LOC"]]


def test_spans_of_raw_text(model, text, capsys):
    status, out, err = run(capsys, "tag", "-m", model, "--text", text)
    rows = [line.split("\t") for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert rows[0] == ["document", "start", "end", "label", "probability", "text"]
    assert [[int(a), int(b), label] for _, a, b, label, *_ in rows[1:]] == SPANS
    assert all(0 < float(row[4]) <= 1 for row in rows[1:])
    assert run(capsys, "tag", "-m", model, text)[1] == out


def test_text_is_cut_as_in_training(model, text, capsys):
    for option in ("tokenizer characters", "sentences rule"):
        _, _, err = run(capsys, "tag", "--text", text, "-m", model, *f"--{option}".split())
        name, own = option.split()[0], "words" if "tokenizer" in option else "lines"
        assert f"--{option}: the model was trained with --{name} {own}" in err


def test_columns_that_are_read_as_text_are_named(model, tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("word,label\nAnn,B-PER\n")
    for command in ("tag", "redact"):
        status, _, err = run(capsys, command, table, "-m", model)
        assert status == 0 and "table.csv is read as plain text, not as columns" in err
    assert run(capsys, "tag", "--text", table, "-m", model)[2] == ""


def test_the_forms_of_output(model, text, tmp_path, capsys):
    tag = ["tag", "-m", model, "--text", text, "--output"]
    (row,) = json_lines(run(capsys, *tag, "jsonl")[1])
    assert [[s["start"], s["end"], s["label"]] for s in row["spans"]] == SPANS
    assert row["text"].encode() == text.read_bytes()[3:]
    out = run(capsys, *tag, "conll")[1]
    assert out.startswith("Rex\tB-PER\nsings\tO\nin\tO\nNew\tB-LOC\nYork\tI-LOC\n.\tO\n\nThe\tO\n")
    out = run(capsys, *tag, "text")[1]
    assert out == "[Rex](PER) sings in [New York](LOC).\r\nThe dog sleeps.\r\n"
    assert run(capsys, *tag, tmp_path / "out.txt") == (0, "", "")
    assert (tmp_path / "out.txt").read_bytes().decode() == out
    found = run(capsys, "tag", "-m", model, text, tmp_path / "out.txt")[1]
    assert "new.txt\t13\t21\tLOC" in found
    status, _, err = run(capsys, *tag, "conll", "--n-best", "2")
    assert status == 2 and "--n-best is for columns" in err


def test_redact(model, text, file, tmp_path, capsys):
    redacted = "[PER] sings in [LOC].\r\nThe dog sleeps.\r\n"
    assert run(capsys, "redact", "-m", model, text) == (0, redacted, "")
    assert run(capsys, "redact", "-m", model, text, "--replace", "X")[1].startswith("X sings in X.")
    rows = json_lines(run(capsys, "redact", "-m", model, file)[1])
    assert [row["text"] for row in rows] == ["[PER] sings in [LOC].\r\nThe dog sleeps."] * 9
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_bytes(text.read_bytes())
    assert run(capsys, "redact", "-m", model, folder, "-o", out) == (0, "", "")
    assert {path.name: path.read_bytes().decode() for path in out.iterdir()} == {
        "a.txt": redacted,
        "b.txt": redacted,
    }


def test_a_model_of_a_column_of_words_finds_spans_too(text, file, tmp_path, capsys):
    run(capsys, "convert", file, "-o", tmp_path / "a.conll")
    run(capsys, "train", tmp_path / "a.conll", "-m", tmp_path / "words")
    out = run(capsys, "tag", "-m", tmp_path / "words", "--text", text)[1]
    assert [row.split("\t")[1:4] for row in out.splitlines()[1:]] == [
        ["0", "3", "PER"],
        ["13", "21", "LOC"],
    ]
    (tmp_path / "two").write_text("Ann N B-PER\n")
    run(capsys, "train", tmp_path / "two", "-m", tmp_path / "two.model")
    status, _, err = run(capsys, "tag", "-m", tmp_path / "two.model", "--text", text)
    assert status == 2 and "text has words only" in err
    status, _, err = run(capsys, "tag", "-m", tmp_path / "two.model", text, "-o", "spans")
    assert status == 2 and "--output spans needs --text" in err


def test_training_says_what_it_understood(file, model, tmp_path, capsys):
    err = run(capsys, "train", file, "-m", tmp_path / "m", "--verbose")[2]
    assert "18 sequences of 9 documents, 87 tokens" in err
    assert "Ann/B-PER sings/O in/O Rome/B-LOC ./O" in err
    figures = json.loads(run(capsys, "evaluate", file, "-m", model, "--json")[1])
    assert (figures["sequences"], figures["accuracy"]["all"]) == (18, 1)
    status, _, err = run(capsys, "train", file, "-m", tmp_path / "m", "--out-of-core")
    assert status == 2 and "--out-of-core needs columns" in err


def test_standard_input_needs_its_format(file, text, model, monkeypatch, capsys):
    for argv in (
        ("evaluate", "--format", "jsonl", "--json"),
        ("tag", "-m", model, "--format", "jsonl"),
    ):
        data = io.BytesIO(file.read_bytes())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
        assert run(capsys, *argv)[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
    assert run(capsys, "redact", "-m", model)[1].startswith("[PER] sings in [LOC].")


def test_json_in_standard_input_is_read_as_documents(file, model, monkeypatch, capsys, tmp_path):
    new = str(tmp_path / "new.crcrf")
    for argv in (
        ("evaluate", "-m", model, "--json"),
        ("tag", "-m", model),
        ("redact", "-m", model),
        ("check",),
        ("train", "-m", new),
    ):
        data = io.BufferedReader(io.BytesIO(file.read_bytes()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
        status, out, _ = run(capsys, *argv)
        assert (status, out) == run(capsys, *argv[:1], file, *argv[1:])[:2]
        assert status == 0
