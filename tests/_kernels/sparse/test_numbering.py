from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn_crcrf._kernels.sparse.keys import distinct_codes, number_keys

from sklearn_crcrf._kernels.sizes import check_number

INT64 = np.iinfo(np.int64)


def check(keys):
    reference = {}
    expected = [reference.setdefault(k, len(reference)) if k >= 0 else -1 for k in keys.tolist()]
    ids, first = number_keys(keys)
    assert ids.dtype == np.int32
    assert ids.tolist() == expected
    assert keys[first].tolist() == list(reference)
    assert np.array_equal(first, [expected.index(i) for i in range(len(reference))])


@given(st.lists(st.integers(-2, 5) | st.integers(INT64.min, INT64.max), max_size=100))
def test_agrees_with_a_dict(keys):
    check(np.array(keys, dtype=np.int64))


@pytest.mark.parametrize("step", [1, 2**10, 2**32, 2**50])
def test_growth_and_regular_keys(step):
    keys = np.arange(5000, dtype=np.int64) % 3000 * step
    ids, first = number_keys(keys)
    assert np.array_equal(ids, np.arange(5000) % 3000)
    assert np.array_equal(first, np.arange(3000))


@given(st.lists(st.integers(-1, 8), max_size=30))
def test_distinct_codes(codes):
    distinct = distinct_codes(np.array(codes, dtype=np.int32))
    assert distinct.dtype == np.int32
    assert distinct.tolist() == list(dict.fromkeys(c for c in codes if c >= 0))


def test_read_only_input():
    keys = np.arange(3)
    keys.flags.writeable = False
    assert number_keys(keys)[0].tolist() == [0, 1, 2]


def test_too_many_keys_are_refused(monkeypatch):
    small = partial(check_number, largest=2)
    monkeypatch.setattr("sklearn_crcrf._kernels.sparse.keys.check_number", small)
    with pytest.raises(OverflowError, match="3 keys, but at most 2"):
        number_keys(np.arange(3))
