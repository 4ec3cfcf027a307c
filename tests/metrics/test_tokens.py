"""Metrics of tokens and of sequences, against scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from random_labels import labelled, random_pair
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.metrics import (
    known_accuracy,
    segment_precision_recall_f1,
    sequence_accuracy,
    token_accuracy,
    token_confusion_matrix,
    token_f1,
    token_report,
    unknown_accuracy,
)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=12)
@given(labelled())
def test_token_metrics_equal_scikit_learn_on_flat_labels(case):
    y_true, y_pred, weight = case
    flat = [y_true.data.astype(str), y_pred.data.astype(str)]
    present = np.unique(flat)
    for sample_weight in (None, weight):
        token_weight = None if sample_weight is None else np.repeat(weight, y_true.lengths)
        weights = {"sample_weight": sample_weight}
        assert token_accuracy(y_true, y_pred, **weights) == pytest.approx(
            sklearn.metrics.accuracy_score(*flat, sample_weight=token_weight)
        )
        for average in ("weighted", "micro", "macro", None):
            for labels in (None, ["c", "a"]):
                options = {"average": average, "labels": labels, "zero_division": 0.0}
                np.testing.assert_allclose(
                    token_f1(y_true.tolist(), y_pred, **options, **weights),
                    sklearn.metrics.f1_score(*flat, sample_weight=token_weight, **options),
                )
        for normalize in (None, "true", "pred", "all"):
            np.testing.assert_allclose(
                token_confusion_matrix(y_true, y_pred, normalize=normalize, **weights),
                sklearn.metrics.confusion_matrix(
                    *flat, labels=present, normalize=normalize, sample_weight=token_weight
                ),
            )


@given(labelled(), st.data())
def test_known_and_unknown_add_up_to_all(case, data):
    y_true, y_pred, weight = case
    n = len(y_true.data)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    known = SequenceArray(mask, y_true.offsets)
    share = np.average(mask, weights=np.repeat(weight, y_true.lengths))
    options = {"sample_weight": weight, "zero_division": 0.0}
    total = share * known_accuracy(y_true, y_pred, known, **options)
    total += (1 - share) * unknown_accuracy(y_true, y_pred, known.tolist(), **options)
    assert total == pytest.approx(token_accuracy(y_true, y_pred, sample_weight=weight))


@given(labelled())
def test_sequence_accuracy_counts_equal_sequences(case):
    y_true, y_pred, weight = case
    right = [a == b for a, b in zip(y_true.tolist(), y_pred.tolist(), strict=True)]
    assert sequence_accuracy(y_true, y_pred) == pytest.approx(np.mean(right))
    assert sequence_accuracy(y_true.tolist(), y_pred, sample_weight=weight) == pytest.approx(
        np.average(right, weights=weight)
    )


def test_known_and_unknown_by_hand():
    y_true, y_pred = [["a", "b"], ["c"]], [["a", "a"], ["b"]]
    known = [[True, True], [False]]
    assert known_accuracy(y_true, y_pred, known) == 0.5
    assert unknown_accuracy(y_true, y_pred, known) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="unknown_accuracy"):
        assert unknown_accuracy(y_true, y_pred, [[True, True], [True]]) == 0.0
    everything = [np.ones(2, dtype=bool), np.ones(1, dtype=bool)]
    assert np.isnan(unknown_accuracy(y_true, y_pred, everything, zero_division=np.nan))
    with pytest.raises(ValueError, match="zero_division"):
        unknown_accuracy(y_true, y_pred, known, zero_division="raise")


def test_segment_weights_of_sequences_repeat_them():
    y_true, y_pred = random_pair("IOB2", 60, seed=5)
    times = np.arange(60) % 3
    weighted = segment_precision_recall_f1(y_true, y_pred, sample_weight=times)
    repeated = segment_precision_recall_f1(
        [y for y, n in zip(y_true, times, strict=True) for _ in range(n)],
        [y for y, n in zip(y_pred, times, strict=True) for _ in range(n)],
    )
    assert weighted == pytest.approx(repeated)


@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=12)
@given(labelled())
def test_the_report_equals_that_of_scikit_learn_on_flat_labels(case):
    y_true, y_pred, weight = case
    flat = [y_true.data.astype(str), y_pred.data.astype(str)]
    token_weight = np.repeat(weight, y_true.lengths)
    for labels in (None, ["c", "a"]):
        for output_dict in (False, True):
            options = {"output_dict": output_dict, "zero_division": 0.0, "digits": 3}
            expected = sklearn.metrics.classification_report(*flat, labels=labels, **options)
            assert token_report(y_true.tolist(), y_pred, labels=labels, **options) == expected
        report = token_report(y_true, y_pred, sample_weight=weight, labels=labels, **options)
        expected = sklearn.metrics.classification_report(
            *flat, labels=labels, sample_weight=token_weight, **options
        )
        for row in expected:
            assert report[row] == pytest.approx(expected[row])


def test_the_report_leaves_unknown_labels_out():
    report = token_report([["a", None, {"b", "c"}]], [["a", "a", "c"]], output_dict=True)
    assert report["accuracy"] == 1.0
    assert [row for row in report if "avg" not in row] == ["a", "c", "accuracy"]
    with pytest.warns(UndefinedMetricWarning):
        token_report([["a"]], [["b"]])
