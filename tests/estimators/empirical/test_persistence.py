"""A stored model is the same model."""

import copy
import pickle
from functools import cache

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.model_files import load_model, save_model

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], [], ["Dogs", "sleep", "\ud800", "\0", ""]]
y = [["D", "N", "V"], ["D", "N", "V"], [], ["N", "V", "X", "X", "X"]]
NEW = [["the", "cat"], [], ["a", "zebra", "walks"]]

MODELS = [
    EmpiricalCRF(spelling=spelling, zeros=zeros, order=order)
    for spelling in ("product", "joint", "mean", "maxent")
    for zeros in ("smoothed", "floored", "exact")
    for order in (1, 2)
]


def new_file(folder):
    return folder / str(len(list(folder.iterdir())))


def with_joblib(crf, folder):
    return joblib.load(*joblib.dump(crf, new_file(folder)))


def with_compression(crf, folder):
    return joblib.load(*joblib.dump(crf, new_file(folder), compress=3))


def from_read_only_memory(crf, folder):
    return joblib.load(*joblib.dump(crf, new_file(folder)), mmap_mode="r")


def with_pickle(crf, folder):
    return pickle.loads(pickle.dumps(crf))


def with_the_oldest_pickle(crf, folder):
    return pickle.loads(pickle.dumps(crf, protocol=2))


def with_a_deep_copy(crf, folder):
    return copy.deepcopy(crf)


def with_a_model_file(crf, folder):
    save_model(crf, folder / "model")
    return load_model(folder / "model").estimator


WAYS = [
    with_pickle,
    with_the_oldest_pickle,
    with_joblib,
    with_compression,
    from_read_only_memory,
    with_a_deep_copy,
    with_a_model_file,
]
ways = pytest.mark.parametrize("store", WAYS)


def assert_same_predictions(crf, expected, X):
    assert crf.predict(X).tolist() == expected.predict(X).tolist()
    assert np.array_equal(crf.confidence(X), expected.confidence(X))
    assert crf.known_tokens(X).tolist() == expected.known_tokens(X).tolist()
    if crf.confidence(X).all():
        for p, q in zip(crf.predict_proba(X), expected.predict_proba(X), strict=True):
            assert np.array_equal(p, q)


def assert_same_model(crf, expected):
    assert crf.get_params() == expected.get_params()
    assert crf.counts_ == expected.counts_
    assert crf.exponents_ == expected.exponents_
    assert crf.classes_.tolist() == expected.classes_.tolist()
    assert crf.classes_.dtype == expected.classes_.dtype
    assert (crf.coef_ != expected.coef_).nnz == 0
    assert np.array_equal(crf.transitions_, expected.transitions_)


@pytest.fixture(scope="module")
def fitted():
    """The model of an estimator, which nobody changes."""
    return cache(lambda crf: clone(crf).fit(X, y))


# Every model in one way, and every way with models of each spelling, zeros and order.
@pytest.mark.parametrize(
    ("crf", "store"),
    [(crf, way) for crf in MODELS for way in WAYS if way is with_pickle or crf in MODELS[::5]],
)
def test_every_kind_of_model(crf, store, fitted, tmp_path):
    crf = fitted(crf)
    loaded = store(crf, tmp_path)
    assert_same_model(loaded, crf)
    assert_same_predictions(loaded, crf, [*X, *NEW])
    assert store(loaded, tmp_path).predict(X).tolist() == crf.predict(X).tolist()


@ways
def test_a_loaded_model_learns_on(store, tmp_path):
    crf = EmpiricalCRF().partial_fit(X[:2], y[:2], classes=["D", "N", "V", "X"])
    loaded = store(crf, tmp_path)
    assert loaded.partial_fit(X[2:], y[2:]).counts_ == crf.partial_fit(X[2:], y[2:]).counts_
    assert_same_predictions(loaded, crf, NEW)
    loaded.forget(X[:1], y[:1])
    loaded.fit_exponents(X[1:], y[1:])
    assert_same_predictions(loaded, crf.forget(X[:1], y[:1]).fit_exponents(X[1:], y[1:]), NEW)


@ways
def test_labels_of_any_kind(store, tmp_path):
    translated = [[{"D": ("D", 1), "N": 2, "V": "V", "X": True}[label] for label in s] for s in y]
    crf = EmpiricalCRF(exponents="fit").fit(X, translated)
    loaded = store(crf, tmp_path)
    assert_same_model(loaded, crf)
    assert_same_predictions(loaded, crf, X)
    assert loaded.partial_fit(X, translated).counts_ == crf.partial_fit(X, translated).counts_


@ways
def test_tables(store, tmp_path):
    rng = np.random.default_rng(0)
    numbers, labels = rng.uniform(size=(30, 2)), rng.integers(2, size=30)
    for crf, table in [
        (EmpiricalCRF(sample_unit="token"), numbers),
        (EmpiricalCRF(binning=KBinsDiscretizer(3, encode="ordinal")), numbers),
        (EmpiricalCRF(), sp.csr_array(numbers * (numbers > 0.5))),
    ]:
        crf.fit(table, labels)
        assert_same_predictions(store(crf, tmp_path), crf, table)


@ways
def test_pipelines(store, tmp_path):
    union = FeatureUnion([("own", TokenFeatures(["lower", "suffix2"])), ("near", Window([-1]))])
    for pipeline in (
        make_pipeline(union, EmpiricalCRF(observation="lower")),
        make_pipeline(union, SequenceVectorizer(), EmpiricalCRF()),
    ):
        pipeline = clone(pipeline).fit(X, y)
        loaded = store(pipeline, tmp_path)
        assert loaded.predict(NEW).tolist() == pipeline.predict(NEW).tolist()


@pytest.mark.parametrize("store", [way for way in WAYS if way is not with_a_model_file])
def test_sequence_arrays(store, tmp_path):
    some = [np.array(["a", "b"]), np.array(["a", 1], dtype=object), np.eye(2)]
    for data in (*some, sp.csr_array(np.eye(2))):
        array = SequenceArray(data, [0, 2, 2])
        assert store(array, tmp_path) == array


@pytest.mark.parametrize("crf", MODELS[:6], ids=repr)
def test_what_is_stored_does_not_depend_on_memory(crf, tmp_path):
    one, two = (clone(crf).fit(X, y) for _ in range(2))
    assert pickle.dumps(one) == pickle.dumps(two)


def test_unfitted_models():
    crf = pickle.loads(pickle.dumps(EmpiricalCRF.ecrn(mu_oov=2.0)))
    assert crf.get_params() == EmpiricalCRF.ecrn(mu_oov=2.0).get_params()
    assert not hasattr(crf, "classes_")
