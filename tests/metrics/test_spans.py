"""Metrics of spans of characters, against counts by hand and by enumeration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_crcrf.metrics import span_precision_recall_f1

spans = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from("AB")).map(
        lambda it: (it[0], it[0] + it[1], it[2])
    ),
    max_size=4,
    unique=True,
)


def test_by_hand():
    true = [[(0, 5, "A"), (7, 9, "B")], [(0, 2, "A")], []]
    pred = [[(0, 5, "A", 0.5), (8, 9, "B", 0.9)], [(0, 2, "B")], [(1, 2, "A")]]
    assert span_precision_recall_f1(true, pred) == (1 / 4, 1 / 3, pytest.approx(2 / 7), 3.0)
    overlap = span_precision_recall_f1(true, pred, match="overlap")
    assert overlap == (1 / 2, 2 / 3, pytest.approx(4 / 7), 3.0)


@given(st.lists(st.tuples(spans, spans), min_size=1, max_size=3))
def test_overlaps_are_counted_as_by_enumeration(documents):
    true, pred = map(list, zip(*documents, strict=True))

    def touched(these, those):
        return sum(
            any(k == m and s < f and b < e for b, f, m in other)
            for one, other in zip(these, those, strict=True)
            for s, e, k in one
        )

    n_true, n_pred = sum(map(len, true)), sum(map(len, pred))
    scores = span_precision_recall_f1(true, pred, match="overlap", zero_division=0.0)
    assert scores.precision == (touched(pred, true) / n_pred if n_pred else 0.0)
    assert scores.recall == (touched(true, pred) / n_true if n_true else 0.0)
    assert span_precision_recall_f1(true, true, zero_division=1.0).f1 == 1.0


def test_bad_input():
    with pytest.raises(ValueError, match="y_true has 1 documents, but y_pred has 2"):
        span_precision_recall_f1([[]], [[], []])
    for span in ("abc", (0, "b", "A"), (0, 1), 5):
        with pytest.raises(ValueError, match="y_pred: a span must be"):
            span_precision_recall_f1([[]], [[span]])
    with pytest.raises(ValueError, match="match must be one of exact, overlap"):
        span_precision_recall_f1([[]], [[]], match="some")
    with pytest.warns(UndefinedMetricWarning):
        assert span_precision_recall_f1([[]], [[]]).f1 == 0.0


@pytest.mark.parametrize("y", [None, 3, "text", [None], [3]])
def test_what_is_no_list_of_lists(y):
    for pair, name in (((y, [[]]), "y_true"), (([[]], y), "y_pred")):
        with pytest.raises(ValueError, match=name):
            span_precision_recall_f1(*pair)
