"""Links with equal attributes."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_crcrf.linear.link_tables import MOST_ENTRIES, different_rows, link_tables


@pytest.mark.parametrize("shape", [(0, 3), (7, 0), (40, 2), (40, 5)])
def test_each_row_is_one_of_the_different_rows(shape):
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(rng.integers(-1, 2, size=shape).astype(float))
    which, different = different_rows(matrix)
    assert_array_equal(different.toarray()[which], matrix.toarray())
    assert len(np.unique(different.toarray(), axis=0)) == different.shape[0]


def test_rows_that_are_written_differently():
    matrix = sp.csr_array((np.ones(5), [1, 0, 1, 1, 0], [0, 1, 3, 5]), shape=(3, 2))
    which, different = different_rows(matrix)
    assert which.tolist() == [1, 0, 0] and different.shape[0] == 2
    assert matrix.indices.tolist() == [1, 0, 1, 1, 0]


def test_tables_pay_if_there_are_few():
    pairs = sp.csr_array([[0.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0]])
    row, indptr, _, _ = link_tables(pairs, 4)
    assert len(indptr) == 3 and row[1] == row[3] != row[2]
    assert len(link_tables(pairs, 3)[1]) == 1
    assert len(link_tables(sp.csr_array(np.ones((4, 1))), 1)[1]) == 2
    assert len(link_tables(sp.csr_array(np.ones((4, MOST_ENTRIES + 1))), 30)[1]) == 1
    assert len(link_tables(pairs, 10**6)[1]) == 1


@pytest.mark.parametrize("last", [[0.0, 2.0, 3.0], [0.0, 2.0, 4.0], [2.0, 0.0, 3.0]])
def test_rows_that_may_all_be_equal(last):
    matrix = sp.csr_array([[0.0, 2.0, 3.0]] * 3 + [last])
    which, different = different_rows(matrix)
    assert different.shape[0] == len({(0.0, 2.0, 3.0), tuple(last)})
    assert_array_equal(different.toarray()[which], matrix.toarray())
