"""Warnings point at the line of the user, however many calls are between."""

import warnings
from threading import Thread

import numpy as np
import pytest
from cases import for_each
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, HMM, EmpiricalCRF, TokenFeatures, text_features
from sklearn_crcrf.metrics import segment_f1
from sklearn_crcrf.utils.warning import warn_caller

X = [["the", "dog"], ["a", "cat"], ["the", "cat"], ["a", "dog"]] * 2
Y = [["D", "N"]] * 8
SPACED = [["D x", "N"]] * 8
COLUMNS = [[{"a": w, "b": w[::-1]} for w in words] for words in X]
TABLE = np.eye(4)

CALLS = {
    "labels with spaces": lambda: HMM().fit(X, SPACED),
    "in a grid search": lambda: GridSearchCV(HMM(), {"smoothing": [1.0]}, cv=2).fit(X, SPACED),
    "in a cross-validation": lambda: cross_val_predict(HMM(), X, SPACED, cv=2),
    "in a pipeline": lambda: make_pipeline(TokenFeatures(), CRF()).fit(X, SPACED),
    "in parts": lambda: CRF().partial_fit(X, SPACED),
    "in a model of counts": lambda: EmpiricalCRF().fit(X, SPACED),
    "rows of a table": lambda: CRF().fit(TABLE, ["a", "b", "a", "b"]),
    "which column has words": lambda: EmpiricalCRF().fit(COLUMNS, Y),
    "which column text features take": lambda: text_features().fit(COLUMNS),
    "other tokens": lambda: CRF().fit([[{"a": "b"}]], [["x"]]).predict([["b"]]),
    "a metric without a value": lambda: segment_f1([["O"]], [["O"]]),
}


@for_each("name", CALLS)
def test_a_warning_points_at_the_caller(name):
    call = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {w.filename for w in caught} == {__file__}
    assert {w.lineno for w in caught} == {call.__code__.co_firstlineno}


def test_a_warning_in_a_thread_of_its_own_is_not_lost():
    with pytest.warns(UserWarning, match="heard"):
        thread = Thread(target=warn_caller, args=("heard",))
        thread.start()
        thread.join()
