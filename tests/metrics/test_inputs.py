"""What all metrics accept, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from random_labels import random_pair

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.metrics import (
    known_accuracy,
    segment_f1,
    segment_precision,
    segment_precision_recall_f1,
    segment_recall,
    segment_report,
    sequence_accuracy,
    token_accuracy,
    token_confusion_matrix,
    token_f1,
    token_log_loss,
    token_report,
)


def test_one_dimensional_labels():
    y_true, y_pred = np.array([0, 1, 1, 2]), [0, 1, 2, 2]
    assert token_accuracy(y_true, y_pred) == 0.75
    assert sequence_accuracy(y_true, y_pred) == 0.75
    assert token_accuracy(y_true, y_pred, sample_weight=[1, 1, 2, 0]) == 0.5
    assert known_accuracy(y_true, y_pred, np.array([True, False, True, False])) == 0.5
    assert token_f1(pd.Series(y_true), y_pred, average="micro") == 0.75
    assert segment_f1(["B-X", "I-X", "O"], np.array(["B-X", "I-X", "O"])) == 1.0
    weighted = segment_recall(["B-X", "I-X", "B-X"], ["B-X", "I-X", "O"], sample_weight=[3, 9, 1])
    assert weighted == 0.75


def test_labels_may_be_anything_hashable():
    y_true = [[("a", 1), False, 3], ["x"]]
    y_pred = [[("a", 1), 3, 3], ["x"]]
    assert token_accuracy(y_true, y_pred) == 0.75
    assert token_f1(y_true, y_pred, average="micro") == 0.75
    assert token_confusion_matrix(y_true, y_pred, labels=[3, False]).tolist() == [[1, 0], [1, 0]]


def test_tuples_beside_numbers_of_numpy():
    y_true, y_pred = [[("a", 1), 0.0], [("a", 1), ("a", 1)]], np.zeros((2, 2))
    assert token_accuracy(y_true, y_pred) == 0.25
    assert sequence_accuracy(y_true, y_pred) == 0.0


PAIR_METRICS = [
    token_accuracy,
    token_f1,
    sequence_accuracy,
    token_confusion_matrix,
    segment_f1,
    segment_precision,
    segment_recall,
    segment_precision_recall_f1,
    segment_report,
    token_report,
]


@for_each("metric", PAIR_METRICS)
def test_layouts_agree(metric):
    y_true, y_pred = random_pair("IOB2", 20, seed=1)
    arrays = [SequenceArray.from_sequences(y) for y in (y_true, y_pred)]
    objects = [np.asarray(a) for a in arrays]
    expected = metric(y_true, y_pred)
    for left in (y_true, arrays[0], objects[0]):
        for right in (y_pred, arrays[1], objects[1]):
            np.testing.assert_array_equal(metric(left, right), expected)


@for_each("metric", PAIR_METRICS)
def test_lengths_that_differ_are_named(metric):
    with pytest.raises(ValueError, match="y_true has 2 sequences, but y_pred has 1"):
        metric([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="sequence 1 has 2 labels in y_true, but 1 in"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])
    if metric is not sequence_accuracy:
        with pytest.raises(ValueError, match="sample_weight must have shape"):
            metric([["O"], ["O"]], [["O"], ["O"]], sample_weight=[1.0])


def test_known_of_another_length_is_named():
    with pytest.raises(ValueError, match="sequence 0 has 1 labels in y_true, but 2 in known"):
        known_accuracy([["O"]], [["O"]], [[True, False]])


@for_each("empty", [[], [[]], np.empty(0), SequenceArray(np.empty(0), [0])])
def test_no_tokens(empty):
    assert np.isnan(token_accuracy(empty, empty, zero_division=np.nan))
    assert np.isnan(token_f1(empty, empty, zero_division=np.nan))
    assert np.isnan(segment_f1(empty, empty, zero_division=np.nan))
    assert known_accuracy(empty, empty, empty, zero_division=1.0) == 1.0
    assert token_confusion_matrix(empty, empty).shape == (0, 0)
    assert token_confusion_matrix(empty, empty, labels=["a"]).tolist() == [[0]]
    with pytest.raises(ValueError, match="no tokens"):
        token_log_loss(empty, np.empty((0, 2)), "ab")


@for_each(
    ("call", "message"),
    [
        (lambda: token_accuracy(5, [["a"]]), "y_true must be a list, but is 5"),
        (lambda: token_accuracy([["a"]], "a"), "y_pred is the single string"),
        (
            lambda: token_f1([["a"], ["b", ["c"]]], [["a"], ["b", "c"]]),
            r"y_true, sequence 1, position 1: the label \['c'\] is not hashable",
        ),
        (
            lambda: token_accuracy([["a", 1]], [[1, np.ones(2)]]),
            "y_pred, sequence 0, position 1: the label .* is not hashable",
        ),
        (lambda: token_confusion_matrix([["a"]], [["a"]], labels=5), "labels must be a"),
        (
            lambda: token_confusion_matrix([["a"]], [["a"]], labels=["a", {}]),
            "labels, sequence 0, position 1: the label {} is not hashable",
        ),
        (lambda: token_log_loss([["a"]], [np.ones((1, 1))], None), "classes must be a list"),
        (
            lambda: token_accuracy([["a"]], [["a"]], sample_weight=["x"]),
            "sample_weight must hold one number per sample",
        ),
        (
            lambda: token_accuracy([["a"]], [["a"]], sample_weight=[np.nan]),
            "sample_weight must be finite",
        ),
        (
            lambda: token_accuracy([["a"]] * 2, [["a"]] * 2, sample_weight=[1e308] * 2),
            r"sample_weight must be finite, and its sum at most 1e\+307",
        ),
        (
            lambda: token_accuracy([["a"] * 5], [["a"] * 5], sample_weight=[1e307]),
            r"sample_weight must be finite, and its sum at most 1e\+307",
        ),
        (lambda: segment_report([["O"]], [["O"]], digits=-1), "digits == -1"),
        (lambda: token_report([["O"]], [["O"]], digits=-1), "digits == -1"),
        (lambda: token_report([[None]], [["O"]]), "nothing to report"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
