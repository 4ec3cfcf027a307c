"""The weights of tokens, labels and sequences."""

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf import HMM, SequenceArray
from sklearn_crcrf.base.sample_weight import label_weights, sequence_weights, token_weights
from sklearn_crcrf.data.sequences import as_sequences


@for_each(
    ("weights", "expected"),
    [
        (None, [1, 1, 1]),
        (2, [2, 2, 2]),
        ([3, 4, 5], [3, 3, 5]),
        ([[1, 2], [], [3]], [1, 2, 3]),
        ([[], [], []], None),
        (SequenceArray(np.array([1, 2, 3]), [0, 2, 2, 3]), [1, 2, 3]),
        ([1, 2], None),
        ([1, [2, 3], 4], None),
        ([[1, 2], [], 3], None),
        ([1, 2, -1], None),
        ([1, 2, np.nan], None),
        (np.inf, None),
    ],
)
def test_token_weights(weights, expected):
    X = [["a", "b"], [], ["c"]]
    if expected is None:
        with pytest.raises(ValueError, match="sample_weight"):
            token_weights(as_sequences(X), weights)
    else:
        found = token_weights(as_sequences(X), weights)
        assert found.tolist() == expected
        assert found.dtype == float


def test_weights_of_rows():
    pd = pytest.importorskip("pandas")
    table = np.zeros((2, 1))
    assert token_weights(as_sequences(table), [2, 3]).tolist() == [2, 3]
    index = pd.MultiIndex.from_tuples([("s", 1), ("t", 0), ("s", 0)])
    frame = pd.DataFrame({"w": ["b", "c", "a"]}, index=index)
    assert token_weights(as_sequences(frame), [1, 2, 3]).tolist() == [3, 1, 2]
    by_sequence = pd.Series([1.0, 2.0], index=[7, 8])
    X = [["a"], ["b", "c"]]
    assert token_weights(as_sequences(X), by_sequence).tolist() == [1, 2, 2]


def test_label_weights():
    classes, ids = np.array(["A", "B", "C"]), np.array([0, -1, 1, 1, 0, 1])
    assert label_weights(None, classes, ids).tolist() == [1, 1, 1, 1, 1, 1]
    assert label_weights({"B": 3.0}, classes, ids).tolist() == [1, 1, 3, 3, 1, 3]
    balanced = label_weights("balanced", classes, ids)
    assert balanced == pytest.approx([5 / 4, 1, 5 / 6, 5 / 6, 5 / 4, 5 / 6])
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="class_weight"):
            label_weights({"B": weight}, classes, ids)


def test_a_sequence_weighs_what_its_tokens_do_on_average():
    weights, offsets = np.array([1.0, 2.0, 6.0]), np.array([0, 0, 2, 2, 3, 3])
    assert sequence_weights(weights, offsets).tolist() == [0, 1.5, 0, 6, 0]


def test_lists_without_end_are_refused_by_name():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="sample_weight"):
        HMM().fit([["a"], ["b"]], [["A"], ["B"]], sample_weight=endless)
