"""Segments by what is wrong with them, against cases made by hand and a search of all matchings."""

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_errors, segment_precision_recall_f1
from sklearn_crcrf.metrics.errors import KINDS, match_segments
from sklearn_crcrf.metrics.flatten import flatten

CASES = {
    "right": ("B-X I-X O", "B-X I-X O", {"correct": "X"}),
    "another type": ("B-X I-X O", "B-Y I-Y O", {"wrong_type": "X"}),
    "too short": ("B-X I-X O", "B-X O O", {"wrong_boundary": "X"}),
    "too long": ("B-X O O", "B-X I-X I-X", {"wrong_boundary": "X"}),
    "shifted": ("B-X I-X O", "O B-X I-X", {"wrong_boundary": "X"}),
    "not there": ("B-X I-X O", "O O O", {"missed": "X"}),
    "invented": ("O O O", "O B-Y O", {"spurious": "Y"}),
    "another type and boundary": ("B-X I-X O", "B-Y O O", {"missed": "X", "spurious": "Y"}),
    "next to it": ("B-X O O", "O B-X O", {"missed": "X", "spurious": "X"}),
    "cut in two": ("B-X I-X I-X", "B-X B-X I-X", {"wrong_boundary": "X", "spurious": "X"}),
    "two made one": ("B-X B-X O", "B-X I-X O", {"wrong_boundary": "X", "missed": "X"}),
    # The one in the middle could go with either, but only one choice leaves nobody out.
    "a chain": ("B-X I-X B-X I-X O", "O B-X I-X B-X I-X", {"wrong_boundary": "XX"}),
    "the same place first": ("B-X B-Y", "B-X B-X", {"correct": "X", "wrong_type": "Y"}),
    "nothing": ("O O", "O O", {}),
}


@for_each("name", CASES)
def test_each_error_is_of_one_kind(name):
    true, pred, expected = CASES[name]
    errors = segment_errors([true.split()], [pred.split()])
    for kind in errors._fields[1:]:
        counts = {t: float(n) for t, n in zip(errors.types, getattr(errors, kind), strict=True)}
        assert counts == {t: float(expected.get(kind, "").count(t)) for t in errors.types}


labels = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])
pairs = st.lists(st.lists(st.tuples(labels, labels), max_size=7), min_size=1, max_size=3)


@given(pairs)
def test_true_and_predicted_segments_are_each_counted_once(pairs):
    true, pred = ([[pair[k] for pair in s] for s in pairs] for k in (0, 1))
    _, correct, wrong_type, wrong_boundary, missed, spurious = segment_errors(true, pred)
    both = (correct + wrong_type + wrong_boundary).sum()
    assert both + missed.sum() == len(to_segments(true).start)
    assert both + spurious.sum() == len(to_segments(pred).start)
    precision = segment_precision_recall_f1(true, pred, zero_division=0.0).precision
    assert correct.sum() == pytest.approx(precision * len(to_segments(pred).start))


@given(pairs)
def test_as_many_segments_as_possible_are_matched_by_their_overlap(pairs):
    true, pred = (
        SequenceArray.from_sequences([[pair[k] for pair in s] for s in pairs]) for k in (0, 1)
    )
    match = match_segments(flatten(true, pred), "IOB2", "conlleval")
    found = sum(KINDS[kind] == "wrong boundary" for kind in match.kind)
    taken = {int(j) for kind, j in zip(match.kind, match.of_pred, strict=True) if kind in (0, 1)}
    free = [int(i) for kind, i in zip(match.kind, match.of_true, strict=True) if kind in (2, 3)]
    others = [j for j in range(len(match.pred.start)) if j not in taken]
    assert found == _most_pairs(match, free, others)
    for kind, i, j in zip(match.kind, match.of_true, match.of_pred, strict=True):
        assert KINDS[kind] != "wrong boundary" or _overlap(match, i, j)


def _overlap(match, i, j):
    a, b = ([part[k] for part in s] for s, k in ((match.true, i), (match.pred, j)))
    return a[0] == b[0] and a[3] == b[3] and a[1] < b[2] and b[1] < a[2]


def _most_pairs(match, true, pred):
    """By trying, for the first true segment, every partner and none."""
    if not true:
        return 0
    first, *others = true
    partners = [j for j in pred if _overlap(match, first, j)]
    tries = (1 + _most_pairs(match, others, [k for k in pred if k != j]) for j in partners)
    return max(_most_pairs(match, others, pred), *tries, 0)


def test_matches_are_in_the_order_of_the_text():
    true = SequenceArray.from_sequences([["O", "B-X", "O"], ["B-Y"]])
    pred = SequenceArray.from_sequences([["B-Z", "O", "B-X"], ["B-X"]])
    match = match_segments(flatten(true, pred), "IOB2", "conlleval")
    assert [KINDS[kind] for kind in match.kind] == ["spurious", "missed", "spurious", "wrong type"]
    assert match.of_true.tolist() == [-1, 0, -1, 1]
    assert match.of_pred.tolist() == [0, -1, 1, 2]


def test_a_segment_weighs_what_its_sequence_does():
    true, pred = [["B-X", "O"], ["B-X", "B-Y"]], [["O", "B-Y"], ["B-X", "O"]]
    errors = segment_errors(true, pred, sample_weight=[2.0, 3.0])
    assert errors.types == ["X", "Y"]
    assert errors.correct.tolist() == [3.0, 0.0]
    assert errors.missed.tolist() == [2.0, 3.0]
    assert errors.spurious.tolist() == [0.0, 2.0]


def test_no_segments_have_no_types():
    errors = segment_errors([["O"], []], [["O"], []])
    assert errors.types == []
    assert all(np.shape(counts) == (0,) for counts in errors[1:])
