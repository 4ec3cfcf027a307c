"""Models of CRFsuite and CRF++, read from their text."""

import gzip
import io
import re
from itertools import product

import numpy as np
import pytest
import sklearn_crfsuite
from cases import for_each

from sklearn_crcrf import CRF, TemplateFeatures
from sklearn_crcrf.apps.cli import main
from sklearn_crcrf.datasets import make_addresses, read_conll, write_conll
from sklearn_crcrf.model_files.conversion import read_crfpp_model, read_crfsuite_dump

WORDS, y = make_addresses(60, random_state=0)
X = [
    [
        {"word": w, "-1:word": s[i - 1], "upper": w.isupper(), "n": len(w) / 10.0, "bias": 1.0}
        for i, w in enumerate(s)
    ]
    for s in WORDS
]


@pytest.fixture(scope="module")
def theirs():
    return sklearn_crfsuite.CRF(c2=0.1, max_iterations=30).fit(X, y)


@pytest.fixture(scope="module")
def dump(theirs, tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / "model.txt"
    theirs.tagger_.dump(str(path))
    return path


def test_a_dump_of_crfsuite_predicts_as_it_did(theirs, dump):
    crf = read_crfsuite_dump(dump)
    assert crf.predict(X).tolist() == [list(labels) for labels in theirs.predict(X)]
    assert sorted(crf.classes_) == sorted(theirs.classes_)
    for ours, other in zip(crf.predict_marginals(X), theirs.predict_marginals(X), strict=True):
        for token, expected in zip(ours, other, strict=True):
            assert token == pytest.approx(expected, abs=1e-4)


def test_a_dump_of_crfsuite_has_its_weights(theirs, dump):
    crf = read_crfsuite_dump(dump)
    # Weights have six decimals, so tiny ones become zero.
    expected = {k: w for k, w in theirs.state_features_.items() if abs(w) > 5e-7}
    assert crf.state_features_ == pytest.approx(expected, abs=1e-6)
    assert crf.transition_features_ == pytest.approx(theirs.transition_features_, abs=1e-6)
    again = read_crfsuite_dump(io.StringIO(dump.read_text()))
    assert again.state_features_ == crf.state_features_
    assert crf.crf_.converged_ and crf.crf_.get_params()["init"] == "auto"


@for_each(
    ("change", "message"),
    [
        (lambda t: t[: len(t) // 2], "the dump is not complete"),
        (lambda t: t.replace("  (1) ", "  (1) no ", 1), "is not a weight"),
        (lambda t: t.replace("      1: ", "      7: ", 1), "expected '1: name'"),
        (lambda t: "hello\n" + t, "line 1 is not in a section"),
        (lambda t: "", "no end of FILEHEADER"),
        (lambda t: re.sub(r"--> (\S+): \S+", r"--> \1: 1e999", t, count=1), "is not a weight"),
    ],
)
def test_damaged_dumps(dump, change, message):
    with pytest.raises(ValueError, match=message):
        read_crfsuite_dump(io.StringIO(change(dump.read_text())))


# A small model of CRF++ by hand: two labels, words and parts of speech.

LABELS = ["N", "D"]
STATE = {"U00:the": [-1.0, 2.0], "U00:dog": [0.5, 0.25], "U1/the/DT": [0.0, 0.75]}
EDGE = {"B": [[-0.5, 0.1], [1.5, -1.0]], "B01:NN": [[0.2, 0.3], [-0.7, 0.4]]}
FACTOR = 2.0


def crfpp_text():
    attributes, weights = [], []
    for name, own in [*EDGE.items(), *STATE.items()]:
        attributes.append(f"{len(weights)} {name}")
        weights += np.ravel(own).tolist()
    blocks = [
        ["version: 100", f"cost-factor: {FACTOR}", f"maxid: {len(weights)}", "xsize: 2"],
        LABELS,
        ["U00:%x[0,0]", "U1/%x[0,0]/%x[0,1]", "B", "B01:%x[0,1]"],
        attributes,
        [f"{w:.16f}" for w in weights],
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def crfpp_score(tokens, labels):
    ids, score = [LABELS.index(label) for label in labels], 0.0
    for t, (word, pos) in enumerate(tokens):
        for name in (f"U00:{word}", f"U1/{word}/{pos}"):
            score += STATE.get(name, [0.0, 0.0])[ids[t]]
        for name in ("B", f"B01:{pos}") if t else ():
            score += EDGE.get(name, np.zeros((2, 2)))[ids[t - 1]][ids[t]]
    return FACTOR * score


def test_a_text_of_crfpp_scores_as_its_formula():
    tagger = read_crfpp_model(io.StringIO(crfpp_text()))
    for tokens in [
        [("the", "DT"), ("dog", "NN"), ("the", "NN")],
        [("dog", "NN"), ("new", "DT"), ("dog", "NN")],
    ]:
        X = [[{"word": word, "pos": pos} for word, pos in tokens]]
        paths = list(product(LABELS, repeat=3))
        scores = np.array([crfpp_score(tokens, path) for path in paths])
        p = np.exp(scores - scores.max())
        p /= p.sum()
        rows = tagger[:-1].transform(X)
        found = {tuple(path): q for path, q in tagger["crf"].predict_k_best(rows, k=8)[0]}
        assert found == pytest.approx(dict(zip(paths, p, strict=True)))
        assert tuple(tagger.predict(X)[0]) == paths[int(np.argmax(p))]


def test_attributes_of_crfpp_are_those_of_template_features():
    tagger = read_crfpp_model(io.StringIO(crfpp_text()))
    assert isinstance(tagger[0], TemplateFeatures) and isinstance(tagger[-1], CRF)
    names = {name for name, _ in tagger["crf"].state_features_}
    made = tagger[0].transform([[{"w": "the", "p": "DT"}, {"w": "dog", "p": "NN"}]]).data
    assert made.names == ("U00", "U1/", "B01")
    assert names == {"U00=the", "U00=dog", "U1/=the/DT"}
    assert tagger["crf"].edge_coef_.shape == (1, 2, 2)


@for_each(
    ("change", "message"),
    [
        (lambda t: t[:100], "the model is not complete"),
        (lambda t: t.replace("maxid: 14", "maxid: 15"), "14 weights, but maxid is 15"),
        (lambda t: t.replace("0.7500000000000000", "x"), "is damaged"),
        (
            lambda t: t.replace("U00:the", "X00:the"),
            "no line of the template makes",
        ),
        (lambda t: t.replace("10 U00:dog", "13 U00:dog"), "has no weights"),
        (lambda t: t.replace("10 U00:dog", "10 U00:dog\n0 U00:cat"), "no weights of its own"),
        (lambda t: t.replace("factor: 2.0", "factor: inf"), "a weight is not finite"),
        (lambda t: t.replace("0.7500000000000000", "nan"), "a weight is not finite"),
        (lambda t: t.replace("0.7500000000000000", "7e307"), r"weights of up to 1.4e\+308 are too"),
        (lambda t: t.replace("maxid: 14", "maxid: 99999999999999"), "14 weights, but maxid is 99"),
        (lambda t: t.replace("N\nD\n", "N\nN\n"), "labels are repeated"),
    ],
)
def test_damaged_models_of_crfpp(change, message):
    with pytest.raises(ValueError, match=message):
        read_crfpp_model(io.StringIO(change(crfpp_text())))


@pytest.mark.parametrize("labels", [["N"], ["N", "D"]])
def test_a_model_of_crfpp_whose_attributes_have_no_weight(labels):
    n = len(labels)
    attributes = ["0 B", f"{n * n} U00:the", f"{n * n + n} B01:the"]
    weights = [f"{i / 4}" for i in range(n * n)] + ["0"] * (n + n * n)
    blocks = [
        ["version: 100", "cost-factor: 1", f"maxid: {len(weights)}", "xsize: 1"],
        labels,
        ["U00:%x[0,0]", "B01:%x[0,0]", "B"],
        attributes,
        weights,
    ]
    text = "\n\n".join("\n".join(block) for block in blocks) + "\n"
    tagger = read_crfpp_model(io.StringIO(text))
    assert tagger["crf"].edge_coef_.shape == (1, n, n)
    assert tagger.predict([["the", "the", "the"]]).tolist() == [[labels[-1]] * 3]


def test_compressed_and_too_large_texts(dump):
    for read, text in ((read_crfpp_model, crfpp_text()), (read_crfsuite_dump, dump.read_text())):
        data = gzip.compress(text.encode())
        read(io.BytesIO(data), max_bytes=len(text.encode()))
        with pytest.raises(ValueError, match="max_bytes"):
            read(io.BytesIO(data), max_bytes=len(text.encode()) - 1)
        with pytest.raises(ValueError, match=r"line \d+: the compressed data are damaged"):
            read(io.BytesIO(data[:-20]))


def test_one_of_many_labels_may_be_very_long():
    text = "FILEHEADER = {\n}\nLABELS = {\n" + "".join(
        f"  {i}: {label}\n" for i, label in enumerate(["long" * 10**5, *range(500)])
    )
    text += "}\nATTRIBUTES = {\n}\nTRANSITIONS = {\n}\nSTATE_FEATURES = {\n}\n"
    with pytest.raises(ValueError, match="the longest has 400000 characters"):
        read_crfsuite_dump(io.StringIO(text), max_bytes=2**24)


def test_the_labels_of_a_short_text_may_be_too_many():
    labels = "\n".join(map(str, range(30_000)))
    many = crfpp_text().replace("N\nD\n", f"{labels}\n")
    sections = ["FILEHEADER = {", "}", "LABELS = {"]
    sections += [f"      {i}: {i}" for i in range(30_000)]
    sections += ["}", "ATTRIBUTES = {", "}", "TRANSITIONS = {", "}", "STATE_FEATURES = {", "}"]
    for read, text in ((read_crfpp_model, many), (read_crfsuite_dump, "\n".join(sections))):
        with pytest.raises(ValueError, match="transitions of 30000 labels take 7200000000 bytes"):
            read(io.StringIO(text))


def test_convert_then_tag(dump, tmp_path, capsys):
    text, model, words = tmp_path / "model.txt", tmp_path / "model", tmp_path / "words.txt"
    text.write_text(crfpp_text())
    words.write_text("the DT\ndog NN\n")
    assert main(["convert", str(text), "--model", str(model)]) == 0
    assert main(["tag", str(words), "--model", str(model), "--columns", "word,pos"]) == 0
    assert capsys.readouterr() == ("the\tDT\tD\ndog\tNN\tN\n\n", "")
    assert main(["convert", str(dump), "--model", str(model), "--columns", "word,label"]) == 0
    assert main(["inspect", "--model", str(model), "--label", "B-CITY"]) == 0
    assert "word:" in capsys.readouterr().out
    assert main(["convert", str(dump), "--model", str(tmp_path / "other"), "--columns", "w,p"]) == 2
    assert "none of the columns makes an attribute of the model" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
    text.write_text(crfpp_text()[:100])
    assert main(["convert", str(text), "--model", str(tmp_path / "other")]) == 2
    err = capsys.readouterr().err
    assert "model.txt: the model is not complete" in err and err.count("\n") == 1


def test_a_dump_over_a_longer_one(dump):
    text = dump.read_text()
    crf = read_crfsuite_dump(
        io.StringIO(text + "\nthe --> B-CITY: 0.5\n  (0) word:x --> O: 1.0\n}\n")
    )
    assert crf.state_features_ == read_crfsuite_dump(dump).state_features_


def test_attributes_of_other_programs_have_equals_signs(theirs, dump, tmp_path, capsys):
    path, model, words = tmp_path / "dump.txt", tmp_path / "model", tmp_path / "words.txt"
    path.write_text(re.sub(r"(-1:word|\bword):", r"\1=", dump.read_text()))
    tokens = [[{"word": t["word"], "-1:word": t["-1:word"]} for t in x] for x in X]
    write_conll(words, tokens)
    assert main(["convert", str(path), "--model", str(model), "--columns", "word,-1:word"]) == 0
    err = capsys.readouterr().err
    assert re.search(
        r"no column of a file makes .*% of the attributes of the model: upper, n, bias", err
    )
    assert err.count("\n") == 1
    assert main(["tag", str(words), "--model", str(model)]) == 0
    found = read_conll(io.StringIO(capsys.readouterr().out), ["word", "-1:word", "label"])[1]
    assert found == [list(theirs.predict_single(x)) for x in tokens]
