"""Metrics of segments, against a script in the manner of the shared tasks."""

from collections import Counter

import numpy as np
import pytest
from cases import for_each
from label_schemes import LETTERS, in_iobes_letters
from random_labels import random_pair
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_crcrf.metrics import (
    segment_f1,
    segment_precision,
    segment_precision_recall_f1,
    segment_recall,
    segment_report,
)


def chunk_ends(previous, previous_type, tag, kind):
    if previous in "ES":
        return True
    if previous in "BI" and tag in "BSO":
        return True
    return previous != "O" and previous_type != kind


def chunk_starts(previous, previous_type, tag, kind):
    if tag in "BS":
        return True
    if previous in "ESO" and tag in "EI":
        return True
    return tag != "O" and previous_type != kind


def evaluate_like_the_script(y_true, y_pred, scheme):
    """Correct, guessed and true chunks by type, in one walk over all tokens."""
    correct, guessed, true = Counter(), Counter(), Counter()
    in_correct = False
    last = last_guess = ("O", "")
    stream = []
    for gold, guess in zip(y_true, y_pred, strict=True):
        stream += [*zip(gold, guess, strict=True), ("O", "O")]
    for gold, guess in stream:
        gold, guess = in_iobes_letters(gold, scheme), in_iobes_letters(guess, scheme)
        now, _, kind = gold.partition("-")
        now_guess, _, kind_guess = guess.partition("-")
        gold_ends = chunk_ends(*last, now, kind)
        guess_ends = chunk_ends(*last_guess, now_guess, kind_guess)
        if in_correct:
            if gold_ends and guess_ends and last[1] == last_guess[1]:
                in_correct = False
                correct[last[1]] += 1
            elif gold_ends != guess_ends or kind != kind_guess:
                in_correct = False
        gold_starts = chunk_starts(*last, now, kind)
        guess_starts = chunk_starts(*last_guess, now_guess, kind_guess)
        if gold_starts and guess_starts and kind == kind_guess:
            in_correct = True
        true[kind] += gold_starts
        guessed[kind_guess] += guess_starts
        last, last_guess = (now, kind), (now_guess, kind_guess)
    return correct, guessed, true


@for_each("scheme", LETTERS)
def test_segment_scores_equal_the_script_on_2000_random_sequences(scheme):
    y_true, y_pred = random_pair(scheme, 2_000, seed=len(scheme))
    correct, guessed, true = evaluate_like_the_script(y_true, y_pred, scheme)
    n_correct, n_guessed, n_true = correct.total(), guessed.total(), true.total()
    assert 0.3 < n_correct / n_true < 0.9

    scores = segment_precision_recall_f1(y_true, y_pred, scheme=scheme)
    assert scores.support == n_true
    assert scores.precision == n_correct / n_guessed
    assert scores.recall == n_correct / n_true
    assert scores.f1 == pytest.approx(2 * n_correct / (n_guessed + n_true), rel=1e-15)

    report = segment_report(y_true, y_pred, scheme=scheme, output_dict=True)
    for kind in "XYZ":
        assert report[kind]["support"] == true[kind]
        assert report[kind]["precision"] == correct[kind] / guessed[kind]
        assert report[kind]["recall"] == correct[kind] / true[kind]


@for_each("scheme", LETTERS)
def test_segment_scores_equal_the_script_sequence_by_sequence(scheme):
    y_true, y_pred = random_pair(scheme, 300, seed=7)
    for gold, guess in zip(y_true, y_pred, strict=True):
        correct, guessed, true = evaluate_like_the_script([gold], [guess], scheme)
        scores = segment_precision_recall_f1([gold], [guess], scheme=scheme, zero_division=0.0)
        assert scores.precision * guessed.total() == pytest.approx(correct.total())
        assert scores.recall * true.total() == pytest.approx(correct.total())


def test_conlleval_reading_is_the_default_and_strict_differs():
    y_true, y_pred = [["B-X", "I-X", "O"]], [["I-X", "I-X", "O"]]
    assert segment_f1(y_true, y_pred) == 1.0
    assert segment_f1(y_true, y_pred, reading="strict", zero_division=0.5) == 0.0
    assert segment_precision(y_true, y_pred, reading="strict", zero_division=0.5) == 0.5
    assert segment_recall(y_true, y_pred, reading="strict") == 0.0


def test_segment_needs_the_same_start_end_and_type():
    y_true = [["B-X", "I-X", "O", "B-Y"]]
    for other in (["B-X", "O", "O", "O"], ["O", "B-X", "O", "O"], ["B-Y", "I-Y", "O", "O"]):
        assert segment_precision(y_true, [other]) == 0.0
    assert segment_precision(y_true, [["B-X", "I-X", "O", "O"]]) == 1.0
    assert segment_recall(y_true, [["B-X", "I-X", "O", "O"]]) == 0.5


def test_segment_report_averages():
    y_true = [["B-X", "B-X", "B-Y", "O"]]
    y_pred = [["B-X", "O", "B-X", "B-Z"]]
    report = segment_report(y_true, y_pred, output_dict=True, zero_division=np.nan)
    assert report["X"] == {"precision": 0.5, "recall": 0.5, "f1-score": 0.5, "support": 2.0}
    assert np.isnan(report["Y"]["precision"])
    assert np.isnan(report["Z"]["recall"])
    assert report["micro avg"]["precision"] == pytest.approx(1 / 3)
    assert report["macro avg"]["precision"] == pytest.approx((0.5 + 0.0) / 2)
    assert report["macro avg"]["f1-score"] == pytest.approx((0.5 + 0 + 0) / 3)
    assert report["weighted avg"]["recall"] == pytest.approx((2 * 0.5 + 1 * 0.0) / 3)
    assert report["weighted avg"]["support"] == 3


def test_segment_report_text_has_a_line_per_type_and_average():
    y_true, y_pred = random_pair("IOB2", 50, seed=3)
    text = segment_report(y_true, y_pred, digits=4)
    report = segment_report(y_true, y_pred, output_dict=True)
    lines = {
        line.rsplit(maxsplit=4)[0].strip(): line.split() for line in text.splitlines()[2:] if line
    }
    assert list(lines) == list(report)
    for row, values in report.items():
        assert lines[row][-4:-1] == [f"{v:.4f}" for v in list(values.values())[:3]]
        assert float(lines[row][-1]) == values["support"]


def test_nothing_but_outside():
    y = [["O", "O"]]
    with pytest.warns(UndefinedMetricWarning, match="segment F1"):
        assert segment_f1(y, y) == 0.0
    assert np.isnan(segment_f1(y, y, zero_division=np.nan))
    assert segment_precision_recall_f1(y, y, zero_division=1.0) == (1.0, 1.0, 1.0, 0.0)
    report = segment_report(y, y, output_dict=True, zero_division=0.0)
    assert list(report) == ["micro avg", "macro avg", "weighted avg"]


def test_label_out_of_scheme_is_named_with_its_place():
    with pytest.raises(ValueError, match=r"y_pred: label 'X-A' at position 0 of sequence 1"):
        segment_f1([["O"], ["B-A"]], [["O"], ["X-A"]])
    with pytest.raises(ValueError, match=r"y_true: label 'A' at position 0 of sequence 1"):
        segment_report([["O"], ["A"]], [["O"], ["B-A"]])
