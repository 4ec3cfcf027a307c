"""The command ``tag``."""

import gzip
import io
import sys

import numpy as np
import pytest
from commands import StandardInput, json_lines, run

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.datasets import read_conll, write_conll
from sklearn_crcrf.model_files import load_model, save_model


def test_train_then_tag(corpus, tmp_path, capsys):
    path, X, y = corpus
    model, words = tmp_path / "model.crcrf", tmp_path / "words.txt"
    write_conll(words, X[:10])
    assert run(capsys, "train", path, "--model", model) == (0, "", "")
    status, out, err = run(capsys, "tag", words, "--model", model)
    assert (status, err) == (0, "")
    expected = EmpiricalCRF().fit(X, y).predict(X[:10]).tolist()
    assert read_conll(io.StringIO(out)) == (X[:10], expected)


def test_labels_of_many_sequences_are_in_order(corpus, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.apps.cli.tagging.CHUNK", 7)
    path, X, y = corpus
    _, out, _ = run(capsys, "tag", path, "--model", model)
    expected = EmpiricalCRF().fit(X, y).predict(X).tolist()
    assert read_conll(io.StringIO(out)) == (X, expected)


def test_gold_labels_are_kept(corpus, model, tmp_path, capsys):
    path, X, y = corpus
    status, out, _ = run(capsys, "tag", path, "-m", model, "--keep-label")
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert status == 0
    assert [row[:2] for row in rows] == [
        [*pair]
        for words, labels in zip(X, y, strict=True)
        for pair in zip(words, labels, strict=True)
    ]
    plain = run(capsys, "tag", path, "-m", model)[1]
    assert [row[0::2] for row in rows] == [line.split("\t") for line in plain.splitlines() if line]
    (tmp_path / "words").write_text("the\n")
    argv = ["tag", tmp_path / "words", "-m", model, "--keep-label"]
    assert "--keep-label needs labels" in run(capsys, *argv)[2]


def test_other_encodings(tmp_path, capsys):
    path, template, model, out = (tmp_path / n for n in ("text", "template", "model", "out"))
    text = "\u65e5\u672c\tB\n\u306e\tO\n\n\u6771\u4eac\tB\n"
    path.write_bytes(text.encode("euc-jp"))
    template.write_bytes("# \u8a9e\nU00:%x[0,0]\n".encode("euc-jp"))
    encoding = ["--encoding", "EUC-JP"]
    argv = ["train", path, "-m", model, "-t", template, *encoding]
    assert run(capsys, *argv) == (0, "", "")
    assert run(capsys, "tag", path, "-m", model, "-o", out, *encoding) == (0, "", "")
    assert out.read_bytes().decode("euc-jp").rstrip() == text.rstrip()
    status, _, err = run(capsys, "evaluate", path, "-m", model)
    assert status == 2 and "text" in err
    status, _, err = run(capsys, "tag", path, "-m", model, "--encoding", "ascii")
    assert status == 2 and "cannot be decoded as ascii" in err
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "tag", "-m", model, "--encoding", "klingon")
    assert "unknown encoding: klingon" in capsys.readouterr().err


def test_tag_reads_the_columns_of_training(three_columns, tmp_path, capsys):
    model, words = tmp_path / "model", tmp_path / "words.txt"
    run(capsys, "train", three_columns, "--model", model, "--columns", "word,pos,label")
    words.write_text("Ann U\nbarks L\n")
    assert run(capsys, "tag", words, "--model", model) == (0, "Ann\tU\tB-NP\nbarks\tL\tO\n\n", "")
    status, out, _ = run(capsys, "tag", three_columns, "--model", model)
    assert status == 0 and out == three_columns.read_text()
    words.write_text("Ann\nbarks\n")
    status, out, err = run(capsys, "tag", words, "--model", model)
    assert (status, out) == (2, "")
    assert "expected 2" in err and "(word, pos; see --columns)" in err
    status, out, err = run(capsys, "tag", words, "--model", model, "--columns", "word")
    assert status == 2 and "was trained on the columns word, pos, but --columns names word" in err


def test_columns_can_be_left_out(three_columns, tmp_path, capsys):
    model, words = tmp_path / "model", tmp_path / "words.txt"
    argv = ["--columns", "word,_,label"]
    assert run(capsys, "train", three_columns, "--model", model, *argv)[0] == 0
    assert load_model(model).estimator.predict([["Ann", "barks"]]).tolist() == [["B-NP", "O"]]
    expected = (0, "Ann\tB-NP\nbarks\tO\n\n", "")
    for text in ("Ann\nbarks\n", "Ann U\nbarks L\n", "Ann U O\nbarks L O\n"):
        words.write_text(text)
        assert run(capsys, "tag", words, "--model", model) == expected


def test_tagging_nothing_writes_nothing(model, tmp_path, capsys):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    assert run(capsys, "tag", empty, "--model", model) == (0, "", "")
    assert run(capsys, "tag", empty, "--model", model, "--json") == (0, "", "")


def test_standard_input_and_gzip(corpus, model, tmp_path, capsys, monkeypatch):
    path, _, _ = corpus
    _, expected, _ = run(capsys, "tag", path, "--model", model)
    for data in (path.read_bytes(), gzip.compress(path.read_bytes()), expected.encode()):
        for more in ([], ["-"]):
            monkeypatch.setattr(sys, "stdin", StandardInput(data))
            assert run(capsys, "tag", "--model", model, *more) == (0, expected, "")
    for data in (path.read_bytes(), expected.encode()):
        monkeypatch.setattr(sys, "stdin", StandardInput(data))
        status, out, _ = run(capsys, "evaluate", "-", "--model", model)
        assert status == 0 and "accuracy, all tokens" in out
    packed = tmp_path / "tagged.txt.gz"
    assert run(capsys, "tag", path, "--model", model, "--output", packed) == (0, "", "")
    assert gzip.decompress(packed.read_bytes()).decode() == expected


def test_an_output_that_cannot_be_written_is_told_by_its_name(corpus, model, tmp_path, capsys):
    for output, message in (
        ("no/folder/x", "there is no folder no/folder"),
        (".", "Is a directory"),
    ):
        status, out, err = run(capsys, "tag", corpus[0], "--model", model, "--output", output)
        assert (status, out) == (2, "")
        assert err.startswith(f"sklearn-crcrf: error: {output}: {message}")


def test_n_best(corpus, model, capsys):
    path, X, y = corpus
    expected = EmpiricalCRF().fit(X, y).predict_k_best(X, k=2)
    status, out, _ = run(capsys, "tag", path, "--model", model, "--n-best", 2, "--json")
    assert status == 0
    for line, tokens, paths in zip(json_lines(out), X, expected, strict=True):
        assert line["tokens"] == tokens
        assert [(p["labels"], p["probability"]) for p in line["paths"]] == paths
    _, out, _ = run(capsys, "tag", path, "--model", model, "--n-best", 2)
    ranks = [line for line in out.splitlines() if line.startswith("# ")]
    flat = [p for paths in expected for _, p in paths]
    assert ranks == [f"# {1 + i % 2} {p:.6f}" for i, p in enumerate(flat)]
    blocks = [block.splitlines()[1:] for block in out.split("\n\n") if block]
    labels = [labels for paths in expected for labels, _ in paths]
    assert [[line.split("\t")[1] for line in block] for block in blocks] == labels


@pytest.mark.parametrize("options", [(), ("--marginals", "--json"), ("--n-best", 2)])
def test_a_tagger_writes_what_its_model_writes(options, corpus, model, tmp_path, capsys):
    path, tagger = corpus[0], tmp_path / "tagger"
    load_model(model).estimator.tagger().save(tagger)
    of_model, of_tagger = (
        run(capsys, "tag", path, "--model", m, *options) for m in (model, tagger)
    )
    assert of_model == of_tagger


def test_a_tagger_of_other_columns(model, three_columns, tmp_path, capsys):
    load_model(model).estimator.tagger().save(tmp_path / "tagger")
    argv = "tag", three_columns, "--model", tmp_path / "tagger", "--columns", "word,tag,_"
    status, _, err = run(capsys, *argv)
    assert status == 2 and "chunks.tsv, sequence 0: tokens, position 0: the token must be" in err


def test_a_compact_model(three_columns, tmp_path, capsys):
    complete, compact = tmp_path / "complete", tmp_path / "compact"
    for path, options in ((complete, ()), (compact, ("--compact",))):
        columns = "--columns", "word,tag,label"
        status, _, _ = run(capsys, "train", three_columns, "--model", path, *columns, *options)
        assert status == 0
    of_complete, of_compact = (
        run(capsys, "tag", three_columns, "--model", path) for path in (complete, compact)
    )
    assert of_complete == of_compact and of_compact[0] == 0
    assert compact.stat().st_size != complete.stat().st_size
    status, _, err = run(capsys, "tag", three_columns, "--model", compact, "--columns", "word,_,_")
    assert status == 2 and "the model was trained on the columns word, tag, but" in err


def test_marginals(corpus, model, capsys):
    path, X, y = corpus
    crf = EmpiricalCRF().fit(X, y)
    _, out, _ = run(capsys, "tag", path, "--model", model, "--marginals", "--json")
    for line, marginals in zip(json_lines(out), crf.predict_proba(X), strict=True):
        found = [list(token.values()) for token in line["marginals"]]
        assert np.array_equal(found, marginals)
        assert all(list(token) == crf.classes_.tolist() for token in line["marginals"])
    _, out, _ = run(capsys, "tag", path, "--model", model, "--marginals")
    word, label, *columns = out.splitlines()[0].split("\t")
    assert (word, label) == (X[0][0], crf.predict(X[:1])[0][0])
    p = crf.predict_proba(X[:1])[0][0]
    assert columns == [f"{c}/{q:.6f}" for c, q in zip(crf.classes_, p, strict=True)]


def test_known_labels(model, tmp_path, capsys):
    words = tmp_path / "words.txt"
    words.write_text("Haupt _\nRoad B-CITY\n7 B-UNIT|B-NUMBER\n")
    argv = ["tag", words, "--model", model, "--columns", "word,known"]
    status, out, err = run(capsys, *argv)
    assert (status, err) == (0, "")
    crf = load_model(model).estimator
    allowed = [[None, "B-CITY", {"B-UNIT", "B-NUMBER"}]]
    labels = crf.predict([["Haupt", "Road", "7"]], allowed=allowed)[0]
    assert (
        out
        == "".join(
            f"{w}\t{label}\n" for w, label in zip(["Haupt", "Road", "7"], labels, strict=True)
        )
        + "\n"
    )
    assert labels[1] == "B-CITY" and labels[2] in ("B-UNIT", "B-NUMBER")
    status, _, err = run(capsys, *argv, "--marginals")
    assert status == 2 and "column 'known'" in err
    words.write_text("Haupt _\n\nRoad _\n7 B-UNIT|NONE\n")
    status, _, err = run(capsys, *argv)
    assert status == 2
    assert f"{words}: column 'known', sequence 1, position 1: the label 'NONE' is not among" in err
    assert err.count("\n") == 1


def test_known_labels_that_are_impossible_together(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.apps.cli.tagging.CHUNK", 1)
    _, X, y = corpus
    model, words = tmp_path / "model", tmp_path / "words.txt"
    save_model(CRF(constraints="IOB2", tol=1e-2).fit(X, y), model, ["word", "label"])
    words.write_text("Haupt _\n\nRoad B-CITY\n7 I-UNIT\n")
    status, out, err = run(capsys, "tag", words, "--model", model, "--columns", "word,known")
    assert (status, out) == (2, "")
    assert err == f"sklearn-crcrf: error: {words}: no path of sequence 1 is possible\n"
