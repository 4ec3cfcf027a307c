"""Binary models of CRFsuite, read and written."""

import gzip
import io
import random
import struct
from itertools import product

import numpy as np
import pycrfsuite
import pytest
import sklearn_crfsuite
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from sklearn_crcrf import CRF, HMM, MEMM, CRFsuiteCRF, MaxMarginCRF, StructuredPerceptron
from sklearn_crcrf.apps.cli import main
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.model_files.conversion import (
    read_crfsuite_dump,
    read_crfsuite_model,
    write_crfsuite_model,
)
from sklearn_crcrf.serving.crfsuite.binary_model import (
    CRFsuiteModel,
    crfsuite_bytes,
    parse_crfsuite_model,
)

WORDS, y = make_addresses(20, random_state=0)
X = [
    [
        {"word": w, "-1:word": s[i - 1], "é": w.isupper(), "n": len(w) / 10.0}
        for i, w in enumerate(s)
    ]
    for s in WORDS
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("theirs") / "model.crfsuite"
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c2": 0.1, "max_iterations": 15})
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.train(str(path))
    return path


@pytest.fixture(scope="module")
def content(model):
    return model.read_bytes()


def opened(path):
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def assert_same(crf, tagger, sentences):
    for tokens in sentences:
        labels = crf.predict_single(tokens)
        assert labels == tagger.tag(tokens)
        tagger.set(tokens)
        ours = crf.tagger_
        ours.set(tokens)
        assert ours.probability(labels) == pytest.approx(tagger.probability(labels), abs=1e-9)
        for t, marginals in enumerate(crf.predict_marginals_single(tokens)):
            assert marginals == pytest.approx(
                {label: tagger.marginal(label, t) for label in tagger.labels()}, abs=1e-9
            )


def test_a_model_of_crfsuite_predicts_as_it_did(model, content):
    crf, tagger = read_crfsuite_model(model), opened(model)
    assert_same(crf, tagger, X)
    info = tagger.info()  # with six decimals
    assert crf.state_features_ == pytest.approx(info.state_features, abs=1e-6)
    assert crf.transition_features_ == pytest.approx(info.transitions, abs=1e-6)
    assert crf.tagger_.info().transitions == crf.transition_features_
    assert sorted(crf.tagger_.info().attributes) == sorted(info.attributes)
    ours = crf.tagger_
    ours.set(X[0])
    with pytest.raises(ValueError, match=r"yseq has 1 labels, but the sequence \d+ tokens"):
        ours.probability(["Q"])
    with pytest.raises(RuntimeError, match=r"'Q' is no label of the model, which has \["):
        ours.probability(["Q"] * len(X[0]))
    for file in (io.BytesIO(content), io.BytesIO(gzip.compress(content))):
        assert read_crfsuite_model(file).state_features_ == crf.state_features_


def test_files_are_written_as_crfsuite_writes_them(content):
    parsed = parse_crfsuite_model(content)
    # It numbers attributes and labels in the order of their occurrence, which is kept.
    assert crfsuite_bytes(parsed) == content


@pytest.mark.parametrize("make", [CRFsuiteCRF, CRF, MaxMarginCRF, StructuredPerceptron])
def test_python_crfsuite_reads_what_we_write(make, tmp_path):
    crf, path = make(), tmp_path / "m"
    crf.fit(X, y)
    write_crfsuite_model(crf, path)
    tagger = opened(path)
    if make is CRFsuiteCRF:
        assert_same(crf, tagger, [*X, [{"word": "unseen"}, {}]])
        return
    strings = [[[f"word={t['word']}", f"-1:word={t['-1:word']}"] for t in tokens] for tokens in X]
    # Numbers have the key as their name.
    rest = [[{k: float(t[k]) for k in ("é", "n")} for t in tokens] for tokens in X]
    both = [
        [dict.fromkeys(a, 1.0) | b for a, b in zip(*pair, strict=True)]
        for pair in zip(strings, rest, strict=True)
    ]
    assert [tagger.tag(tokens) for tokens in both] == [list(labels) for labels in crf.predict(X)]


def test_models_without_attributes(tmp_path):
    crf = CRFsuiteCRF(c1=1e6).fit(X, y)
    assert crf.state_features_ == {}
    write_crfsuite_model(crf, tmp_path / "m")
    assert len(opened(tmp_path / "m").tag(X[0])) == len(X[0])
    again = read_crfsuite_model(tmp_path / "m")
    assert (again.attributes_, sorted(again.classes_)) == ([], sorted(crf.classes_))


def test_the_parameter_model_filename(tmp_path):
    path = tmp_path / "model.crfsuite"
    with pytest.raises(NotFittedError):
        CRFsuiteCRF(model_filename=path).predict(X)
    crf = CRFsuiteCRF(model_filename=path).fit(X, y)
    assert_same(crf, opened(path), X[:3])
    other = CRFsuiteCRF(model_filename=str(path))
    assert other.classes_.tolist() == crf.classes_.tolist()
    assert other.predict(X) == crf.predict(X)
    path.write_bytes(b"lCRF")
    with pytest.raises(ValueError, match="header is cut off"):
        CRFsuiteCRF(model_filename=path).tagger_  # noqa: B018
    with pytest.raises(FileNotFoundError):
        CRFsuiteCRF(model_filename=tmp_path / "no" / "folder").fit(X, y)
    with pytest.raises(ValueError, match="labels that are not strings, such as 0"):
        CRFsuiteCRF(model_filename=path, max_iterations=1).fit([[{"a": 1}]], [[0]])


@pytest.mark.parametrize(
    ("crf", "message"),
    [
        (CRF(boundaries=True), "first and last labels"),
        (CRF(edge_columns=["word"]), "transitions that depend on attributes"),
        (CRF(constraints={"B-CITY": ["I-CITY", "O"]}), "constraints"),
    ],
)
def test_weights_that_a_model_cannot_hold(crf, message, tmp_path):
    crf.fit(X[:2], y[:2])
    with pytest.raises(ValueError, match=f"^a model of CRFsuite cannot hold .*{message}"):
        write_crfsuite_model(crf, tmp_path / "m")
    with pytest.raises(TypeError, match="cannot hold HMM; it can hold CRFsuiteCRF, CRF, Max"):
        write_crfsuite_model(HMM(), tmp_path / "m")
    with pytest.raises(TypeError, match="cannot hold MEMM"):
        write_crfsuite_model(MEMM(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def changed(data, at, *values):
    """The data with other bytes from a place on."""
    values = b"".join(struct.pack("<I", v) if isinstance(v, int) else v for v in values)
    return data[:at] + values + data[at + len(values) :]


def place(data, field):
    """The offset that the header has in a field."""
    return struct.unpack_from("<I", data, field)[0]


FEATURES, LABELS, ATTRIBUTES = 28, 32, 36


@for_each(
    ("change", "message"),
    [
        (lambda d: b"", "not a binary model of CRFsuite"),
        (lambda d: b"hello", "not a binary model of CRFsuite"),
        (lambda d: d[:40], "its header is cut off"),
        (lambda d: d[:-1], r"not complete: it has \d+ of \d+ bytes"),
        (lambda d: changed(d, 8, b"SOMC"), "the model is of kind SOMC, version 100; only"),
        (lambda d: changed(d, 12, 7), "version 7"),
        (lambda d: changed(d, 4, 100), "labels of the model are damaged"),
        (lambda d: changed(d, LABELS, 2**32 - 1), "labels of the model are damaged"),
        (lambda d: changed(d, 20, 0), "the model has no labels"),
        (lambda d: changed(d, 20, 2**32 - 1), "labels of the model are damaged"),
        (lambda d: changed(d, 24, 1), "attribute that has no name"),
        (lambda d: changed(d, place(d, ATTRIBUTES) + 2072 + 8, b"\xff"), "are not in UTF-8"),
        (lambda d: changed(d, place(d, ATTRIBUTES) + 2072, 3), "attributes of the model are dam"),
        (lambda d: changed(d, place(d, FEATURES) + 8, 2**31), "features of the model are damaged"),
        (lambda d: changed(d, place(d, FEATURES) + 12, 2), "features of the model are damaged"),
        (lambda d: changed(d, place(d, FEATURES) + 24, b"\xff" * 8), "weight .* is not finite"),
        (lambda d: changed(d, place(d, FEATURES) + 24, struct.pack("<d", 1e300)), "are too large"),
        (lambda d: changed(d, place(d, FEATURES) + 20, 2**30), "that has no name"),
    ],
)
def test_damaged_models(content, change, message):
    with pytest.raises(ValueError, match=message):
        read_crfsuite_model(io.BytesIO(change(content)))


SMALL = crfsuite_bytes(
    CRFsuiteModel(
        ["N", "D"],
        ["the", "n"],
        (np.array([0.5, 1.0, -2.0]), (np.array([0, 0, 1]), np.array([0, 1, 1]))),
        (np.array([1.0, 1.5]), (np.array([0, 1]), np.array([1, 0]))),
    )
)


@settings(max_examples=100)
@given(st.data())
def test_any_bytes_are_read_or_a_value_error(data):
    content = SMALL
    places = st.integers(0, len(content) - 4)
    values = st.one_of(
        st.binary(min_size=1, max_size=4), st.integers(0, 40).map(lambda v: bytes([v]))
    )
    for at, value in data.draw(st.lists(st.tuples(places, values), min_size=1, max_size=4)):
        content = changed(content, at, value)
    header = data.draw(
        st.lists(st.tuples(st.integers(1, 11), st.integers(0, 2**32 - 1)), max_size=1)
    )
    for field, value in header:
        content = changed(content, 4 * field, value)
    content = content[: data.draw(st.one_of(st.just(len(content)), places))]
    try:
        crf = read_crfsuite_model(io.BytesIO(content), max_bytes=10**7)
    except ValueError:
        return
    (marginals,) = crf.predict_marginals_single([{"n": 1.0}])
    assert np.isfinite([*marginals.values()]).all()


def test_what_is_not_a_binary_model_is_named(model, content, tmp_path, capsys):
    text = tmp_path / "dump.txt"
    opened(model).dump(str(text))
    with pytest.raises(ValueError, match="output of dump, which read_crfsuite_dump reads"):
        read_crfsuite_model(text)
    with pytest.raises(ValueError, match="opened in binary mode"):
        read_crfsuite_model(io.StringIO("text"))
    with pytest.raises(ValueError, match=r"binary model .*, which read_crfsuite_model reads"):
        read_crfsuite_dump(io.BytesIO(content))
    for start, message in ((b"#mdl#2#5", "a model of Wapiti"), (b"d\0\0\0", "not complete")):
        text.write_bytes(start)
        assert main(["convert", str(text), "--model", str(tmp_path / "m")]) == 2
        assert message in capsys.readouterr().err
    assert main(["convert", str(model), "--model", str(tmp_path / "m"), "--columns", "word,n"]) == 0
    assert main(["inspect", "--model", str(tmp_path / "m"), "--label", "B-CITY"]) == 0


def test_keys_and_values_are_joined_as_the_model_was_trained(tmp_path):
    """Most attributes contain "=", but python-crfsuite joins dicts by a colon."""
    rng = np.random.default_rng(0)
    tokens = [{f"word={i}": True, f"url={i % 20}": 1.0, "shape": "XY"[i % 2]} for i in range(60)]
    X = [[tokens[i] for i in rng.integers(60, size=5)] for _ in range(40)]
    y = [["AB"[token["shape"] == "Y"] for token in sequence] for sequence in X]
    path = tmp_path / "model.crfsuite"
    theirs = sklearn_crfsuite.CRF(model_filename=str(path)).fit(X, y)
    X_new = [[{"shape": "Y"}, {"shape": "X"}], [{"shape": "X"}]]
    expected = [list(labels) for labels in theirs.predict(X_new)]
    assert read_crfsuite_model(path, separator=":").predict(X_new) == expected
    with pytest.warns(UserWarning, match="'word=.*', but others like 'shape:.*; give sep"):
        assert read_crfsuite_model(path).vectorizer_.separator == "="
    theirs.tagger_.dump(str(tmp_path / "dump"))
    assert read_crfsuite_dump(tmp_path / "dump", separator=":").predict(X_new) == expected
    for name in (path, tmp_path / "dump"):
        read = read_crfsuite_model if name == path else read_crfsuite_dump
        with pytest.raises(ValueError, match="separator must be ':', '=' or None, got '-'"):
            read(name, separator="-")


@pytest.mark.parametrize("seed", range(3))
def test_odd_names_and_values(tmp_path, seed):
    rng = random.Random(seed)
    names = ["w", "w:1", "a\\b", "a\\:b", "é", "", "=", "k k", "tab\tkey", ":", "日本", "l\n"]
    values = ["a", "b:c", "\\", "", "ß", "=", True, False, 0, -1, -0.5, 2.5, np.float32(0.25)]
    labels = ["A", "", "New York", "B:I", "é", "x\ty"]

    def token():
        kinds = (
            lambda: [rng.choice(names) for _ in range(rng.randint(0, 4))],
            lambda: {rng.choice(names): rng.choice(values) for _ in range(rng.randint(0, 4))},
            lambda: {rng.choice(names): ["a", "b:c"], "deep": {rng.choice(names): "x"}},
        )
        return rng.choice(kinds)()

    X, X_new = ([[token() for _ in range(rng.randint(0, 5))] for _ in range(40)] for _ in range(2))
    trainer = pycrfsuite.Trainer(params={"c2": 0.1}, verbose=False)
    for tokens in X:
        trainer.append(tokens, rng.choices(labels, k=len(tokens)))
    path = str(tmp_path / "model.crfsuite")
    trainer.train(path)
    theirs = pycrfsuite.Tagger()
    theirs.open(path)
    ours = read_crfsuite_model(path, separator=":").tagger_
    for tokens in filter(len, X_new):
        theirs.set(tokens)
        ours.set(tokens)
        # Labellings of the same probability, as of one unknown token, may differ.
        assert theirs.probability(ours.tag()) == pytest.approx(theirs.probability(theirs.tag()))
        theirs.set(tokens)  # its marginals after a probability are wrong
        for position, label in product(range(len(tokens)), theirs.labels()):
            expected = theirs.marginal(label, position)
            assert ours.marginal(label, position) == pytest.approx(expected, abs=1e-9)
