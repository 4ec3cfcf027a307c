"""The hash table over arrays."""

import numpy as np
import pytest
from cases import for_each
from sklearn_crcrf._kernels.text.strings import FrozenStrings, frozen_arrays

STRINGS = ["", "a", "ab", "é", "日本", "\U0001d400", "\ud800", "a\0b", "a\0", "x" * 1000]


def table(strings):
    return FrozenStrings(*frozen_arrays(strings))


@for_each("n", [0, 1, 100, 5000])
def test_it_finds_what_it_has(n):
    strings = [f"word {i}" for i in range(n)]
    found = table(strings)
    assert [found.find(s) for s in strings] == list(range(n))
    assert found.find("word") == found.find(f"word {n}") == -1


def test_strings_of_all_kinds():
    found = table(STRINGS)
    assert [found.find(s) for s in STRINGS] == list(range(len(STRINGS)))
    assert [found.find(s) for s in ("b", "日", "a\0b\0", "x" * 999)] == [-1] * 4


def test_the_key_differs():
    assert (frozen_arrays(["a"])[-1] != frozen_arrays(["a"])[-1]).any()


def damaged():
    blob, starts, slots, key = frozen_arrays([f"word {i}" for i in range(20)])
    yield blob[:-1], starts, slots, key
    yield blob, starts[:-1], slots, key
    yield blob, starts[:0], slots, key
    yield blob, np.where(starts == starts[3], starts[9], starts), slots, key
    yield blob, starts, slots[:-1], key
    yield blob, starts, slots[:0], key
    yield blob, starts, np.where(slots == 3, 21, slots), key
    yield blob, starts, -slots, key
    yield blob, starts, np.full_like(slots, 1), key
    yield blob, starts, slots[:, :1].copy(), key
    yield blob, starts, slots, key[:2]


@for_each("arrays", list(damaged()))
def test_damaged_arrays(arrays):
    with pytest.raises(ValueError, match="damaged"):
        FrozenStrings(*arrays)
