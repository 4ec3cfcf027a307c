"""Which candidates become features."""

import numpy as np

from sklearn_crcrf.estimators.induction.conjunctions import Conjunctions
from sklearn_crcrf.estimators.induction.gains import Sums
from sklearn_crcrf.estimators.induction.rounds import Scored, best, round_sizes

PAIR = Conjunctions(2, np.array([0], np.int32), np.array([1], np.int32))


def chosen(columns, labels, scores, expected=None, most=10):
    n = len(columns)
    expected = np.arange(n, dtype=float) if expected is None else np.array(expected)
    ones = np.ones(n)
    sums = Sums(ones, expected, expected, 10 * ones, 10 * ones)
    arrays = (
        np.array(columns, dtype=int),
        np.array(labels, dtype=int),
        sums,
        np.array(scores, dtype=float),
    )
    found = best(Scored(*arrays), PAIR, 2, most)
    return list(zip(found.columns.tolist(), found.labels.tolist(), strict=True))


def test_the_best_come_first():
    assert chosen([0, 1, 1], [0, 0, 1], [1, 3, 2]) == [(1, 0), (1, 1), (0, 0)]
    assert chosen([0, 1, 1], [0, 0, 1], [1, 3, 2], most=2) == [(1, 0), (1, 1)]
    assert chosen([], [], []) == []


def test_a_conjunction_waits_for_its_parts():
    assert chosen([0, 2], [1, 1], [5, 6]) == [(0, 1)]
    assert chosen([1, 2], [1, 1], [5, 6]) == [(1, 1)]
    assert chosen([1, 2], [1, 1], [5, 8]) == [(2, 1), (1, 1)]
    assert chosen([1, 2], [0, 1], [5, 6]) == [(2, 1), (1, 0)]


def test_of_equal_columns_the_simplest_is_enough():
    assert chosen([0, 1, 2], [0, 0, 0], [1, 1, 9], expected=[2.0, 2.0, 2.0]) == [(0, 0)]
    assert len(chosen([0, 1], [0, 1], [1, 1], expected=[2.0, 2.0])) == 2


def test_round_sizes_double_and_sum_to_the_whole():
    assert round_sizes(70, 3) == [10, 20, 40]
    assert sum(round_sizes(1000, 6)) == 1000
    assert round_sizes(3, 4) == [1, 2]
