"""Partial true labels beside predictions."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.labels.partial import completed


def sequences(*labels):
    return SequenceArray.from_sequences(labels)


def test_complete_labels_stay_the_same_object():
    true = sequences(["a", "b"])
    labels, is_known = completed(true, true)
    assert labels is true
    assert is_known.all()


def test_partial_labels_agree_with_predictions_where_they_can():
    true = sequences([None, {"c", "b"}], [frozenset("ab"), pd.NA, float("nan"), "a"])
    pred = sequences(["a", "a"], ["b", "c", "a", "c"])
    labels, is_known = completed(true, pred)
    assert labels.tolist() == [["a", "b"], ["b", "c", "a", "a"]]
    assert is_known.tolist() == [False, True, True, False, False, True]
    labels, is_known = completed(SequenceArray(np.array([1.0, np.nan]), [0, 2]), sequences([0, 0]))
    assert labels.tolist() == [[1.0, 0]]
    assert is_known.tolist() == [True, False]


def test_a_set_may_be_a_label_itself():
    true, pred = sequences([frozenset("ab"), frozenset("ab")]), sequences([frozenset("ab"), "c"])
    labels, _ = completed(true, pred)
    assert labels.tolist() == [[frozenset("ab"), "a"]]


def test_an_empty_set_is_named():
    with pytest.raises(ValueError, match=r"^y, sequence 1, position 0: the set of possible"):
        completed(sequences(["a"], [set()]), sequences(["a"], ["a"]))


@for_each("label", [["a"], {"a": 1}, ("a", ["b"]), np.array(["a"])])
def test_a_label_that_is_not_hashable_is_named(label):
    true, pred = sequences(["a"], [{"a"}, label]), sequences(["a"], ["a", "a"])
    with pytest.raises(ValueError, match=r"^y, sequence 1, position 1: .* is not hashable"):
        completed(true, pred)
