"""Arrays of sequences that are padded to one length."""

import numpy as np
import pytest

from sklearn_crcrf import CRF, as_sequences

NAN = np.nan
X = np.array([[[1.0, NAN], [2.0, 0.0]], [[3.0, 1.0], [NAN, NAN]], [[NAN, NAN], [NAN, NAN]]])
X[0, 0, 1] = 5.0
ROWS = [X[0], X[1, :1], X[2, :0]]


def test_rows_of_nan_at_the_end_are_no_tokens():
    found = as_sequences(X).X
    assert found.lengths.tolist() == [2, 1, 0]
    assert np.array_equal(found.data, np.vstack(ROWS))
    assert as_sequences(np.ones((2, 3, 1), dtype=int)).X.lengths.tolist() == [3, 3]


@pytest.mark.parametrize(
    "y",
    [
        [["A", "B"], ["A"], []],
        np.array([["A", "B"], ["A", ""], ["", ""]]),
        np.array([["A", "B"], ["A", None], [None, None]], dtype=object),
        np.array([["A", "B", ""], ["A", "", ""], ["", "", ""]]),
    ],
)
def test_labels_may_be_padded(y):
    for given in (X, ROWS, as_sequences(X).X):
        assert as_sequences(given, y).y.tolist() == [["A", "B"], ["A"], []]


@pytest.mark.parametrize("padding", [-1, NAN])
def test_numbers_as_labels(padding):
    y = np.array([[0, 1], [2, padding], [padding, padding]])
    assert as_sequences(X, y).y.data.tolist() == [0, 1, 2]


def test_predictions_are_those_for_lists():
    y = np.array([["A", "B"], ["A", ""], ["", ""]])
    expected = CRF().fit(ROWS, [["A", "B"], ["A"], []]).predict(ROWS).tolist()
    assert CRF().fit(X, y).predict(X).tolist() == expected


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([["A", "B"], ["A", "B"], ["", ""]]), "sequence 1 has 1 tokens in X, but 2 in y"),
        (np.array([["A"], ["A"], [""]]), "sequence 0 has 2 tokens in X, but 1 in y"),
        (np.array([["A", "B"]]), "X has 3 sequences, but y has 1"),
    ],
)
def test_labels_that_do_not_fit(y, message):
    with pytest.raises(ValueError, match=message):
        as_sequences(X, y)


def test_nan_within_a_sequence_is_refused():
    wrong = X.copy()
    wrong[0, 0] = NAN
    with pytest.raises(ValueError, match="X, sequence 0, position 0: nan is not finite"):
        as_sequences(wrong)
