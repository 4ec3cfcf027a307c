"""Tests of which column transformers take for the tokens."""

import pickle
import warnings
from itertools import permutations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.base.unwrap import tagger_of
from sklearn_crcrf.data import symbols
from sklearn_crcrf.estimators.semi_markov import SegmentFeatures, SegmentGazetteer
from sklearn_crcrf.feature_extraction import (
    FoundLabels,
    Gazetteer,
    TokenFeatures,
    Window,
    WordClusters,
    WordVectors,
    text_features,
)
from sklearn_crcrf.feature_extraction.word_column import column_number
from sklearn_crcrf.model_files import load_model, save_model

TEXT = "the dog walks home a cat sleeps well birds sing now rivers run deep stones fall"
WORDS = TEXT.split()
SENTENCES = [[WORDS[(5 * i + 3 * t + i * t) % 16] for t in range(6)] for i in range(20)]
LABELS = [["B-X" if word < "h" else "O" for word in sentence] for sentence in SENTENCES]
TRANSFORMERS = [
    TokenFeatures(["suffix2"]),
    Gazetteer({"a": ["dog", "cat"]}),
    WordClusters({"dog": "01", "cat": "11"}, None),
    WordVectors({"dog": [1.0], "cat": [2.0]}),
    FoundLabels(EmpiricalCRF(), cv=2),
    SegmentGazetteer({"a": ["dog", "cat"]}),
    SegmentFeatures(["string", "around"]),
]


def as_dicts(keys):
    values = {"bias": lambda _: 1.0, "tag": lambda w: w[0] < "h", "word": lambda w: w}
    return [[{k: values[k](word) for k in keys} for word in sentence] for sentence in SENTENCES]


def made(transformer, X):
    data = transformer.transform(X).data
    if hasattr(data, "names"):
        return {n: data.column(n).tolist() for n in data.names if n not in ("bias", "tag", "word")}
    return data.tolist() if hasattr(data, "tolist") else None


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_the_order_of_keys_does_not_matter(transformer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = as_dicts(["word", "tag", "bias"])
        wanted = transformer.set_params(column="word").fit(X, LABELS)
        wanted = made(wanted, as_dicts(["bias", "tag", "word"]))
        transformer.set_params(column=None)
        for keys in permutations(["bias", "tag", "word"]):
            X = as_dicts(keys)
            fitted = transformer.fit(X, LABELS)
            assert fitted.column_ == "word"
            assert made(fitted, X) == wanted
            assert made(pickle.loads(pickle.dumps(fitted)), X) == made(fitted, X)


def test_segments_are_the_same_for_every_order():
    found = []
    for keys in permutations(["bias", "tag", "word"]):
        for transformer in (SegmentGazetteer({"a": ["dog"]}), SegmentFeatures(["string"])):
            X = transformer.fit_transform(as_dicts(keys), LABELS)
            found.append((type(transformer), X.names.tolist(), X.spans.last_tokens().tolist()))
    assert all(found[i] == found[i % 2] for i in range(len(found)))


def test_segments_are_found_in_X_that_is_read_once(monkeypatch):
    X, gazetteer = as_dicts(["bias", "tag", "word"]), SegmentGazetteer({"a": ["dog"]})
    expected = gazetteer.fit(X).transform(X)
    n_read = []
    read = symbols.number_items
    monkeypatch.setattr(symbols, "number_items", lambda *args: n_read.append(1) or read(*args))
    found = gazetteer.fit_transform(X)
    assert n_read == [1]
    assert gazetteer.column_ == "word"
    assert found.names.tolist() == expected.names.tolist()
    np.testing.assert_array_equal(found.spans.last_tokens(), expected.spans.last_tokens())


@pytest.mark.parametrize("kind", ["names", "chunks", "tags"])
def test_pipelines_and_their_taggers(kind, tmp_path):
    models = []
    for keys in permutations(["bias", "tag", "word"]):
        X = as_dicts(keys)
        model = text_features(kind).fit(X)
        assert [step.column_ for _, step in model.steps[:2]] == ["word", "word"]
        models.append({*model.get_feature_names_out().tolist()})
    assert all(names == models[0] for names in models)
    assert "word[-1]|word[0]" in {name.partition("=")[0] for name in models[0]}
    X = as_dicts(["bias", "tag", "word"])
    model = make_pipeline(text_features(kind), CRF(max_iter=20, tol=1e-2)).fit(X, LABELS)
    save_model(model, tmp_path / "model.crcrf")
    stored = load_model(tmp_path / "model.crcrf")
    tagger = tagger_of(model)
    expected = model.predict(X[:5]).tolist()
    assert tagger.many(X[:5]) == expected
    assert stored.estimator.predict(X[:5]).tolist() == expected


def test_close_choices_warn_and_name_column():
    pairs = [[{"b": word, "a": word[::-1]} for word in sentence] for sentence in SENTENCES]
    with pytest.warns(UserWarning, match=r"TokenFeatures: the column 'a' .*'b'.*column='a'"):
        fitted = TokenFeatures(["suffix2"]).fit(pairs)
    assert fitted.column_ == "a"


def test_without_fit_only_the_first_column_or_none():
    with pytest.raises(ValueError, match="fit it to the training data, or choose with column="):
        WordClusters({"dog": "1"}).transform(as_dicts(["bias", "word"]))
    with pytest.raises(ValueError, match=r"text_features\(columns=\['word', ...\]\)"):
        Window("tags").transform(as_dicts(["bias", "word"]))
    assert WordClusters({"dog": "1"}).transform(as_dicts(["word", "bias"])).data is not None


def test_a_column_found_in_fit_must_be_there():
    fitted = TokenFeatures(["suffix2"]).fit(as_dicts(["bias", "word"]))
    with pytest.raises(ValueError, match="no column 'word'"):
        fitted.transform([[{"bias": 1.0}]])
    assert fitted.transform([["dog"]]).data.column("suffix2").tolist() == ["og"]
    assert fitted.fit(as_dicts(["tag"])).column_ == "tag"


def test_windows_are_fitted_again_to_other_columns():
    window = Window("tags").fit(as_dicts(["bias", "word"]))
    window.fit([[{"form": "a"}, {"form": "b"}]])
    assert window.column_ == "form"
    assert Window([-1]).fit(as_dicts(["bias", "word"])).column_ is None


def test_numbers_of_columns():
    assert column_number(None, ["a", "b"]) == 0
    assert column_number("b", ["a", "b"]) == 1
