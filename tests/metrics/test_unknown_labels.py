"""Metrics where some true labels are unknown, or sets, against independent counts."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.metrics import (
    get_sequence_scorer,
    known_accuracy,
    segment_errors,
    segment_f1,
    segment_precision_recall_f1,
    segment_report,
    sequence_accuracy,
    token_accuracy,
    token_confusion_matrix,
    token_f1,
    token_log_loss,
    unknown_accuracy,
)

LABELS = ["B-X", "I-X", "B-Y", "I-Y", "O"]
MISSING = [None, float("nan"), pd.NA, np.float64("nan")]


def random_case(seed):
    """True labels that are partly unknown or sets, predictions, weights; true labels completed."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, size=8)
    true = [[LABELS[i] for i in rng.integers(5, size=n)] for n in lengths]
    pred = [[label if rng.random() < 0.6 else LABELS[rng.integers(5)] for label in s] for s in true]
    partial, kept = [], []
    for labels, guesses in zip(true, pred, strict=True):
        row, left = [], []
        for label, guess in zip(labels, guesses, strict=True):
            kind = rng.random()
            options = {label, LABELS[rng.integers(5)]}
            if kind < 0.2:
                row.append(MISSING[rng.integers(len(MISSING))])
                left.append(None)
            elif kind < 0.4:
                row.append(options)
                left.append(guess if guess in options else min(options))
            else:
                row.append(label)
                left.append(label)
        partial.append(row)
        kept.append(left)
    return partial, pred, rng.integers(1, 4, size=8).astype(float), kept


@for_each("seed", range(30))
def test_token_metrics_leave_unknown_labels_out(seed):
    partial, pred, weight, kept = random_case(seed)
    tokens = [
        (gold, guess, w, sum(map(ord, guess)) % 2 == 0)
        for golds, guesses, w in zip(kept, pred, weight, strict=True)
        for gold, guess in zip(golds, guesses, strict=True)
        if gold is not None
    ]
    gold, guess, w, _ = map(list, zip(*tokens, strict=True))
    total, right = sum(w), sum(t[2] for t in tokens if t[0] == t[1])
    array = SequenceArray.from_sequences(partial)
    for y_true in (partial, array):
        assert token_accuracy(y_true, pred, sample_weight=weight) == pytest.approx(right / total)
        for average in ("micro", "macro", "weighted"):
            expected = token_f1(gold, guess, average=average, sample_weight=w, zero_division=0)
            found = token_f1(y_true, pred, average=average, sample_weight=weight, zero_division=0)
            assert found == pytest.approx(expected)
        expected = token_confusion_matrix(gold, guess, labels=LABELS)
        assert (token_confusion_matrix(y_true, pred, labels=LABELS) == expected).all()
        known = [[sum(map(ord, label)) % 2 == 0 for label in labels] for labels in pred]
        for metric, which in ((known_accuracy, True), (unknown_accuracy, False)):
            of_these = [t for t in tokens if t[3] == which]
            share = sum(t[2] for t in of_these if t[0] == t[1]) / sum(t[2] for t in of_these)
            assert metric(y_true, pred, known, sample_weight=weight) == pytest.approx(share)


@for_each("seed", range(30))
def test_sequences_of_unknown_labels_only_are_left_out(seed):
    partial, pred, weight, kept = random_case(seed)
    right = total = 0.0
    for golds, guesses, w in zip(kept, pred, weight, strict=True):
        known = [(a, b) for a, b in zip(golds, guesses, strict=True) if a is not None]
        total += w * bool(known)
        right += w * (bool(known) and all(a == b for a, b in known))
    found = sequence_accuracy(partial, pred, sample_weight=weight)
    assert found == pytest.approx(right / total)


def spans(labels):
    """The segments of complete labels, as conlleval reads them."""
    found, start = set(), None
    for t, label in enumerate([*labels, "O"]):
        continues = label[0] == "I" and start is not None and labels[start][1:] == label[1:]
        if start is not None and not continues:
            found.add((start, t, labels[start][2:]))
            start = None
        if label != "O" and not continues:
            start = t
    return found


@for_each("seed", range(30))
def test_segments_of_unknown_labels_only_are_left_out(seed):
    partial, pred, _, kept = random_case(seed)
    n_right = n_true = n_pred = 0
    for golds, guesses in zip(kept, pred, strict=True):
        filled = [b if a is None else a for a, b in zip(golds, guesses, strict=True)]
        both = [
            {(a, b, kind) for a, b, kind in spans(y) if any(g is not None for g in golds[a:b])}
            for y in (filled, guesses)
        ]
        n_right += len(both[0] & both[1])
        n_true += len(both[0])
        n_pred += len(both[1])
    expected = n_right / n_pred, n_right / n_true, 2 * n_right / (n_pred + n_true), n_true
    assert segment_precision_recall_f1(partial, pred) == pytest.approx(expected)
    micro = segment_report(partial, pred, output_dict=True, zero_division=0)["micro avg"]
    assert tuple(micro.values()) == pytest.approx(expected)
    errors = segment_errors(partial, pred)
    assert errors.correct.sum() == n_right
    assert sum(map(sum, errors[1:5])) == n_true


@for_each("missing", MISSING)
def test_flat_labels_may_be_missing(missing):
    y_true = np.array([missing, "A", {"A", "B"}, missing], dtype=object)
    y_pred = np.array(["B", "A", "B", "A"])
    for given in (y_true, pd.Series(y_true), y_true.tolist()):
        assert token_accuracy(given, y_pred) == 1.0
    assert token_accuracy(np.array([1.0, np.nan, 2.0]), np.array([1, 1, 1])) == 0.5
    labels = pd.Series(["B-X", None, "O"])
    for dtype in ("string", "category", object):
        assert segment_f1(labels.astype(dtype), ["B-X", "B-Y", "O"]) == 1.0
    assert token_accuracy(pd.Series([1, None, 2], dtype="Int64"), [1, 1, 2]) == 1.0


def test_the_log_loss_of_a_set_is_that_of_its_sum():
    proba = [np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])]
    loss = token_log_loss([[{"C", "B"}, None, "A"]], proba, ["C", "A", "B"])
    assert loss == pytest.approx(-np.log([0.8, 0.2]).mean())
    with pytest.raises(ValueError, match="no tokens with a known label"):
        token_log_loss([[None] * 3], proba, ["C", "A", "B"])


X = [["a", "b"], ["b", "a"], ["a", "c"]] * 4
Y = [["B-A", "B"], ["B", "B-A"], ["B-A", "C"]] * 4
HIDDEN = [["B-A", None], ["B", "B-A"], [{"B-A", "C"}, None]] * 4


@for_each("name", ["token_accuracy", "token_f1_macro", "sequence_accuracy", "token_f1_weighted"])
def test_scorers_and_scores_leave_unknown_labels_out(name):
    crf = CRF().fit(X, Y)
    assert get_sequence_scorer(name)(crf, X, HIDDEN) == 1.0
    assert crf.score(X, HIDDEN) == 1.0
    assert crf.score(X, HIDDEN, sample_weight=[1, 0, 0] * 4) == 1.0
    with pytest.raises(ValueError, match="known label"):
        crf.score(X, [[None] * 2] * 12)


@for_each("label", [["B"], {"B": 1}, ("B", ["B"])])
@for_each("metric", [token_accuracy, sequence_accuracy])
def test_a_label_that_is_not_hashable_is_refused_rather_than_wrong(metric, label):
    for name, given in {
        "y_true": ([["B", label]], [["B", "B"]]),
        "y_pred": ([["B", "B"]], [["B", label]]),
    }.items():
        with pytest.raises(ValueError, match=f"{name}, sequence 0, position 1: .* not hashable"):
            metric(*given)
    with pytest.raises(ValueError, match=r"y, sequence 0, position 1: .* not hashable"):
        CRF().fit(X, Y).score(X, [["B", label], *Y[1:]])
