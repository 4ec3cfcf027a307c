"""Documents with spans, in place of columns."""

import json

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
    assert status == 0 and "not the blanks between them: document 0, characters 17 to 17" in err
    write_spans(tmp_path / "a.jsonl", ["Annette sings"], [[(0, 3, "PER")]])
    status, _, err = run(capsys, "convert", tmp_path / "a.jsonl", "-o", "conllu")
    assert status == 2 and "document 0: " in err and "within a token" in err
    more = ["-o", "conllu", "--alignment", "expand"]
    assert "Annette" in run(capsys, "convert", tmp_path / "a.jsonl", *more)[1]
    status, _, err = run(capsys, "convert", file)
    assert status == 2 and "convert needs --output OUT for documents, or --model MODEL" in err
    status, _, err = run(capsys, "convert", file, "-o", "x", "--format", "crf++")
    assert status == 2 and "say --model" in err
