"""Metrics of probabilities, against scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from random_labels import labelled

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.metrics import (
    token_log_loss,
)


@given(labelled(labels=("a", "b", "c")), st.sampled_from([np.float64, np.float32]))
def test_log_loss_equals_scikit_learn_on_flat_labels(case, dtype):
    y_true, _, weight = case
    rng = np.random.default_rng(len(y_true.data))
    proba = rng.dirichlet(np.ones(3), len(y_true.data)).astype(dtype)
    nested = [np.array(p) for p in SequenceArray(proba, y_true.offsets)]
    for sample_weight, token_weight in ((None, None), (weight, np.repeat(weight, y_true.lengths))):
        expected = sklearn.metrics.log_loss(
            y_true.data.astype(str), proba, labels=["a", "b", "c"], sample_weight=token_weight
        )
        for layout in (nested, SequenceArray(proba, y_true.offsets)):
            loss = token_log_loss(y_true, layout, ["a", "b", "c"], sample_weight=sample_weight)
            assert loss == pytest.approx(expected, rel=1e-5)


def test_log_loss_takes_the_columns_as_classes_orders_them():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert token_log_loss(["b", "a"], proba, ["b", "a"]) == pytest.approx(
        -np.log([0.9, 0.8]).mean()
    )


def test_log_loss_stays_finite():
    certain = [np.array([[1.0, 0.0]])]
    assert token_log_loss([["a"]], certain, ["a", "b"]) == 0.0
    assert 30 < token_log_loss([["b"]], certain, ["a", "b"]) < 40


def test_log_loss_refuses_what_it_cannot_score():
    proba = [np.array([[0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 0.5]])]
    with pytest.raises(ValueError, match="sequence 1, position 1: the label 'c' is not among"):
        token_log_loss([["a"], ["a", "c"]], proba, ["a", "b"])
    with pytest.raises(ValueError, match="2 columns for 3 classes"):
        token_log_loss([["a"], ["a", "b"]], proba, ["a", "b", "c"])
    with pytest.raises(ValueError, match="sequence 1 has 1 labels in y_true, but 2 in y_pr"):
        token_log_loss([["a"], ["a"]], proba, ["a", "b"])
    for row in ([0.9, 0.5], [1.5, -0.5], [np.nan, 1.0]):
        broken = [proba[0], np.array([[0.5, 0.5], row])]
        with pytest.raises(ValueError, match="y_proba: the row at position 1 of sequence 1"):
            token_log_loss([["a"], ["a", "b"]], broken, ["a", "b"])
