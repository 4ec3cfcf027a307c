"""Rows of counts after changes are the rows of the sums."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn_crcrf._kernels.sparse.changes import Changes, CountedRows, EventTables

from sklearn_crcrf.counts.counts import Table, aggregate
from sklearn_crcrf.counts.rows import KeyIndex
from tests.cases import for_each

NONE = np.zeros(1, dtype=np.int32)
ONE = np.ones(1)


def counted(number, table, n_codes=9, least=0.0):
    index, starts = KeyIndex.of_runs(table.events[:, :-1])
    codes = np.ascontiguousarray(table.events[:, -1])
    of_rows = starts, codes, table.weights
    return CountedRows(number, index._first, index._levels, *of_rows, n_codes, least)


def nothing(number, n_ids):
    return counted(number, Table(np.empty((0, n_ids + 1), dtype=np.int32), np.empty(0)))


def events_of(ids, symbols, offsets):
    """Each event as a tuple of ids, as a plain loop reads them."""
    found = []
    for start, stop in pairwise(offsets.tolist()):
        for t in range(start, stop):
            places = [(t + shift, column) for column, shift in symbols]
            found.append(tuple(int(ids[k]) if start <= k[0] < stop else -1 for k in places))
    return found


def random_case(rng):
    lengths = rng.integers(0, 6, rng.integers(1, 6))
    offsets = np.append(0, np.cumsum(lengths))
    n = int(offsets[-1])
    ids = rng.integers(-1, 4, (n, 3)).astype(np.int32)
    codes = rng.integers(-1, 5, n).astype(np.int32)
    return ids, random_symbols(rng), offsets, codes, rng.integers(0, 4, n).astype(float)


def random_symbols(rng):
    n_ids = int(rng.integers(1, 4))
    return [(int(rng.integers(3)), int(rng.integers(-2, 3))) for _ in range(n_ids)]


def table_of(events, codes, weights):
    rows = np.array([(*e, c) for e, c in zip(events, codes, strict=True)], dtype=np.int32)
    used = codes >= 0
    return aggregate(rows[used].T, weights[used], int(used.sum()))


@for_each("seed", range(60))
def test_rows_are_sums_of_events(seed):
    rng = np.random.default_rng(seed)
    ids, symbols, offsets, codes, weights = random_case(rng)
    folds, n = rng.integers(0, 3, len(codes)).astype(np.int32), len(codes)
    if n == 0:
        return
    least, n_codes = float(rng.integers(0, 6)), int(rng.integers(3, 6))
    several = [symbols, random_symbols(rng)]
    events = [events_of(ids, own, offsets) for own in several]
    tables = EventTables(
        [
            (counted(4 - k, table_of(own, codes, weights), n_codes, least), several[k], k)
            for k, own in enumerate(events)
        ]
    )
    changes, changed = Changes(), rng.integers(0, 3, n).astype(float)
    other = nothing(7, len(symbols))
    changes.add(EventTables([(other, symbols, 0)]), ids, offsets, folds, [(codes, ONE)])
    changes.clear()
    labellings = [(codes, changed), (codes, 2.0 * changed)]
    changes.add(tables, ids, offsets, folds, labellings)
    changes.add(EventTables([(other, symbols, 0)]), ids, offsets, folds, [(codes, ONE)])
    indptr, found, counts = changes.rows([(tables, ids, offsets, folds)])
    assert len(indptr) == 2 * n + 1
    for row in range(2 * n):
        k, t = divmod(row, n)
        event, expected = events[k][t], np.zeros(5)
        for other, code, weight, more, fold in zip(
            events[k], codes, weights, labellings[k][1], folds, strict=True
        ):
            if other == event and code >= 0:
                expected[code] += weight + more * (fold == folds[t])
        own, entries = np.zeros(5), slice(indptr[row], indptr[row + 1])
        own[found[entries]] = counts[entries]
        assert (np.diff(found[entries]) > 0).all()
        expected = np.where(np.arange(5) < n_codes, expected, 0.0) * (expected.sum() >= least)
        np.testing.assert_array_equal(own, expected)


@for_each("seed", range(40))
def test_what_is_subtracted_again_leaves_nothing(seed):
    rng = np.random.default_rng(seed)
    ids, symbols, offsets, codes, weights = random_case(rng)
    tables = EventTables([(nothing(0, len(symbols)), symbols, 0)])
    changes, weights = Changes(), weights / 3.0
    for _ in range(3):
        changes.add(tables, ids, offsets, NONE, [(codes, weights)])
    for _ in range(3):
        assert changes.add(tables, ids, offsets, NONE, [(codes, -weights)])
    indptr, _, _ = changes.rows([(tables, ids, offsets, NONE)])
    assert indptr[-1] == 0


def test_counts_below_zero_are_noticed():
    a, code = np.array([[3]], dtype=np.int32), np.array([1], dtype=np.int32)
    table = Table(np.array([[3, 1]], dtype=np.int32), np.array([2.0]))
    tables = EventTables([(counted(0, table), [(0, 0)], 0)])
    others = EventTables([(counted(1, table), [(0, 0)], 0)])
    changes, offsets = Changes(), np.array([0, 1])
    assert changes.add(tables, a, offsets, NONE, [(code, np.array([-2.0]))])
    assert not changes.add(tables, a, offsets, NONE, [(code, np.array([-0.5]))])
    assert not changes.add(others, a, offsets, NONE, [(code + 1, -ONE)])


def test_many_events_make_the_tables_grow():
    rng = np.random.default_rng(0)
    ids, symbols = rng.integers(-1, 60, (5000, 3)).astype(np.int32), [(k, 0) for k in range(3)]
    codes, offsets = rng.integers(0, 9, 5000).astype(np.int32), np.array([0, 5000])
    table = aggregate([*ids.T, codes], ONE, 5000)
    changed, fixed = Changes(), EventTables([(counted(0, table), symbols, 0)])
    tables = EventTables([(nothing(0, 3), symbols, 0)])
    changed.add(tables, ids, offsets, NONE, [(codes, ONE)])
    found = changed.rows([(tables, ids, offsets, NONE)])
    expected = Changes().rows([(fixed, ids, offsets, NONE)])
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)


def test_arrays_that_do_not_fit_are_refused():
    ids, offsets, codes = np.zeros((2, 1), np.int32), np.array([0, 2]), np.zeros(2, np.int32)
    table, changes = nothing(0, 1), Changes()
    tables = EventTables([(table, [(0, 0)], 0)])
    for wrong in ((codes, np.ones(3)), (codes[:1], ONE)):
        with pytest.raises(ValueError, match="2 events"):
            changes.add(tables, ids, offsets, NONE, [wrong])
    with pytest.raises(ValueError, match="ids for 2 events"):
        changes.rows([(tables, ids[:1], offsets, NONE)])
    with pytest.raises(ValueError, match="ids for 2 events"):
        changes.rows([(EventTables([(table, [(1, 0)], 0)]), ids, offsets, NONE)])
    with pytest.raises(ValueError, match="3 folds"):
        changes.rows([(tables, ids, offsets, np.zeros(3, np.int32))])
    with pytest.raises(ValueError, match="must not fall"):
        changes.rows([(tables, ids, np.array([0, 3, 2]), NONE)])
    with pytest.raises(ValueError, match="more than 16"):
        EventTables([(table, [(0, 0)] * 17, 0)])
    with pytest.raises(ValueError, match="attributes of 1 ids"):
        EventTables([(table, [(0, 0)] * 2, 0)])
