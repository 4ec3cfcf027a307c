"""Entries of sparse matrices that are left out, or looked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn_crcrf._kernels.sparse.columns import find_entries, some_entries

columns = st.integers(-1, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=st.lists(st.lists(columns, max_size=6), max_size=8))
def test_entries_without_a_column_are_left_out(rows, dtype):
    indptr = np.append(0, np.cumsum([len(row) for row in rows], dtype=np.int64))
    indices = np.array([column for row in rows for column in row], dtype=np.int32)
    values = np.arange(len(indices), dtype=dtype)
    kept_values, kept_indices, kept_indptr = some_entries(indptr, indices, values)
    assert kept_values.dtype == dtype
    assert_array_equal(kept_values, values[indices >= 0])
    assert_array_equal(kept_indices, indices[indices >= 0])
    expected = [sum(column >= 0 for column in row) for row in rows]
    assert_array_equal(np.diff(kept_indptr), expected)
    assert kept_indptr[0] == 0


@given(rows=st.lists(st.lists(columns, max_size=6), max_size=8))
def test_columns_have_new_names_or_are_left_out(rows):
    indptr = np.append(0, np.cumsum([len(row) for row in rows], dtype=np.int64))
    indices = np.array([column for row in rows for column in row], dtype=np.int32)
    values = np.arange(len(indices), dtype=float)
    renamed = np.array([3, -1, 0, 1, -1, 7, -1], dtype=np.int32)  # the last is for -1
    kept_values, kept_indices, kept_indptr = some_entries(indptr, indices, values, renamed[:-1])
    new = renamed[indices]
    assert_array_equal(kept_values, values[new >= 0])
    assert_array_equal(kept_indices, new[new >= 0])
    assert_array_equal(kept_indptr, np.append(0, np.cumsum(new >= 0))[indptr])


@given(rows=st.lists(st.sets(st.integers(0, 9)), max_size=8), data=st.data())
def test_entries_are_found_in_their_rows(rows, data):
    entries = [(i, column) for i, row in enumerate(rows) for column in sorted(row)]
    indptr = np.append(0, np.cumsum([len(row) for row in rows], dtype=np.int64))
    columns = np.array([column for _, column in entries], dtype=np.int32)

    def find(wanted):
        of_wanted = np.array(wanted, dtype=np.int32).reshape(-1, 2).T.copy()
        places = np.empty(len(wanted), dtype=np.int64)
        return find_entries(indptr, columns, *of_wanted, places), places

    some = data.draw(st.lists(st.sampled_from(entries))) if entries else []
    found, places = find(some)
    assert found
    assert_array_equal(places, [entries.index(entry) for entry in some])
    other = data.draw(st.tuples(st.integers(-2, len(rows) + 1), st.integers(-1, 10)))
    assert find([*some, other])[0] == (other in entries)
