"""Codes of labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.estimators.output_codes.codes import (
    CODES,
    balanced_code,
    check_rows_differ,
    error_bounds,
    given_code,
    one_vs_rest,
    random_code,
)

FREQUENCIES = np.array([1000, 500, 400, 300, 200, 100, 50, 20, 10, 5, 2, 1])


@pytest.mark.parametrize("make", CODES.values(), ids=CODES)
def test_labels_have_codes_of_their_own(make):
    code = make(FREQUENCIES, 24, np.random.RandomState(0))
    assert code.dtype == bool
    check_rows_differ(code, np.arange(12))
    assert_array_equal(code, make(FREQUENCIES, 24, np.random.RandomState(0)))


def test_balanced_columns_split_the_tokens_and_random_ones_the_labels():
    balanced = balanced_code(FREQUENCIES, 24, np.random.RandomState(0))
    random = random_code(FREQUENCIES, 24, np.random.RandomState(0))
    parts = np.abs(FREQUENCIES @ balanced / FREQUENCIES.sum() - 0.5)
    assert np.median(parts) < 0.05
    assert np.median(np.abs(FREQUENCIES @ random / FREQUENCIES.sum() - 0.5)) > 0.05
    assert 0.3 < random.mean() < 0.7


def test_one_vs_rest():
    rng = np.random.RandomState(0)
    assert_array_equal(one_vs_rest(np.ones(3), 64, rng), np.eye(3))
    assert_array_equal(one_vs_rest(np.ones(2), 64, rng), [[0], [1]])
    assert one_vs_rest(np.ones(1), 64, rng).shape == (1, 1)


def test_given_codes_are_checked():
    assert_array_equal(given_code([[0, 1], [1.0, 1]], 2), [[False, True], [True, True]])
    with pytest.raises(ValueError, match="code has 2 rows, but there are 3 labels"):
        given_code(np.eye(2), 3)
    with pytest.raises(ValueError, match=r"code, row 1, column 0: 2 is no bit"):
        given_code([[0, 1], [2, 1]], 2)
    with pytest.raises(ValueError, match=r"the labels 'A' and 'C' have the same code"):
        check_rows_differ(np.array([[0], [1], [0]]), np.array(["A", "B", "C"]))


def test_bounds_are_infinite_while_codes_are_equal_and_fall_with_distance():
    code = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    bounds = error_bounds(code, np.array([0.2, 0.2, 0.2]), 4.0)
    assert np.isinf(bounds[0])
    assert_allclose(bounds[1:], [0.4 / (4 * np.log(2)), 0.6 / (4 * 2 * np.log(2))])
