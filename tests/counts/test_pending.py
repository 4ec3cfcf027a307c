"""partial_fit counts; the estimates come when somebody looks, and are the same."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_crcrf import HMM, EmpiricalCRF

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"], ["oh", "the", "dog"]]
y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["I", "D", "N"]]
ESTIMATORS = [EmpiricalCRF(), EmpiricalCRF(order=2), HMM()]


@pytest.fixture(params=ESTIMATORS, ids=repr)
def postponed(request):
    """An estimator that has counted X, but not estimated from most of it."""
    estimator = clone(request.param)
    for k in range(len(X)):
        estimator.partial_fit(X[k : k + 1], y[k : k + 1])
    assert is_postponed(estimator)
    return estimator


def is_postponed(estimator):
    return "counts_" not in vars(estimator)


def same(estimator, expected):
    found = np.concatenate(estimator.predict_proba(X))
    return bool((found == np.concatenate(expected.predict_proba(X))).all())


def test_who_looks_sees_one_fit(postponed):
    expected = clone(postponed).fit(X, y)
    for looked in (
        lambda estimator: estimator.counts_ == expected.counts_,
        lambda estimator: estimator.predict(X).tolist() == expected.predict(X).tolist(),
        lambda estimator: estimator.classes_.tolist() == ["D", "I", "N", "V"],
        lambda estimator: (estimator.begin_ == expected.begin_).all(),
        lambda estimator: same(pickle.loads(pickle.dumps(estimator)), expected),
        lambda estimator: same(deepcopy(estimator), expected),
        lambda estimator: hasattr(estimator, "coef_") and not hasattr(estimator, "other_"),
        lambda estimator: not hasattr(estimator, "_other"),
    ):
        estimator = copy(postponed)
        assert looked(estimator)
        assert same(estimator, expected)
    assert vars(pickle.loads(pickle.dumps(postponed))).keys() == vars(expected).keys()


def test_nobody_has_looked(postponed):
    check_is_fitted(postponed)
    repr(postponed)
    postponed.get_params()
    assert is_postponed(postponed)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(postponed))
    assert is_postponed(postponed.partial_fit(X, y))
    assert not hasattr(postponed, "__dataframe__")
    assert is_postponed(copy(postponed))


def test_a_look_between_two_calls_changes_nothing(postponed):
    looked = copy(postponed)
    assert looked.predict(X).shape == (4,)
    a, b = looked.partial_fit(X[:2], y[:2]), postponed.partial_fit(X[:2], y[:2])
    assert a.counts_ == b.counts_ == clone(postponed).fit(X + X[:2], y + y[:2]).counts_
    assert same(a, b)


def test_parameters_are_those_of_the_last_call():
    crf = EmpiricalCRF().fit(X[:2], y[:2]).set_params(sigma=2.0).partial_fit(X[2:], y[2:])
    crf.set_params(sigma=0.1)
    assert same(crf, EmpiricalCRF(sigma=2.0).fit(X, y))


def test_errors_come_at_once(postponed):
    before = copy(postponed)
    for data, labels in ((X, y[:2]), ([["a"]], [[None]])):
        with pytest.raises(ValueError, match=r"X|y"):
            postponed.partial_fit(data, labels)
    with pytest.raises(ValueError, match="never counted"):
        postponed.forget([["zebra"]], [["N"]])
    with pytest.raises(ValueError, match="not the same as in the first call"):
        postponed.partial_fit(X, y, classes=["D", "N"])
    postponed.partial_fit(X, y, classes=["V", "D", "N", "I"]).forget(X, y)
    assert same(postponed, before)


def test_forgetting_what_was_not_estimated(postponed):
    assert same(postponed.forget(X[3:], y[3:]), clone(postponed).fit(X[:3], y[:3]))
    assert postponed.classes_.tolist() == ["D", "N", "V"]


def test_threads_that_look_at_once(postponed):
    expected = clone(postponed).fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(same, [postponed] * 8, [expected] * 8))


def test_a_stored_model_has_its_estimates(postponed, tmp_path):
    model_files = pytest.importorskip("sklearn_crcrf.model_files")
    model_files.save_model(postponed, tmp_path / "model")
    loaded = model_files.load_model(tmp_path / "model").estimator
    assert same(loaded, clone(postponed).fit(X, y))
    assert same(loaded.partial_fit(X, y), clone(postponed).fit(X + X, y + y))
