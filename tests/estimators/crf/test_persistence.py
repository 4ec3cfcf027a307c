"""A stored model is the same model."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from log_linear import all_weights
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from toy import make_corpus

from sklearn_crcrf import CRF, CRFsuiteCRF
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures
from sklearn_crcrf.model_files import load_model, save_model

X, y = make_corpus(n_sequences=20)
X, y = [*X, [], ["\ud800", "\0", ""]], [*y, [], ["A", "B", "C"]]
NEW = [*X, ["und", "new"]]
FOLLOW = {"A": list("ABCD")}

MODELS = [
    CRF(),
    CRF(features="observed", c1=0.1, boundaries=True),
    CRF(edge_columns=["token"], constraints=FOLLOW, min_freq=2),
    CRF(dtype="float32", class_weight="balanced", solver="sgd", random_state=0),
    CRF(validation_fraction=0.2, random_state=0, decoding="marginal"),
]


def with_joblib(crf, folder):
    return joblib.load(*joblib.dump(crf, folder / "model"))


def from_read_only_memory(crf, folder):
    return joblib.load(*joblib.dump(crf, folder / "model"), mmap_mode="r")


def with_pickle(crf, folder):
    return pickle.loads(pickle.dumps(crf))


def with_a_deep_copy(crf, folder):
    return copy.deepcopy(crf)


def with_a_model_file(crf, folder):
    save_model(crf, folder / "model")
    return load_model(folder / "model").estimator


ways = pytest.mark.parametrize(
    "store", [with_pickle, with_joblib, from_read_only_memory, with_a_deep_copy, with_a_model_file]
)


def assert_same_predictions(crf, expected, X):
    assert crf.predict(X).tolist() == expected.predict(X).tolist()
    assert np.array_equal(crf.confidence(X), expected.confidence(X))
    for p, q in zip(crf.predict_proba(X), expected.predict_proba(X), strict=True):
        assert np.array_equal(p, q)


@ways
@pytest.mark.parametrize("crf", MODELS, ids=repr)
def test_every_kind_of_model(crf, store, tmp_path):
    crf = clone(crf).fit(X, y)
    loaded = store(crf, tmp_path)
    assert loaded.get_params() == crf.get_params()
    assert np.array_equal(all_weights(loaded), all_weights(crf))
    assert loaded.classes_.dtype == crf.classes_.dtype
    assert loaded.loss_curve_ == crf.loss_curve_
    assert loaded.state_features_ == crf.state_features_
    assert_same_predictions(loaded, crf, NEW)


@ways
def test_a_loaded_model_learns_on(store, tmp_path):
    crf = CRF(random_state=0).partial_fit(X[:10], y[:10])
    loaded = store(crf, tmp_path).partial_fit(X[10:], y[10:])
    assert_same_predictions(loaded, crf.partial_fit(X[10:], y[10:]), NEW)
    assert loaded.fit(X, y).score(X, y) == crf.fit(X, y).score(X, y)


@ways
def test_labels_of_any_kind(store, tmp_path):
    labels = [[{"A": ("A", 1), "B": 2, "C": "C", "D": True}[label] for label in s] for s in y]
    crf = CRF().fit(X, labels)
    assert_same_predictions(store(crf, tmp_path), crf, NEW)


@ways
def test_tables_and_pipelines(store, tmp_path):
    rows, labels = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    for table in (rows, sp.csr_array(rows), rows.astype(np.float32)):
        crf = CRF(sample_unit="token").fit(table, labels)
        assert_same_predictions(store(crf, tmp_path), crf, table)
    pipeline = make_pipeline(TokenFeatures(["lower"]), SequenceVectorizer(), CRF()).fit(X, y)
    loaded = store(pipeline, tmp_path)
    assert loaded.predict(NEW).tolist() == pipeline.predict(NEW).tolist()


@ways
def test_the_crf_of_crfsuite(store, tmp_path):
    tokens = [[{"w": word} for word in x] for x in X]
    crf = CRFsuiteCRF(min_freq=2).fit(tokens, y)
    loaded = store(crf, tmp_path)
    assert loaded.predict(tokens).tolist() == crf.predict(tokens).tolist()
    assert loaded.state_features_ == crf.state_features_
    assert loaded.crf_.get_params() == crf.crf_.get_params()


def test_what_is_stored_does_not_depend_on_memory():
    assert pickle.dumps(CRF().fit(X, y)) == pickle.dumps(CRF().fit(X, y))


def test_unfitted_models():
    crf = pickle.loads(pickle.dumps(CRF(sigma=2.0)))
    assert crf.get_params() == CRF(sigma=2.0).get_params()
    assert not hasattr(crf, "classes_")
