"""The command ``train``."""

import io
import json

import pytest
from commands import TEMPLATE, run

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.criteria import MCE
from sklearn_crcrf.datasets import read_conll, write_conll
from sklearn_crcrf.model_files import load_model


def test_parameters_are_set_by_name(corpus, tmp_path, capsys):
    path, _, _ = corpus
    model = tmp_path / "model"
    argv = ["--set", "sigma=2", "criterion=mce", "max_iter=3", "--set", "criterion__slope=0.5"]
    status, out, err = run(capsys, "train", path, "--model", model, "--estimator", "CRF", *argv)
    assert (status, out) == (0, "")
    assert err.startswith("sklearn-crcrf: warning: training did not converge")
    crf = load_model(model).estimator
    assert isinstance(crf.criterion, MCE) and crf.criterion.slope == 0.5
    assert (crf.sigma, crf.max_iter, crf.verbose) == (2, 3, 0)


def test_presets_and_fitted_exponents(corpus, tmp_path, capsys):
    path, X, y = corpus
    model = tmp_path / "model"
    options = ["--estimator", "EmpiricalCRF.ecrn", "--set", "sigma=inf"]
    assert run(capsys, "train", path, "--model", model, *options) == (0, "", "")
    assert load_model(model).estimator.get_params() == EmpiricalCRF.ecrn().get_params()
    options = ["--set", "exponents=fit"]
    assert run(capsys, "train", path, "--model", model, *options) == (0, "", "")
    expected = EmpiricalCRF(exponents="fit").fit(X, y).exponents_
    assert load_model(model).estimator.exponents_ == expected


@pytest.mark.parametrize("name", ["CRF", "HMM", "MEMM", "CRFsuiteCRF", "StructuredPerceptron"])
def test_estimators_by_name(name, corpus, tmp_path, capsys):
    path, X, _ = corpus
    model = tmp_path / "model"
    argv = ["--estimator", name]
    status, out, _ = run(capsys, "train", path, "--model", model, *argv)
    assert (status, out) == (0, "")
    status, out, err = run(capsys, "tag", path, "--model", model)
    assert (status, err) == (0, "")
    assert read_conll(io.StringIO(out))[0] == X
    status, out, err = run(capsys, "inspect", "--model", model)
    assert (status, err) == (0, "")
    assert "B-CITY" in out and "word, label" in out


def test_short_options_and_names_in_any_case(tmp_path, capsys):
    path, template, model, out = (tmp_path / n for n in ("text", "template", "model", "out"))
    template.write_text("U00:%x[0,0]\nB\n")
    path.write_text("the DT B\ndog NN I\n\nDogs NN B\nbark VB O\n")
    argv = ["--estimator", "crf", "-t", template, "-m", model]
    assert run(capsys, "train", *argv, path) == (0, "", "")
    assert run(capsys, "tag", "-m", model, "-n", "1", "-o", out, path) == (0, "", "")
    assert run(capsys, "tag", path, "--n-best", "1", "--model", model)[1] == out.read_text()
    assert (
        "there is no estimator 'crfs'"
        in run(capsys, "train", path, "-m", model, "--estimator", "crfs")[2]
    )


def test_a_template_makes_a_crf_with_its_edges(three_columns, tmp_path, capsys):
    template, model = tmp_path / "template", tmp_path / "model"
    template.write_text(TEMPLATE)
    argv = ["train", three_columns, "--model", model, "--template", template]
    assert run(capsys, *argv) == (0, "", "")
    pipeline = load_model(model).estimator
    assert isinstance(pipeline[-1], CRF) and pipeline[-1].edge_columns == ["B01"]
    words = tmp_path / "words.txt"
    words.write_text("Ann U\nbarks L\n")
    assert run(capsys, "tag", words, "--model", model) == (0, "Ann\tU\tB-NP\nbarks\tL\tO\n\n", "")


def test_patterns_of_wapiti(three_columns, tmp_path, capsys):
    template, model = tmp_path / "template", tmp_path / "model"
    template.write_text('u:word=%X[0,0]\n*:cap=%t[0,0,"^\\u"]\n')
    argv = ["--template", template, "--syntax", "wapiti", "--set", "max_iter=20"]
    assert run(capsys, "train", three_columns, "--model", model, *argv)[0] == 0
    assert load_model(model).estimator[-1].edge_columns == ["*:cap"]


def test_marks_at_the_start_and_lines_of_windows(corpus, tmp_path, capsys):
    path, X, y = corpus
    other, model = tmp_path / "other.tsv", tmp_path / "model.crcrf"
    other.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert run(capsys, "train", other, "--model", model) == (0, "", "")
    status, out, _ = run(capsys, "tag", other, "--model", model)
    expected = EmpiricalCRF().fit(X, y).predict(X).tolist()
    assert status == 0 and read_conll(io.StringIO(out)) == (X, expected)


def test_words_with_blanks_between_tabs(tmp_path, capsys):
    path, model = tmp_path / "names.tsv", tmp_path / "model"
    text = "New York\tC\n \tO\nis\tO\n\nDen Haag\tC\n" * 4
    path.write_text(text)
    assert run(capsys, "train", path, "--model", model) == (0, "", "")
    status, out, err = run(capsys, "tag", path, "--model", model)
    assert (status, err) == (0, "")
    assert out.split("\n")[:6] == text.split("\n")[:6]
    path.write_text("New York\tC\nis O\n")
    assert "line 2 has 2 columns, expected 3" in run(capsys, "train", path, "--model", model)[2]


def test_no_training_is_lost_because_its_model_cannot_be_written(corpus, capsys, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.apps.cli.training.fit", lambda *args: pytest.fail("trained"))
    status, _, err = run(capsys, "train", corpus[0], "--model", "no/folder/m")
    assert status == 2 and "no/folder/m: there is no folder no/folder" in err


def test_words_are_found_in_any_column_and_named(corpus, tmp_path, capsys):
    _, X, y = corpus
    path, model = tmp_path / "numbered.tsv", tmp_path / "model"
    write_conll(path, [[{"n": str(t), "w": w} for t, w in enumerate(s)] for s in X], y)
    told = "training: the words are the column 'column_2'\n"
    for options in ([], ["--out-of-core"]):
        argv = ["train", path, "--model", model, "--verbose", *options]
        status, out, err = run(capsys, *argv)
        assert (status, out) == (0, "") and told in err
        assert load_model(model).estimator.observation_ == "column_2"
    status, out, _ = run(capsys, "inspect", "--model", model)
    assert status == 0 and "words       column 'column_2'" in out
    status, out, _ = run(capsys, "inspect", "--model", model, "--json")
    assert status == 0 and json.loads(out)["observation"] == "column_2"
