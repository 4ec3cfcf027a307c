"""Commands with many files, and with files that need not fit into memory."""

import gzip

import pytest

from sklearn_crcrf.apps.cli import _files, main
from sklearn_crcrf.datasets import make_addresses, read_conll, write_conll
from sklearn_crcrf.model_files import load_model

OUT_OF_CORE = ["train", "{text}", "-m", "{out}", "--out-of-core"]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    X, y = make_addresses(60, random_state=1)
    write_conll(folder / "a.tsv", X[:40], y[:40], sep="\t")
    with gzip.open(folder / "b.tsv.gz", "wb") as file:
        write_conll(file, X[40:], y[40:], sep="\t")
    return folder, X, y


def run(capsys, *argv):
    status = main([str(a) for a in argv])
    return status, *capsys.readouterr()


@pytest.mark.parametrize(
    "options",
    [
        ["--estimator", "CRF", "--set", "max_iter=30"],
        ["--template", "{template}", "--set", "max_iter=30"],
        ["--estimator", "EmpiricalCRF"],
    ],
)
def test_training_out_of_core_is_training(options, folder, tmp_path, capsys, monkeypatch):
    text, X, _ = folder
    monkeypatch.setattr(_files, "LINES", 50)
    (tmp_path / "template").write_text("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\n")
    options = [option.format(template=tmp_path / "template") for option in options]
    train = ["train", text / "a.tsv", text / "b.tsv.gz", *options]
    for name, more in [("all", ()), ("parts", ("--out-of-core", "--verbose"))]:
        status, _, err = run(capsys, *train, "-m", tmp_path / name, *more)
        assert status == 0
    assert "writing the corpus, part 1:" in err and ", part 2: 100 %" in err
    assert not list(tmp_path.glob(".corpus-*"))
    models = [load_model(tmp_path / name) for name in ("all", "parts")]
    assert models[0].columns == models[1].columns == ["word", "label"]
    expected, found = (model.estimator.predict(X).tolist() for model in models)
    assert sum(a == b for a, b in zip(expected, found, strict=True)) >= 59


def test_tagging_many_files(folder, tmp_path, capsys, monkeypatch):
    text, X, _ = folder
    run(capsys, "train", text, "-m", tmp_path / "model")
    monkeypatch.setattr(_files, "LINES", 50)
    out = tmp_path / "tagged"
    status, printed, err = run(capsys, "tag", text, "-m", tmp_path / "model", "-o", out)
    assert (status, printed, err) == (0, "", "")
    found = [read_conll(out / name) for name in ("a.tsv", "b.tsv.gz")]
    assert [tokens for X, _ in found for tokens in X] == X
    expected = load_model(tmp_path / "model").estimator.predict(X).tolist()
    assert [labels for _, y in found for labels in y] == expected


@pytest.mark.parametrize(
    "argv, message",
    [
        (["tag", "{text}", "-m", "{model}"], "--output must be a folder"),
        (["tag", "{text}/a.tsv", "{text}/a.tsv", "-m", "{model}", "-o", "{out}"], "called a.tsv"),
        (["tag", "{bad}", "{text}/a.tsv", "-m", "{model}", "-o", "{out}"], "line 61"),
        (["tag", "{empty}", "-m", "{model}", "-o", "{out}"], "no files in this folder"),
        ([*OUT_OF_CORE, "--estimator", "MaxMarginCRF"], "MaxMarginCRF needs all"),
        ([*OUT_OF_CORE, "--estimator", "CRF", "--set", "class_weight=balanced"], "class_weight"),
    ],
)
def test_errors(argv, message, folder, tmp_path, capsys, monkeypatch):
    text, *_ = folder
    monkeypatch.setattr(_files, "LINES", 50)
    run(capsys, "train", text, "-m", tmp_path / "model")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").write_text("a B-CITY\n\n" * 30 + "b\n")
    places = {name: tmp_path / name for name in ("model", "out", "bad", "empty")}
    status, _, err = run(capsys, *(arg.format(text=text, **places) for arg in argv))
    assert status == 2 and message in err, err


def test_lines_of_the_first_piece_with_tokens_are_lines_of_the_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_files, "LINES", 2)
    (tmp_path / "text").write_text("\n\n\na B\nb\n")
    train = "train", tmp_path / "text", "-m", tmp_path / "model", "--out-of-core"
    status, _, err = run(capsys, *train)
    assert status == 2 and f"{tmp_path / 'text'}: line 5 has 1 columns" in err


def test_a_file_in_a_folder_that_is_not_text_is_named(folder, tmp_path, capsys):
    text, _, _ = folder
    run(capsys, "train", text, "-m", tmp_path / "model")
    (text / "c.tsv").write_bytes(b"a\0")
    tag = "tag", text, "-m", tmp_path / "model", "-o", tmp_path / "tagged"
    status, _, err = run(capsys, *tag)
    assert status == 2 and f"{text / 'c.tsv'}: line 1 holds a NUL character" in err
