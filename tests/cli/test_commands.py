"""The commands, in this process."""

import gzip
import io
import json
import os
import pickle
import sys
import threading

import joblib
import numpy as np
import pytest

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.cli import main
from sklearn_crcrf.criteria import MCE
from sklearn_crcrf.datasets import make_addresses, read_conll, write_conll

pytest.importorskip("skops")
from sklearn_crcrf.model_files import load_model, save_model

SENTENCES = [["Ann", "sings"], ["the", "Dogs", "bark"], ["Rex", "barks"]]
LABELS = {2: ["B-NP", "O"], 3: ["B-NP", "I-NP", "O"]}
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\nB01:%x[0,1]\n"


@pytest.fixture
def corpus(tmp_path):
    X, y = make_addresses(40, random_state=1)
    path = tmp_path / "addresses.tsv"
    write_conll(path, X, y)
    return path, X, y


@pytest.fixture
def model(corpus, tmp_path):
    _, X, y = corpus
    path = tmp_path / "model.skops"
    save_model(EmpiricalCRF().fit(X, y), path, ["word", "label"])
    return path


@pytest.fixture
def three_columns(tmp_path):
    X = [[{"word": w, "pos": "U" if w[:1].isupper() else "L"} for w in x] for x in (SENTENCES * 5)]
    path = tmp_path / "chunks.tsv"
    write_conll(path, X, [LABELS[len(x)] for x in X])
    return path


def run(capsys, *argv):
    status = main([str(a) for a in argv])
    return status, *capsys.readouterr()


def json_lines(out):
    return [json.loads(line) for line in out.splitlines()]


class StandardInput(io.TextIOWrapper):
    def __init__(self, data):
        super().__init__(io.BytesIO(data), encoding="utf-8")


# The demonstration


@pytest.mark.parametrize("argv", [(), ("demo",)])
def test_the_demonstration_reports_accuracy_time_a_line_and_what_to_do_next(argv, capsys):
    status, out, err = run(capsys, *argv)
    assert (status, err) == (0, "")
    assert "3,000 lines" in out and "17 labels" in out
    assert "2,000 sequences" in out and "1,000 sequences" in out
    for what, lowest in [("all", 95), ("known", 95), ("unknown", 90)]:
        line = next(x for x in out.splitlines() if x.startswith(f"accuracy, {what} tokens"))
        assert lowest < float(line.split()[3]) < 100
    assert "F1 of segments" in out and "B-STREET" in out
    assert "python -m sklearn_crcrf train FILE --model MODEL" in out


def test_the_demonstration_puts_each_label_below_its_token(capsys):
    _, out, _ = run(capsys)
    lines = out.split("never seen in training):\n\n")[1].splitlines()
    tokens, labels = lines[0], lines[1]
    starts = [i for i in range(1, len(tokens)) if tokens[i] != " " and tokens[i - 1] == " "]
    assert starts == [i for i in range(1, len(labels)) if labels[i] != " " == labels[i - 1]]
    assert all(len(line) <= 80 for line in out.splitlines()[:-7])


# Training and labelling


def test_train_then_tag(corpus, tmp_path, capsys):
    path, X, y = corpus
    model, words = tmp_path / "model.skops", tmp_path / "words.txt"
    write_conll(words, X[:10])
    assert run(capsys, "train", path, "--model", model) == (0, "", "")
    status, out, err = run(capsys, "tag", words, "--model", model)
    assert (status, err) == (0, "")
    expected = EmpiricalCRF().fit(X, y).predict(X[:10]).tolist()
    assert read_conll(io.StringIO(out)) == (X[:10], expected)


def test_labels_of_many_sequences_are_in_order(corpus, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.cli.tagging.CHUNK", 7)
    path, X, y = corpus
    _, out, _ = run(capsys, "tag", path, "--model", model)
    expected = EmpiricalCRF().fit(X, y).predict(X).tolist()
    assert read_conll(io.StringIO(out)) == (X, expected)


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
    assert status == 2 and "'ascii' codec can't decode" in err
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "tag", "-m", model, "--encoding", "klingon")
    assert "unknown encoding: klingon" in capsys.readouterr().err


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


def test_marks_at_the_start_and_lines_of_windows(corpus, tmp_path, capsys):
    path, X, y = corpus
    other, model = tmp_path / "other.tsv", tmp_path / "model.skops"
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


def test_an_output_that_cannot_be_written_is_told_by_its_name(corpus, model, tmp_path, capsys):
    for output, message in (
        ("no/folder/x", "there is no folder no/folder"),
        (".", "Is a directory"),
    ):
        status, out, err = run(capsys, "tag", corpus[0], "--model", model, "--output", output)
        assert (status, out) == (2, "")
        assert err.startswith(f"sklearn-crcrf: error: {output}: {message}")


def test_no_training_is_lost_because_its_model_cannot_be_written(corpus, capsys, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.cli.training.fit", lambda *args: pytest.fail("trained"))
    status, _, err = run(capsys, "train", corpus[0], "--model", "no/folder/m")
    assert status == 2 and "no/folder/m: there is no folder no/folder" in err


# More than one labelling


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
    status, _, err = run(capsys, "tag", three_columns, "--model", tmp_path / "tagger")
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
    assert f"{words}, sequence 1, position 1: 'NONE' in the column 'known' is not among" in err
    assert err.count("\n") == 1


def test_known_labels_that_are_impossible_together(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.cli.tagging.CHUNK", 1)
    _, X, y = corpus
    model, words = tmp_path / "model", tmp_path / "words.txt"
    save_model(CRF(constraints="IOB2", tol=1e-2).fit(X, y), model, ["word", "label"])
    words.write_text("Haupt _\n\nRoad B-CITY\n7 I-UNIT\n")
    status, out, err = run(capsys, "tag", words, "--model", model, "--columns", "word,known")
    assert (status, out) == (2, "")
    assert err == "sklearn-crcrf: error: no path of sequence 1 is possible\n"


# Evaluation


def test_evaluate_holds_out_a_fifth(corpus, capsys):
    path, X, _ = corpus
    status, out, _ = run(capsys, "evaluate", path)
    assert status == 0
    sizes = [line.split() for line in out.splitlines() if "sequences," in line]
    assert [(s[-7] if "trained" in s else s[1]) for s in sizes] == ["32", "8"]
    assert sum(int(s[s.index("tokens") - 1].replace(",", "")) for s in sizes) == sum(map(len, X))
    assert "F1 of segments" in out and "STREET" in out


def test_evaluate_on_the_training_data_knows_all_tokens(corpus, capsys):
    path, X, y = corpus
    status, out, _ = run(capsys, "evaluate", path, path)
    assert status == 0
    assert "accuracy, unknown tokens        -   (0 tokens)" in out
    accuracy = EmpiricalCRF().fit(X, y).score(X, y)
    assert f"accuracy, all tokens       {100 * accuracy:6.2f} %" in out


def test_evaluate_a_model(corpus, model, capsys):
    path, X, y = corpus
    status, out, err = run(capsys, "evaluate", path, "--model", model, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["accuracy"]["all"] == EmpiricalCRF().fit(X, y).score(X, y)
    assert (found["accuracy"]["unknown"], found["unknown_tokens"]) == (None, 0)
    assert found["segments"]["STREET"]["f1-score"] > 0.9
    for more in ([path], ["--estimator", "CRF"]):
        status, out, err = run(capsys, "evaluate", path, *more, "--model", model)
        assert status == 2 and "--model leaves no use for" in err


def test_evaluate_tells_which_words_any_estimator_knows(corpus, capsys):
    argv = ["--estimator", "HMM", "--json"]
    found = json.loads(run(capsys, "evaluate", corpus[0], *argv)[1])
    assert found["unknown_tokens"] > 0
    assert 0 < found["accuracy"]["unknown"] < found["accuracy"]["known"] < 1


def test_labels_that_are_no_segments_have_no_f1(three_columns, capsys):
    status, out, _ = run(capsys, "evaluate", three_columns, "--columns", "word,label,_")
    assert status == 0
    assert "accuracy" in out and "F1" not in out
    status, out, _ = run(
        capsys, "evaluate", three_columns, "--columns", "word,label,_", "--scheme", "IO"
    )
    assert status == 0 and "F1 of segments" in out


def test_what_was_tagged_can_be_evaluated(three_columns, tmp_path, capsys):
    model, tagged = tmp_path / "model", tmp_path / "tagged.txt"
    argv = ["--columns", "word,_,label"]
    assert run(capsys, "train", three_columns, "--model", model, *argv)[0] == 0
    assert run(capsys, "tag", three_columns, "--model", model, "--output", tagged)[0] == 0
    for file in (tagged, three_columns):
        status, out, err = run(capsys, "evaluate", file, "--model", model, "--json")
        assert (status, err) == (0, "") and json.loads(out)["accuracy"]["all"] == 1.0
    tagged.write_text("Ann\nbarks\n")
    status, _, err = run(capsys, "evaluate", tagged, "--model", model)
    assert status == 2 and "expected 3: 'Ann' (word, _, label; see --columns)" in err


# Data files of CRFsuite


def test_labels_first_as_crfsuite_has_them(tmp_path, three_columns, capsys):
    items, model = tmp_path / "items.txt", tmp_path / "model"
    items.write_text("D\tw=the\tn:0.5\nN\tw=dog\n\nN\tw=dogs\nV\tw\\:x\n")
    crfsuite = ["--format", "crfsuite"]
    assert run(capsys, "train", items, "-m", model, *crfsuite, "--set", "c2=0.01") == (0, "", "")
    assert run(capsys, "tag", items, "-m", model) == (0, "D\nN\n\nN\nV\n\n", "")
    assert run(capsys, "tag", items, "-m", model, "--keep-label")[1].startswith("D\tD\nN\tN\n\n")
    out = run(capsys, "tag", items, "-m", model, "--json")[1]
    assert json_lines(out)[0]["tokens"] == [{"w=the": 1.0, "n": 0.5}, {"w=dog": 1.0}]
    assert run(capsys, "tag", items, three_columns, "-m", model, "-o", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "items.txt").read_text() == "D\nN\n\nN\nV\n\n"
    out = run(capsys, "evaluate", items, "-m", model, "--json", *crfsuite)[1]
    assert json.loads(out)["accuracy"]["all"] == 1.0
    assert run(capsys, "evaluate", items, items, "--json", *crfsuite)[0] == 0
    for argv, message in (
        (["tag", items, "-m", model, "--columns", "word,label"], "not both"),
        (["train", items, "-m", model, *crfsuite, "--template", "x"], "--template needs columns"),
        (
            ["train", items, "-m", model, *crfsuite, "--out-of-core", "--estimator", "CRF"],
            "--out-of-core needs columns",
        ),
    ):
        status, _, err = run(capsys, *argv)
        assert (status, err.count("\n")) == (2, 1) and message in err


# Inspection


def test_inspect(corpus, model, capsys):
    _, X, y = corpus
    crf = EmpiricalCRF().fit(X, y)
    status, out, err = run(capsys, "inspect", "--model", model, "--json", "--top", 3)
    assert (status, err) == (0, "")
    found = json.loads(out)
    i, j = (crf.classes_.tolist().index(label) for label in ("B-STREET", "I-STREET"))
    assert found["transitions"]["B-STREET"]["I-STREET"] == crf.transitions_[i, j]
    top = found["attributes"]["B-CITY"]
    column = crf.coef_[:, [crf.classes_.tolist().index("B-CITY")]].toarray().ravel()
    assert list(top.values()) == sorted(column, reverse=True)[:3]
    names = crf.attribute_names_.tolist()
    assert all(column[names.index(name)] == weight for name, weight in top.items())
    _, out, _ = run(capsys, "inspect", "--model", model, "--label", "B-CITY", "--top", 2)
    assert "B-STREET" not in out.split("not zero")[1]
    for name, weight in list(top.items())[:2]:
        assert f"{weight:+10.4f}  {name}" in out


def test_inspect_shows_transitions_that_depend_on_attributes(three_columns, tmp_path, capsys):
    template, model = tmp_path / "template", tmp_path / "model"
    template.write_text(TEMPLATE)
    run(capsys, "train", three_columns, "--model", model, "--template", template)
    crf = load_model(model).estimator[-1]
    status, out, err = run(capsys, "inspect", "--model", model, "--json", "--top", 2)
    edges = json.loads(out)["edges"]
    assert (status, err) == (0, "") and len(edges) == 4
    assert [weight for *_, weight in edges[:2]] == sorted(crf.edge_coef_.ravel())[:-3:-1]
    names = crf.attribute_names_[crf._encoder.edge_attributes].tolist()
    for previous, label, name, weight in edges:
        i, j = (crf.classes_.tolist().index(it) for it in (previous, label))
        assert name.startswith("B01=") and crf.edge_coef_[names.index(name), i, j] == weight
    _, out, _ = run(capsys, "inspect", "--model", model, "--label", "O", "--label", "B-NP")
    assert f"{edges[0][-1]:+10.4f}  " in run(capsys, "inspect", "--model", model)[1]
    assert "B-NP → O | B01=L" in out and "I-NP" not in out.split("transitions that depend")[1]


def test_inspect_shows_negative_weights_and_what_is_impossible(corpus, tmp_path, capsys):
    _, X, y = corpus
    model = tmp_path / "model"
    crf = CRF(constraints="IOB2", max_iter=30, tol=1e-2).fit(X, y)
    save_model(crf, model)
    found = json.loads(run(capsys, "inspect", "--model", model, "--json")[1])
    assert found["transitions"]["O"]["I-CITY"] is None
    weights = list(found["attributes"]["B-CITY"].values())
    assert weights == sorted(weights, reverse=True) and weights[0] > 0 > weights[-1]
    assert len(weights) == 20
    argv = ["--label", "O", "--label", "I-CITY"]
    assert "-inf" in run(capsys, "inspect", "--model", model, *argv)[1]


# Errors


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["evaluate", "absent.tsv"], "absent.tsv: No such file"),
        (
            ["evaluate", "words.txt"],
            "no labels; the columns, separated by tabs or blanks, are: word",
        ),
        (["evaluate", "empty.txt"], "there are no tokens"),
        (["evaluate", "ragged.txt"], "ragged.txt: line 2 has 3 columns, expected 2"),
        (["evaluate", "one.txt"], "none can be held out"),
        (["evaluate", "."], "Is a directory"),
        (
            ["train", "full.gz", "--max-bytes", "99", "--model", "m"],
            "full.gz: there are more than max",
        ),
        (
            ["train", "damaged.gz", "--model", "m"],
            ": the compressed data are damaged: they break off",
        ),
        (["train", "words.txt", "--model", "m", "--columns", "label"], "besides 'label'"),
        (["train", "one.txt", "--model", "m", "--estimator", "crfs"], "there are CRF, HMM"),
        (["train", "one.txt", "--model", "m", "--set", "sgma=1"], "no parameter 'sgma'; it has"),
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

    monkeypatch.setattr("sklearn_crcrf.cli.evaluation.evaluate", fail)
    status, _, err = run(capsys, "evaluate", corpus[0])
    assert status == 1 and err.startswith("sklearn-crcrf: error: KeyError: ")
    assert err.count("\n") == 1
    monkeypatch.setenv("SKLEARN_CRCRF_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["evaluate", str(corpus[0])])


def test_without_skops_the_extra_is_named_before_any_work(
    corpus, model, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    status, out, err = run(capsys, "train", corpus[0], "--model", tmp_path / "m")
    assert (status, out) == (2, "")
    assert 'pip install "sklearn-crcrf[cli]"' in err and err.count("\n") == 1
    for argv in (["tag", corpus[0], "--model", model], ["evaluate", corpus[0]]):
        assert run(capsys, *argv)[0] == 0


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
