"""Tests of classifiers whose probabilities are calibrated."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from sklearn_crcrf import (
    CRF,
    CalibratedSequenceClassifier,
    EmpiricalCRF,
    SegmentF1Classifier,
    SequenceVectorizer,
    StructuredPerceptron,
    as_sequences,
)
from sklearn_crcrf.estimators.calibration.base import HeldOutBatch
from sklearn_crcrf.estimators.calibration.estimator import temperature_of
from sklearn_crcrf.metrics import token_log_loss
from sklearn_crcrf.structures import Chain, Scores

OVERFITTED = CRF(sigma=10.0)


@pytest.fixture(scope="module")
def corpus():
    """Words that seven of ten times tell their label, each with a number that tells nothing."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for length in rng.integers(3, 9, 90):
        labels = np.cumsum(rng.random(length) < 0.3) % 3
        words = np.where(rng.random(length) < 0.7, labels, rng.integers(0, 3, length))
        number = rng.integers(0, 40, length)
        X.append([{"w": f"{w}", "n": f"{n}"} for w, n in zip(words, number, strict=True)])
        y.append([f"L{label}" for label in labels])
    return X, y


@pytest.fixture(scope="module")
def calibrated(corpus):
    X, y = corpus
    return CalibratedSequenceClassifier(OVERFITTED, cv=2).fit(X[:60], y[:60])


def test_probabilities_of_new_sequences_get_better(corpus, calibrated):
    X, y = corpus
    before, after = (
        token_log_loss(y[60:], model.predict_proba(X[60:]), model.classes_)
        for model in (calibrated.estimator_, calibrated)
    )
    assert calibrated.temperature_ > 1.5
    assert after < before


def test_probabilities_are_those_of_divided_weights(corpus, calibrated):
    X, _ = corpus
    crf = clone(OVERFITTED)
    vars(crf).update(vars(calibrated.estimator_))
    for name in ("coef_", "transitions_", "begin_", "end_"):
        setattr(crf, name, getattr(crf, name) / calibrated.temperature_)
    assert calibrated.predict(X).tolist() == crf.predict(X).tolist()
    np.testing.assert_allclose(calibrated.confidence(X), crf.confidence(X))
    np.testing.assert_allclose(calibrated.entropy(X), crf.entropy(X))
    np.testing.assert_allclose(
        np.concatenate(calibrated.predict_proba(X)), np.concatenate(crf.predict_proba(X))
    )


def known(y):
    """Tokens, labels and weights if all labels are known."""
    return np.arange(len(y)), y, np.ones(len(y))


@pytest.mark.parametrize("temperature", [0.3, 4.0])
def test_the_temperature_of_labels_drawn_from_a_model_is_found(temperature):
    rng = np.random.default_rng(0)
    chain = Chain(np.arange(0, 8001, 4))
    scores = Scores.of(rng.normal(0, 1.5, (8000, 3)), rng.normal(0, 1.5, (3, 3)))
    y = chain.sample(scores, 1, rng)[0]
    batch = HeldOutBatch(chain, scores.times(temperature), *known(y), np.arange(3))
    assert temperature_of([batch]) == pytest.approx(temperature, rel=0.06)


def test_impossible_labels_do_not_decide():
    rng = np.random.default_rng(0)
    chain, state = Chain(np.arange(0, 401, 2)), rng.normal(0, 2.0, (400, 2))
    y = (rng.random(400) > 1 / (1 + np.exp(-np.diff(state)[:, 0] / 3))).astype(int)
    batch = HeldOutBatch(chain, Scores.of(state, np.zeros((2, 2))), *known(1 - y), np.arange(2))
    impossible = np.where(np.eye(2)[y[:1]] == 0, -np.inf, state[:1])
    first = batch._replace(scores=batch.scores.with_state(np.vstack([impossible, state[1:]])))
    first = first._replace(y=np.append(1 - y[:1], first.y[1:]), weight=np.ones(400))
    others = first._replace(weight=np.append(0.0, np.ones(399)))
    assert temperature_of([first]) == pytest.approx(temperature_of([others]), rel=1e-2)


def test_lists_arrays_and_frames_give_the_same(corpus, calibrated):
    X, y = corpus[0][:60], corpus[1][:60]
    frame = pd.concat({i: pd.DataFrame(x) for i, x in enumerate(X)})
    labels = np.concatenate(y)
    for given, gold in [(as_sequences(X).X, as_sequences(y).X), (frame, labels)]:
        other = clone(calibrated).fit(given, gold)
        assert other.temperature_ == pytest.approx(calibrated.temperature_, rel=1e-6)
        predicted = as_sequences(other.predict(given)) if given is not frame else None
        flat = other.predict(frame) if predicted is None else predicted.X.data
        assert np.array_equal(flat, np.concatenate(calibrated.predict(X)))
    assert other.n_features_in_ == 2


def test_pipelines_inside_and_outside(corpus, calibrated):
    X, y = corpus[0][:60], corpus[1][:60]
    inside = clone(calibrated).set_params(estimator=make_pipeline(SequenceVectorizer(), OVERFITTED))
    outside = make_pipeline(SequenceVectorizer(), clone(calibrated))
    assert inside.fit(X, y).temperature_ == pytest.approx(calibrated.temperature_, rel=1e-2)
    assert inside.predict(X).tolist() == outside.fit(X, y).predict(X).tolist()
    assert "CRF" in estimator_html_repr(inside)
    assert inside.get_params()["estimator__crf__sigma"] == 10.0


@pytest.mark.parametrize("estimator", [EmpiricalCRF(), StructuredPerceptron(random_state=0)])
def test_the_best_paths_of_other_classifiers_stay(estimator, corpus):
    X, y = corpus
    model = CalibratedSequenceClassifier(estimator, cv=2).fit(X[:30], y[:30])
    assert model.predict(X).tolist() == model.estimator_.predict(X).tolist()


def test_unknown_labels_weights_and_labels_of_one_fold(corpus):
    X, y = corpus[0][:30], [list(labels) for labels in corpus[1][:30]]
    y[0][0] = "only here"
    y[1][1] = None
    weight = np.ones(30)
    weight[5] = 0.0
    crf = CRF()
    model = CalibratedSequenceClassifier(crf, cv=3).fit(X, y, weight)
    assert "only here" in model.classes_.tolist()
    assert np.isfinite(model.temperature_)


@pytest.mark.parametrize("kind", [CalibratedSequenceClassifier, SegmentF1Classifier])
def test_errors_name_sequences_by_their_place_in_all_data(corpus, kind):
    X, y = corpus[0][:30], [list(labels) for labels in corpus[1][:30]]
    y[20][1] = np.nan
    with pytest.raises(ValueError, match="y, sequence 20, position 1"):
        kind(EmpiricalCRF(), cv=2).fit(X, y)


def test_faults_are_named(corpus):
    X, y = corpus
    with pytest.raises(ValueError, match="n_splits=5"):
        CalibratedSequenceClassifier(CRF()).fit(X[:3], y[:3])
    with pytest.raises(ValueError, match="must be a sequence classifier"):
        CalibratedSequenceClassifier(SequenceVectorizer()).fit(X, y)
    with pytest.raises(ValueError, match="first-order chain"):
        CalibratedSequenceClassifier(EmpiricalCRF(order=2), cv=2).fit(X[:8], y[:8])
    unknown = [[f"{i}" for _ in x] for i, x in enumerate(X[:4])]
    with pytest.raises(ValueError, match="no held-out token has a label"):
        CalibratedSequenceClassifier(EmpiricalCRF(), cv=2).fit(X[:4], unknown)
