"""Estimators that train further on data without tokens."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import sklearn_crcrf
from sklearn_crcrf import EmpiricalCRF, TextTagger

X, y = [["the", "dog"], ["a", "cat"], ["dogs"]], [["D", "N"], ["D", "N"], ["N"]]
NOTHING = [[], [[]], [[], []]]


def learners():
    public = (getattr(sklearn_crcrf, name) for name in sklearn_crcrf.__all__)
    classes = (c for c in public if isinstance(c, type) and c is not TextTagger)
    return [e for e in (c() for c in classes if hasattr(c, "partial_fit")) if _learns(e)]


def _learns(estimator):
    return hasattr(estimator, "partial_fit")


def test_all_learners_are_tried():
    assert len(learners()) > 8


@pytest.mark.parametrize("learner", learners(), ids=lambda e: type(e).__name__)
def test_later_data_without_tokens_changes_nothing(learner):
    learner.partial_fit(X, y)
    before = learner.predict_proba(X) if hasattr(learner, "predict_proba") else learner.predict(X)
    for nothing in NOTHING:
        assert learner.partial_fit(nothing, nothing) is learner
    after = learner.predict_proba(X) if hasattr(learner, "predict_proba") else learner.predict(X)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match=r"\by\b"):
        learner.partial_fit([[]], [["D"]])


@pytest.mark.parametrize("learner", learners(), ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("classes", [None, ["D", "N"]])
def test_the_first_data_needs_a_token(learner, classes):
    for nothing in NOTHING:
        with pytest.raises(ValueError, match="X has no tokens: at least one sequence must not"):
            clone(learner).partial_fit(nothing, nothing, classes=classes)


@pytest.mark.parametrize("learner", learners(), ids=lambda e: type(e).__name__)
def test_other_classes_are_refused_without_tokens_too(learner):
    learner.partial_fit(X, y)
    assert learner.partial_fit([[]], [[]], classes=["N", "D"]) is learner
    with pytest.raises(ValueError, match="is not the same as in the first call"):
        learner.partial_fit([[]], [[]], classes=["D", "N", "V"])


def test_the_error_can_be_sent_from_another_process():
    with pytest.raises(ValueError, match="X has no tokens") as caught:
        EmpiricalCRF().fit([[]], [[]])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_was_forgotten_is_purged_later():
    crf = EmpiricalCRF().partial_fit(X, y).forget(X[2:], y[2:])
    assert "dogs" in crf.forget([[]], [[]], purge=True).receipt_.strings
    assert crf.forget([[]], [[]], purge=True).receipt_.strings == ()


def test_nothing_is_forgotten():
    crf = EmpiricalCRF().partial_fit(X, y)
    before = crf.predict_proba(X)
    after = crf.forget([[]], [[]]).predict_proba(X)
    np.testing.assert_array_equal(np.concatenate(before), np.concatenate(after))


def test_a_text_without_tokens():
    tagger = TextTagger(EmpiricalCRF()).partial_fit(["the dog"], [[(0, 3, "D")]])
    assert tagger.partial_fit([""], [[]]).predict(["the dog"])[0][0].label == "D"
