"""Rows of counts after changes are the rows of the sums."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn_crcrf._kernels.sparse.changes import Changes, EventIds

from sklearn_crcrf.counts.changed import counted_rows
from sklearn_crcrf.counts.counts import Table, aggregate
from tests.cases import for_each

NONE = np.zeros(1, dtype=np.int32)
ONE = np.ones(1)


def events_of(columns, offsets):
    """Each event as a tuple of ids, as a plain loop reads them."""
    found = []
    for start, stop in pairwise(offsets.tolist()):
        for t in range(start, stop):
            places = [t + shift for _, shift in columns]
            pairs = zip(columns, places, strict=True)
            found.append(tuple(int(c[0][k]) if start <= k < stop else -1 for c, k in pairs))
    return found


def random_case(rng):
    lengths = rng.integers(0, 6, rng.integers(1, 6))
    offsets = np.append(0, np.cumsum(lengths))
    n, n_ids = int(offsets[-1]), int(rng.integers(1, 4))
    columns = [
        (rng.integers(-1, 4, n).astype(np.int32), int(rng.integers(-2, 3))) for _ in range(n_ids)
    ]
    codes = rng.integers(-1, 5, n).astype(np.int32)
    return columns, offsets, codes, rng.integers(0, 4, n).astype(float)


def table_of(events, codes, weights):
    rows = np.array([(*e, c) for e, c in zip(events, codes, strict=True)], dtype=np.int32)
    used = codes >= 0
    return aggregate(rows[used].T, weights[used], int(used.sum()))


@for_each("seed", range(60))
def test_rows_are_sums_of_events(seed):
    rng = np.random.default_rng(seed)
    columns, offsets, codes, weights = random_case(rng)
    events, folds = events_of(columns, offsets), rng.integers(0, 3, len(codes)).astype(np.int32)
    if not len(events):
        return
    counted, ids, changes = (
        counted_rows(table_of(events, codes, weights)),
        EventIds(columns, offsets),
        Changes(),
    )
    changed = rng.integers(0, 3, len(codes)).astype(float)
    changes.add(4, ids, folds, codes, changed)
    changes.add(5, ids, folds, codes, changed + 1.0)  # of another template
    least, n_codes = float(rng.integers(0, 6)), int(rng.integers(3, 6))
    indptr, found, counts = changes.rows([(4, counted, ids, folds, least, n_codes)])
    for t, event in enumerate(events):
        expected = np.zeros(5)
        for other, code, weight, more, fold in zip(
            events, codes, weights, changed, folds, strict=True
        ):
            if other == event and code >= 0:
                expected[code] += weight + more * (fold == folds[t])
        own = np.zeros(5)
        own[found[indptr[t] : indptr[t + 1]]] = counts[indptr[t] : indptr[t + 1]]
        assert (np.diff(found[indptr[t] : indptr[t + 1]]) > 0).all()
        expected = np.where(np.arange(5) < n_codes, expected, 0.0) * (expected.sum() >= least)
        np.testing.assert_array_equal(own, expected)


@for_each("seed", range(40))
def test_what_is_subtracted_again_leaves_nothing(seed):
    rng = np.random.default_rng(seed)
    columns, offsets, codes, weights = random_case(rng)
    ids, changes = EventIds(columns, offsets), Changes()
    nothing = counted_rows(Table(np.empty((0, len(columns) + 1), dtype=np.int32), np.empty(0)))
    weights = weights / 3.0
    for _ in range(3):
        changes.add(0, ids, NONE, codes, weights)
    for _ in range(3):
        assert changes.add(0, ids, NONE, codes, -weights, nothing)
    indptr, _, _ = changes.rows([(0, nothing, ids, NONE, 0.0, 9)])
    assert indptr[-1] == 0


def test_counts_below_zero_are_noticed():
    a, codes = np.array([3], dtype=np.int32), np.array([1], dtype=np.int32)
    counted, changes = (
        counted_rows(Table(np.array([[3, 1]], dtype=np.int32), np.array([2.0]))),
        Changes(),
    )
    ids = EventIds([(a, 0)], np.array([0, 1]))
    assert changes.add(0, ids, NONE, codes, np.array([-2.0]), counted)
    assert not changes.add(0, ids, NONE, codes, np.array([-0.5]), counted)
    assert not changes.add(1, ids, NONE, codes + 1, -ONE, counted)


def test_many_events_make_the_tables_grow():
    rng = np.random.default_rng(0)
    columns = [(rng.integers(-1, 60, 5000).astype(np.int32), 0) for _ in range(3)]
    codes, changes = rng.integers(0, 9, 5000).astype(np.int32), Changes()
    ids = EventIds(columns, np.array([0, 5000]))
    changes.add(0, ids, NONE, codes, ONE)
    table = aggregate([*(c for c, _ in columns), codes], ONE, 5000)
    nothing = counted_rows(Table(np.empty((0, 4), dtype=np.int32), np.empty(0)))
    found = changes.rows([(0, nothing, ids, NONE, 0.0, 9)])
    expected = Changes().rows([(0, counted_rows(table), ids, NONE, 0.0, 9)])
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)


def test_arrays_that_do_not_fit_are_refused():
    ids = EventIds([(np.zeros(2, dtype=np.int32), 0)], np.array([0, 2]))
    counted = counted_rows(Table(np.array([[3, 1]], dtype=np.int32), np.array([2.0])))
    codes, changes = np.zeros(2, dtype=np.int32), Changes()
    with pytest.raises(ValueError, match="weights"):
        changes.add(0, ids, NONE, codes, np.ones(3))
    with pytest.raises(ValueError, match="codes"):
        changes.add(0, ids, NONE, codes[:1], ONE)
    with pytest.raises(ValueError, match="ids for 2 events"):
        EventIds([(codes[:1], 0)], np.array([0, 2]))
    with pytest.raises(ValueError, match="must not fall"):
        EventIds([(codes, 0)], np.array([0, 3, 2]))
    with pytest.raises(ValueError, match="more than 16"):
        EventIds([(codes, 0)] * 17, np.array([0, 2]))
    two = EventIds([(codes, 0)] * 2, np.array([0, 2]))
    with pytest.raises(ValueError, match="do not fit"):
        changes.rows([(0, counted, two, NONE, 0.0, 9)])
