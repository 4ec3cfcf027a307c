import gc
import sys

import numpy as np
import pytest
from sklearn_crcrf._kernels.text.strings import StringTable, split_items, split_values


def test_items():
    keys = StringTable()
    marker = object()
    dicts = [{"a": 1, "b": "x"}, {}, {"b": marker, "c": None, "a": 2}, {3: 4}]
    ids, values, starts, kinds = split_items(dicts, keys)
    assert keys.symbols == ["a", "b", "c"]
    assert ids.tolist() == [0, 1, 1, 2, 0, -1]
    assert values == [1, "x", marker, None, 2, 4]
    assert starts.tolist() == [0, 2, 2, 5, 6]
    assert kinds == {int, str, object, type(None)}


def test_equal_keys_need_not_be_the_same_object():
    words = ["key" + str(i % 2) for i in range(100)]
    ids, *_ = split_items([{word: 0} for word in words], StringTable())
    assert ids.tolist() == [0, 1] * 50


def test_values_are_owned_once():
    marker = object()
    before = sys.getrefcount(marker)
    _, values, *_ = split_items([{"a": marker}, {"b": marker}], StringTable())
    gc.collect()
    assert sys.getrefcount(marker) == before + 2
    del values
    assert sys.getrefcount(marker) == before


@pytest.mark.parametrize("other", [None, "a", [("a", 1)]])
def test_other_than_dicts(other):
    with pytest.raises(TypeError):
        split_items([{"a": 1}, other], StringTable())


def test_values():
    values = ["x", 2, 0.5, True, "y", "x", 2**70, None, np.float64(3), np.bool_(True), -1]
    strings, ids, numbers = StringTable(), np.empty(11, dtype=np.int32), np.empty(11)
    others = split_values(values, strings, ids, numbers)
    assert others == [6, 7, 9]
    assert strings.symbols == ["x", "y"]
    assert ids.tolist() == [0, -1, -1, -1, 1, 0, -1, -1, -1, -1, -1]
    assert np.delete(numbers, others).tolist() == [1, 2, 0.5, 1, 1, 1, 3, -1]


def test_wrong_number_of_places():
    with pytest.raises(ValueError, match="must have 1 places"):
        split_values(["a"], StringTable(), np.empty(2, dtype=np.int32), np.empty(1))
