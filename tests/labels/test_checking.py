"""Labels that are hardly meant as labels."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from sklearn_crcrf import CRF, HMM, MEMM, EmpiricalCRF, SequenceArray, StructuredPerceptron
from sklearn_crcrf.labels import LabelIds, encode_labels, encode_partial_labels
from sklearn_crcrf.metrics import segment_f1, token_accuracy
from sklearn_crcrf.utils import memory

X = [["a", "b", "c"], ["b", "c", "a"]]


def sequences(*labels):
    return SequenceArray.from_sequences(labels)


@for_each(
    "data",
    [
        np.array([1, 0, -100, 1]),
        np.array([1.0, 2.0, -100.0, 1]),
        np.array([1, None, -100, {0, 1}], dtype=object),
        np.array([1, None, {-100, 3}, {0, 1}], dtype=object),
        np.array([True, 5, np.int64(-100), "a"], dtype=object),
        np.array([-100, -100, -100, -100])[::-1],
    ],
)
def test_numbers_for_what_is_left_out_are_refused(data):
    token = next(t for t, label in enumerate(data) if label == -100 or label == {-100, 3})
    where = rf"^y, sequence {token // 2}, position {token % 2}: the label is -100"
    with pytest.raises(ValueError, match=where):
        encode_partial_labels(SequenceArray(data, [0, 2, 4]))


@for_each("data", [[-100, -5, 3], [-99, 0], ["-100", "a"], [None, "a"], [0.5, -1]])
def test_other_numbers_are_labels(data):
    for array in (np.array(data), np.array(data, dtype=object)):
        encode_partial_labels(SequenceArray(array, [0, len(data)]))


def test_estimators_and_metrics_refuse_them():
    y = [[0, 1, -100], [1, -100, 0]]
    for call in (
        lambda: CRF().fit(X, y),
        lambda: HMM().fit(X, y),
        lambda: CRF().fit(np.eye(3), pd.Series([-100, 0, 1])),
        lambda: CRF().fit(X, [[0, 1, 0]] * 2).score(X, y),
        lambda: token_accuracy(y, [[0, 1, 0]] * 2),
    ):
        with pytest.raises(ValueError, match="the label is -100"):
            call()
    padded = np.array([[0, 1, 1], [1, -100, -100]])
    assert CRF().fit([X[0], X[1][:1]], padded).classes_.tolist() == [0, 1]


def test_labels_with_spaces_are_told():
    for labels in (["O", "B-PER I-PER O"], ["O", None, "a\tb", {"x"}]):
        with pytest.warns(UserWarning, match=r"split it, for example by \[labels\.split"):
            encode_partial_labels(sequences(labels))
    with pytest.warns(UserWarning, match="y has the label 'B-X I-X', with spaces"):
        HMM().fit([["a"], ["b"]], [["B-X I-X"], ["O"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_partial_labels(sequences(["O", " ", "", "a ", 3, ("a b",)]))


@for_each("ending", [" ", "\r", "\t", "\u00a0"])
def test_labels_that_differ_by_white_space_are_told(ending):
    for wrong in ("O" + ending, ending + "O"):
        told = rf"y has the label {re.escape(repr(wrong))}, with .* another label than 'O'"
        with pytest.warns(UserWarning, match=told):
            HMM().fit([["a"], ["b"]], [["O"], [wrong]])


@for_each("make", [CRF, HMM, EmpiricalCRF, MEMM, StructuredPerceptron])
def test_words_for_labels_are_refused_at_once(make):
    words = [[f"word{i}"] for i in range(10_001)]
    with pytest.raises(ValueError, match=r"y has 10,001 different labels, for 10,001.* swapped"):
        make().fit([["N"]] * len(words), words)


def test_a_hundred_words_for_labels_are_told():
    words = [[f"word{i}", "the"] for i in range(101)]
    told = r"y has 102 different labels, for 202 tokens; if these are words, X and y are swapped"
    with pytest.warns(UserWarning, match=told):
        HMM().fit([["D", "N"]] * len(words), words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HMM().fit([["D", "N"]] * 200, words[:100] * 2)


def test_labels_whose_pairs_do_not_fit_into_memory_are_refused(monkeypatch):
    labels = np.repeat(np.arange(12_000), 3)
    y = SequenceArray(labels, [0, len(labels)])
    monkeypatch.setattr(memory, "available_memory", lambda: 10e9)
    with pytest.raises(ValueError, match=r"y has 12,000 different labels; .* 11.5 GB .* swapped"):
        encode_labels(y)
    monkeypatch.setattr(memory, "available_memory", lambda: 12e9)
    assert len(encode_labels(y)[0]) == 12_000
    assert len(LabelIds(range(12_000))) == 12_000


def nested(value, n_levels, width=1):
    for _ in range(n_levels):
        value = (value,) * width
    return value


# CPython crashes where it hashes the first of them, and does not end with the second.
@for_each("n_levels, width", [(200_000, 1), (101, 1), (99, 2)])
@for_each(
    "use",
    [
        lambda y: CRF().fit(X[:1], y),
        lambda y: HMM().partial_fit(X[:1], y),
        lambda y: EmpiricalCRF().fit(X[:1], y),
        lambda y: HMM().partial_fit(X[:1], [["N"] * 3], classes=y[0]),
        lambda y: CRF().fit(X, [["N", "V", "N"]] * 2).score(X[:1], y),
        lambda y: CRF().fit(X, [["N", "V", "N"]] * 2).predict(X[:1], allowed=y),
        lambda y: token_accuracy(y, y),
        lambda y: segment_f1(y, y),
        lambda y: token_accuracy(y[0], y[0]),
    ],
)
def test_deep_tuples_are_refused(use, n_levels, width):
    y = [["N", nested("N", n_levels, width), "V"]]
    with pytest.raises(ValueError, match=r"sequence 0, position 1: .*hashable"):
        use(y)


def test_tuples_are_labels():
    y = [["N", nested("N", 99), ("V", nested("N", 98))]] * 2
    assert HMM().fit(X, y).predict(X).tolist() == y
