"""A stored model is the same model: estimators beside EmpiricalCRF and CRF."""

import copy
import pickle
from functools import cache

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from toy import make_corpus

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    FeatureInduction,
    OpinionPoolCRF,
    SequenceVectorizer,
)
from sklearn_crcrf.estimators.opinion_pool import label_experts, random_experts
from sklearn_crcrf.model_files import load_model, save_model

X, y = make_corpus(n_sequences=20)
X, y = [*X, [], ["\ud800", "\0", ""]], [*y, [], ["A", "B", "C"]]
NEW = [*X, ["und", "new"]]

EXPERTS = [("crf", CRF()), ("hmm", HMM()), *label_experts(MEMM(), {"A": ["A"]})]
MODELS = [
    HMM(),
    MEMM(edge_columns=["token"], constraints={"A": list("ABCD")}),
    OpinionPoolCRF(EXPERTS, random_state=0),
    FeatureInduction(CRF(edge_columns=["token"]), min_gain=0.1),
    make_pipeline(
        SequenceVectorizer(), OpinionPoolCRF(random_experts(CRF(), 2, random_state=0), [1, 2])
    ),
    make_pipeline(SequenceVectorizer(), BoostedCRF(max_iter=3, random_state=0)),
]


def with_joblib(model, folder):
    return joblib.load(*joblib.dump(model, folder / "model"))


def from_read_only_memory(model, folder):
    return joblib.load(*joblib.dump(model, folder / "model"), mmap_mode="r")


def with_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def with_a_deep_copy(model, folder):
    return copy.deepcopy(model)


def with_a_model_file(model, folder):
    save_model(model, folder / "model")
    return load_model(folder / "model").estimator


@cache
def fitted(number):
    """One of the models, which no test changes."""
    return clone(MODELS[number]).fit(X, y)


@pytest.mark.parametrize(
    "store", [with_pickle, with_joblib, from_read_only_memory, with_a_deep_copy, with_a_model_file]
)
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_a_stored_model_is_the_same_model(number, store, tmp_path):
    model = fitted(number)
    loaded = store(model, tmp_path)
    assert loaded.predict(NEW).tolist() == model.predict(NEW).tolist()
    for p, q in zip(loaded.predict_proba(NEW), model.predict_proba(NEW), strict=True):
        assert np.array_equal(p, q)
    assert loaded.fit(X, y).predict(NEW).tolist() == model.predict(NEW).tolist()
