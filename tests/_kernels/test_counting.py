from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn_crcrf._kernels._counting import count_keys, merge_events, pop_ids, push_ids


def counted(keys, weights, n_bits):
    unique, sums = count_keys(np.array(keys, dtype=np.uint64), np.array(weights, float), n_bits)
    return unique.tolist(), sums.tolist()


@given(st.data(), st.integers(0, 64))
def test_sums_of_equal_keys(data, n_bits):
    keys = st.integers(0, 2**n_bits - 1)
    pool = data.draw(st.lists(keys, min_size=1, max_size=5))
    chosen = data.draw(st.lists(st.one_of(st.sampled_from(pool), keys), max_size=60))
    weights = data.draw(
        st.lists(st.integers(0, 9), min_size=len(chosen), max_size=len(chosen)) | st.just([0.5])
    )
    expected = {}
    for i, key in enumerate(chosen):
        expected[key] = expected.get(key, 0.0) + weights[i if len(weights) > 1 else 0]
    unique = sorted(expected)
    assert counted(chosen, weights, n_bits) == (unique, [expected[key] for key in unique])


@pytest.mark.parametrize("n_bits", [10, 11, 12, 22, 23, 44, 45, 63, 64])
def test_the_highest_bit_counts(n_bits):
    top = 1 << (n_bits - 1)
    assert counted([top, 0, top, top - 1], [1.0], n_bits) == ([0, top - 1, top], [1, 1, 2])


def test_weights_are_summed_in_the_order_of_the_events():
    weights = np.random.default_rng(0).random(1000)
    total = 0.0
    for weight in weights:
        total += weight
    keys = np.tile([7, 1 << 30], 1000)
    assert counted(keys, np.repeat(weights, 2), 31) == ([7, 1 << 30], [total, total])


def test_no_keys():
    assert counted([], [], 20) == ([], [])
    assert counted([], [1.0], 20) == ([], [])


def test_number_of_weights():
    with pytest.raises(ValueError, match="2 weights for 3 keys"):
        counted([1, 2, 3], [1.0, 1.0], 2)


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 2**31 - 1), st.integers(-1, 0))))
def test_ids_come_back_from_keys(rows):
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T.copy()
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column, n_bits in zip(columns, [3, 32, 1], strict=True):
        push_ids(keys, column, n_bits)
    assert sorted(range(len(rows)), key=keys.__getitem__) == sorted(
        range(len(rows)), key=rows.__getitem__
    )
    back = np.empty_like(columns)
    for column, n_bits in zip(back[::-1], [1, 32, 3], strict=True):
        pop_ids(keys, n_bits, column)
    assert np.array_equal(back, columns)
    assert not keys.any()


@given(st.integers(1, 3), st.integers(0, 30), st.integers(0, 30), st.integers(0, 99))
def test_merged_events_are_counted_together(n_ids, n, n_more, seed):
    rng = np.random.default_rng(seed)
    rows = [tuple(row) for row in rng.integers(-1, 3, (n + n_more, n_ids)).tolist()]
    parts = [Counter(rows[:n]), Counter(rows[n:])]
    arrays = []
    for part in parts:
        events = np.array(sorted(part), dtype=np.int32, order="F").reshape(len(part), n_ids)
        arrays += [np.asfortranarray(events), np.array([part[k] for k in sorted(part)], float)]
    events, sums = merge_events(*arrays, -1.0)
    expected = {row: parts[0][row] - parts[1][row] for row in sorted(parts[0] | parts[1])}
    assert [*map(tuple, events.tolist())] == [*expected]
    assert sums.tolist() == [*expected.values()]
