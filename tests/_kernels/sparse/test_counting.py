from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn_crcrf._kernels.sparse.keys import count_rows, index_runs, merge_events


def counted(rows, weights, n_columns=1, moves=None, offsets=(0,)):
    """The different rows as tuples, and their sums; ``moves`` are the offsets of the columns."""
    ids = np.array(rows, dtype=np.int32).reshape(len(rows), n_columns).T.copy()
    columns = zip(ids, moves or [0] * n_columns, strict=True)
    found, sums = count_rows(columns, np.array(offsets), np.array(weights, float), len(rows))
    return [*map(tuple, found.tolist())], sums.tolist()


ids = st.integers(-1, 6) | st.sampled_from([2**11 - 2, 2**11 - 1, 2**31 - 1])


@given(st.data(), st.integers(1, 5))
def test_sums_of_equal_rows(data, n_columns):
    """Also of rows that take more than 64 bits; sums of zero are left out."""
    pool = data.draw(st.lists(st.tuples(*[ids] * n_columns), min_size=1, max_size=5))
    rows = data.draw(st.lists(st.sampled_from(pool), max_size=40))
    n = len(rows)
    weights = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n) | st.just([0.5]))
    expected = {}
    for i, row in enumerate(rows):
        expected[row] = expected.get(row, 0.0) + weights[i if len(weights) > 1 else 0]
    expected = {row: expected[row] for row in sorted(expected) if expected[row] > 0}
    assert counted(rows, weights, n_columns) == ([*expected], [*expected.values()])


@given(
    st.lists(st.lists(ids, max_size=4), min_size=1, max_size=5),
    st.lists(st.integers(-3, 3), min_size=1, max_size=4),
)
def test_ids_at_offsets_in_sequences(sequences, moves):
    tokens = [token for sequence in sequences for token in sequence]
    offsets = np.cumsum([0, *map(len, sequences)])
    expected = Counter(
        tuple(s[t + k] if 0 <= t + k < len(s) else -1 for k in moves)
        for s in sequences
        for t in range(len(s))
    )
    rows = [[token] * len(moves) for token in tokens]
    found = counted(rows, [1.0], len(moves), moves, offsets)
    assert found == (sorted(expected), [expected[row] for row in sorted(expected)])


def test_weights_are_summed_in_the_order_of_the_rows():
    weights = np.random.default_rng(0).random(1000)
    total = 0.0
    for weight in weights:
        total += weight
    rows = np.tile([7, 1 << 30], 1000)
    assert counted(rows, np.repeat(weights, 2)) == ([(7,), (1 << 30,)], [total, total])


def test_no_rows():
    assert counted([], []) == ([], [])
    assert counted([], [1.0], 3) == ([], [])


def test_number_of_weights():
    with pytest.raises(ValueError, match="2 weights for 3 rows"):
        counted([1, 2, 3], [1.0, 1.0])


# The first id indexes a table, so that it stays small here.
@given(st.integers(1, 4), st.lists(st.tuples(st.integers(-1, 6), *[ids] * 3), max_size=12))
def test_runs_of_equal_rows(n_ids, rows):
    rows = sorted(row[:n_ids] for row in rows)
    starts, first, levels = index_runs(np.array(rows, dtype=np.int32).reshape(-1, n_ids))
    begins = [i for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]
    assert starts.tolist() == [*begins, len(rows)]
    number = {id: n for n, id in enumerate(sorted({row[0] for row in rows}))}
    assert {k - 1: n for k, n in enumerate(first.tolist()) if n >= 0} == number
    for k, level in enumerate(levels, 1):
        heads = sorted({row[:k] for row in rows})
        longer = sorted({row[: k + 1] for row in rows})
        assert level.tolist() == [heads.index(row[:k]) << 32 | (row[k] + 1) for row in longer]


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
