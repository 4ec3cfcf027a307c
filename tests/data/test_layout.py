"""Values of tokens go into the container of X and come out of it again."""

import re

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from numpy.testing import assert_array_equal

from sklearn_crcrf import CRF, SequenceArray, as_sequences

ORDER = pd.MultiIndex.from_tuples([("s", 1), ("t", 0), ("s", 0), ("t", 1)])
CONTAINERS = {
    "lists": [["a", "b"], [], ["c", "d"]],
    "SequenceArray": SequenceArray(np.array(["a", "b", "c", "d"]), [0, 2, 2, 4]),
    "array": np.zeros((4, 2)),
    "frame": pd.DataFrame({"w": ["a", "b", "c", "d"]}),
    "frame of sequences": pd.DataFrame({"w": ["b", "c", "a", "d"]}, index=ORDER),
}
containers = for_each("X", CONTAINERS.values())


@containers
@for_each("values", [np.arange(4), np.array(["N", "V", None, "D"], dtype=object)])
def test_there_and_back(X, values):
    mirror = as_sequences(X).mirror
    there = mirror(values)
    back = mirror.flat(there, "y")
    assert_array_equal(back.data, values)
    assert_array_equal(back.offsets, mirror.offsets)


@containers
def test_too_few_values_are_refused(X):
    mirror = as_sequences(X).mirror
    fewer = mirror(np.arange(4))[:-1]
    with pytest.raises(ValueError, match=r"X has \d sequences, but weights has|inconsistent"):
        mirror.flat(fewer, "weights")


def test_rows_are_in_the_order_of_the_frame():
    mirror = as_sequences(CONTAINERS["frame of sequences"]).mirror
    assert mirror(np.array([10, 20, 30, 40])).tolist() == [20, 30, 10, 40]
    assert mirror.flat([20, 30, 10, 40], "y").data.tolist() == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.array([["a", "b"], ["c", "d"]]), np.array([["N", "V"], ["N", "V"]]), "X.tolist()"),
        (np.array([["a", "b"], ["c", "d"]]), [["N", "V"], ["N", "V"]], "X.tolist()"),
        (CONTAINERS["frame of sequences"], [["N", "V"], ["N", "V"]], "a label for each row"),
    ],
)
def test_labels_of_sequences_for_a_table(X, y, message):
    for read in (as_sequences, CRF().fit):
        with pytest.raises(ValueError, match=f"y holds sequences, but .*{re.escape(message)}"):
            read(X, y)


@pytest.mark.parametrize("y", [list("NVND"), np.array(list("NVND")), pd.Series([1, 2, 1, 0])])
@pytest.mark.parametrize(
    "X", [CONTAINERS["lists"], CONTAINERS["SequenceArray"]], ids=["lists", "array"]
)
def test_labels_without_sequences(X, y):
    with pytest.raises(
        ValueError, match=r"y has one value after another.*from_lengths\(y, lengths"
    ):
        as_sequences(X, y)


@containers
def test_tables_are_told_from_sequences(X):
    assert as_sequences(X).mirror.is_table == (isinstance(X, (np.ndarray, pd.DataFrame)))
