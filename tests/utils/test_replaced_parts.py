"""Parts that are replaced by hand are checked before a kernel reads them."""

import copy
import gc
import pickle
import weakref
from operator import attrgetter

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from sklearn.base import clone
from toy import make_corpus

from sklearn_crcrf import (
    CRF,
    HMM,
    BoostedCRF,
    CRFsuiteCRF,
    EmpiricalCRF,
    OpinionPoolCRF,
    OutputCodeCRF,
    StructuredPerceptron,
    explain,
)
from sklearn_crcrf.base.classifier import BaseSequenceClassifier
from sklearn_crcrf.model_files import save_model
from sklearn_crcrf.utils import replaced_parts

X, y = make_corpus(n_sequences=8)
ROWS = [np.array([[len(w), w.count("a")] for w in x], dtype=float) for x in X]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def crf():
    return CRF(max_iter=2).fit(X, y)


@for_each(
    "use",
    [
        lambda crf: crf.predict(X),
        lambda crf: crf.predict_proba(X),
        lambda crf: crf.predict_k_best(X),
        lambda crf: crf.predict_spans(X),
        lambda crf: crf.confidence(X),
        lambda crf: crf.entropy(X),
        lambda crf: crf.sample(X),
        lambda crf: crf.score(X, y),
        lambda crf: crf.tagger(),
        lambda crf: crf.state_features_,
        lambda crf: crf.partial_fit(X, y),
        lambda crf: crf.set_params(warm_start=True).fit(X, y),
        lambda crf: explain(crf, X[0]),
        lambda crf: save_model(crf, "never-written"),
    ],
)
def test_every_use_of_weights_checks_them(crf, use):
    damaged = copy.copy(crf)
    damaged.coef_ = crf.coef_[:0]
    with pytest.raises(ValueError, match=r"CRF: coef_ has the shape \(0, 4\), but must have"):
        use(damaged)
    damaged.coef_ = crf.coef_
    damaged.predict(X)


@for_each(
    ("model", "of", "path", "value", "message"),
    [
        (HMM(), X, "begin_", np.zeros(0), "begin_ has the shape"),
        (HMM(), X, "transitions_", np.full((4, 4), np.nan), "transitions_ has values from nan"),
        (HMM(), X, "_weights.starts", np.array([0, 2**31 - 1]), "_weights.starts"),
        (HMM(), X, "_weights.coef.indices", np.array([7]), "coef.indices"),
        (HMM(), X, "_weights.starts", np.zeros(2, np.uint64), "starts must hold signed integers"),
        (CRF(max_iter=2), X, "coef_", None, "coef_ must be an array"),
        (CRF(c1=0.1, max_iter=2), X, "coef_.indptr", np.array([0, 10**9]), "coef_.indptr"),
        (CRF(max_iter=2), X, "classes_", np.array(["A", "B"]), "coef_ has the shape"),
        (EmpiricalCRF(), X, "model_.state", None, "model_.state.state must be"),
        (StructuredPerceptron(max_iter=1), X, "edge_coef_", np.zeros(1), "edge_coef_"),
        (BoostedCRF(max_iter=1), ROWS, "transitions_", np.zeros(1), "transitions_"),
        (OutputCodeCRF(max_iter=1, decoding="hamming"), X, "code_book_", np.eye(2), "code_book_"),
        (OpinionPoolCRF([("a", HMM())], [1.0]), X, "weights_", np.zeros(9), "weights_"),
    ],
)
def test_parts_of_all_models(model, of, path, value, message):
    model = clone(model).fit(of, y)
    model.predict(of)
    *outer, name = path.rsplit(".", 1)
    setattr(attrgetter(*outer)(model) if outer else model, name, value)
    with pytest.raises(ValueError, match=message):
        model.predict(of)
    assert model.fit(of, y).predict(of).tolist()


def test_estimators_within_others():
    pool = OpinionPoolCRF([("a", HMM()), ("b", CRF(max_iter=2))], [1.0, 1.0]).fit(X, y)
    pool.estimators_[1].coef_ = pool.estimators_[1].coef_[:0]
    with pytest.raises(ValueError, match="CRF: coef_ has the shape"):
        pool.predict(X)
    wrapper = CRFsuiteCRF(max_iterations=2).fit(X, y)
    wrapper.crf_.coef_ = wrapper.crf_.coef_[:0]
    with pytest.raises(ValueError, match="coef_ has the shape"):
        wrapper.predict(X)


@for_each("learn", ["partial_fit", "forget"])
def test_counts_are_checked_before_more_are_added(learn):
    hmm = HMM().fit(X, y)
    hmm._counter = hmm._counter._replace(encoder=None)
    with pytest.raises(ValueError, match="encoder_ must be an Encoder"):
        getattr(hmm, learn)(X, y)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_another_shape_in_place():
    crf = CRF(max_iter=2).fit(X, y)
    crf.coef_.shape = crf.coef_.shape[::-1]
    with pytest.raises(ValueError, match="coef_ has the shape"):
        crf.predict(X)


def test_what_fits_is_taken():
    crf = CRF(max_iter=2).fit(X, y)
    crf.coef_ = sp.csr_array(crf.coef_)
    assert crf.predict(X).tolist() == crf.fit(X, y).predict(X).tolist()
    crf.coef_ *= 0.5
    crf.classes_[0] = "Z"
    assert "Z" in {label for labels in crf.predict(X) for label in labels}


def test_indices_are_read_only():
    crf = CRF(c1=0.1, max_iter=2).fit(X, y)
    for model in (crf, pickle.loads(pickle.dumps(crf))):
        with pytest.raises(ValueError, match="read-only"):
            model.coef_.indices[:] = 10**6
        model.coef_.data[:] *= 2
        model.predict(X)


def test_nothing_is_checked_twice(monkeypatch):
    checked = []
    monkeypatch.setattr(replaced_parts, "check_sound", checked.append)
    hmm = HMM().partial_fit(X, y).partial_fit(X, y)
    for model in (hmm, EmpiricalCRF().fit(X, y), OutputCodeCRF(max_iter=1).fit(X, y)):
        for _ in range(3):
            model.predict(X)
            model.predict_proba(X)
        pickle.loads(pickle.dumps(model)).predict(X)
        assert not [part for part in checked if isinstance(part, BaseSequenceClassifier)]


def test_estimators_are_not_kept():
    crf = CRF(max_iter=1).fit(X, y)
    crf.predict(X)
    kept = weakref.ref(crf)
    del crf
    gc.collect()
    assert kept() is None
