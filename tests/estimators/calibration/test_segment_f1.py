"""Tests of classifiers that choose the cost of "O" for the F1 of segments."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    CalibratedSequenceClassifier,
    EmpiricalCRF,
    SegmentF1Classifier,
    SequenceVectorizer,
)
from sklearn_crcrf.metrics import segment_f1


@pytest.fixture(scope="module")
def corpus():
    """Words of which some are names four of ten times."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(120):
        words = rng.integers(0, 20, 6)
        kind = rng.random(6)
        X.append([f"w{word}" for word in words])
        y.append(
            [
                "O" if word > 7 or k > 0.4 else ["B-PER", "B-LOC"][word % 2]
                for word, k in zip(words, kind, strict=True)
            ]
        )
    return X, y


@pytest.fixture(scope="module")
def model(corpus):
    X, y = corpus
    return SegmentF1Classifier(CRF(), cv=3).fit(X[:80], y[:80])


def test_more_segments_are_found(corpus, model):
    X, y = corpus
    before, after = (
        segment_f1(y[80:], m.predict(X[80:]), zero_division=0.0) for m in (model.estimator_, model)
    )
    assert model.outside_cost_ > 0
    assert after > before + 0.1


def test_the_cost_is_of_every_token_and_only_for_labels(corpus, model):
    X, _ = corpus
    crf, cost = model.estimator_, model.outside_cost_
    np.testing.assert_array_equal(model.predict_proba(X)[0], crf.predict_proba(X)[0])
    with_bias = CRF()
    vars(with_bias).update(vars(crf))
    outside = crf.classes_ == "O"
    # A transition or the begin is into each token.
    with_bias.transitions_ = crf.transitions_ - cost * outside
    with_bias.begin_ = crf.begin_ - cost * outside
    assert model.predict(X).tolist() == with_bias.predict(X).tolist()


def test_without_segments_to_gain_there_is_no_cost():
    X = [["Ann", "sings"], ["Bob", "sleeps"]] * 5
    y = [["B-PER", "O"]] * 10
    assert SegmentF1Classifier(EmpiricalCRF(), cv=2).fit(X, y).outside_cost_ == 0


def test_sequences_with_labels_of_one_fold_do_not_count(corpus, model):
    X, y = corpus
    other = SegmentF1Classifier(CRF(), cv=3)
    other.fit([*X[:80], ["w1"]], [*y[:80], ["B-ORG"]])
    assert "B-ORG" in other.classes_.tolist()
    with pytest.raises(ValueError, match="no held-out sequence has labels"):
        SegmentF1Classifier(EmpiricalCRF(), cv=2).fit([["a"], ["b"]], [["B-X"], ["B-Y"]])


def test_pipelines_inside(corpus, model):
    X, y = corpus
    inside = SegmentF1Classifier(make_pipeline(SequenceVectorizer(), CRF()), cv=3)
    inside.fit(X[:80], y[:80])
    assert inside.predict(X).tolist() == model.predict(X).tolist()


def test_a_calibrated_classifier_inside(corpus):
    X, y = corpus
    both = SegmentF1Classifier(CalibratedSequenceClassifier(CRF(), cv=2), cv=2).fit(X[:60], y[:60])
    calibrated = both.estimator_
    np.testing.assert_array_equal(both.predict_proba(X)[3], calibrated.predict_proba(X)[3])
    assert both.outside_cost_ > 0
