"""Probabilities of labels: how they are read, and the labellings they stand for."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from soft_labels import labellings, random_markov, random_rows

from sklearn_crcrf import GraphArray, SequenceArray
from sklearn_crcrf.data.sequences import as_sequences
from sklearn_crcrf.labels import soft
from sklearn_crcrf.labels.soft import declared_labels, soft_labels

X = [["the", "dog", "walks"], [], ["dogs"], ["it", "is"]]
LABELS = ["V", "D", "N"]
ROWS = [random_rows(len(x), 3, np.random.default_rng(i)) for i, x in enumerate(X)]
MARKOV = [random_markov(len(x), 3, np.random.default_rng(i)) for i, x in enumerate(X)]


def read(y, labels=LABELS, pair_marginals=None, X=X):
    return soft_labels(y, labels, pair_marginals).read(as_sequences(X))


def as_array(rows):
    return SequenceArray.from_lengths(np.concatenate(rows), [len(row) for row in rows])


def test_columns_are_put_in_the_order_of_the_labels():
    given = read(ROWS)
    assert given.classes.tolist() == ["D", "N", "V"]
    assert_allclose(given.tokens.toarray(), np.concatenate(ROWS)[:, [1, 2, 0]])
    assert (given.tokens.data > 0).all() and given.pairs is None
    rows, pairs = zip(*MARKOV, strict=True)
    given = read([*rows], pair_marginals=[*pairs])
    tables = given.pairs.toarray().reshape(-1, 3, 3)
    assert_allclose(tables[1:3], pairs[0][:, [1, 2, 0]][:, :, [1, 2, 0]])
    assert not tables[[0, 3, 4]].any()


@for_each(
    "convert",
    [
        as_array,
        lambda rows: as_array(rows).with_data(sp.csr_array(as_array(rows).data)),
        lambda rows: [sp.csr_array(row) for row in rows],
        lambda rows: [row.tolist() for row in rows],
        lambda rows: np.array([*rows, None], dtype=object)[:-1],
    ],
)
def test_containers(convert):
    assert_array_equal(read(convert(ROWS)).tokens.toarray(), read(ROWS).tokens.toarray())


def test_rows_of_a_table():
    rows, table = np.concatenate(ROWS), np.arange(12.0).reshape(6, 2)
    expected = read(ROWS).tokens.toarray()
    for y in (rows, sp.csr_array(rows), pd.DataFrame(rows)):
        assert_array_equal(read(y, X=table).tokens.toarray(), expected)
    index = pd.MultiIndex.from_tuples([(0, 1), (1, 0), (0, 0), (2, 0), (2, 1), (1, 1)])
    frame = pd.DataFrame(table, index=index)
    in_order = np.lexsort((index.get_level_values(1), index.get_level_values(0)))
    assert_array_equal(read(rows, X=frame).tokens.toarray(), expected[in_order])


def test_rounding_is_removed():
    rows = [row.astype(np.float32) for row in ROWS]
    assert_allclose(read(rows).tokens.sum(axis=1), 1.0, rtol=1e-15)
    assert_allclose(read(rows).tokens.toarray(), read(ROWS).tokens.toarray(), atol=1e-7)


def test_without_labels_y_stays():
    assert soft_labels(ROWS, None) is ROWS
    assert declared_labels([["N"]]) is None
    assert declared_labels(soft_labels(ROWS, LABELS)) == LABELS
    assert declared_labels(soft_labels(ROWS, LABELS), ["N"]) == ["N"]


def changed(values, i, where, value):
    values = [v.copy() for v in values]
    values[i][where] = value
    return values


PAIRS = [row[:-1, :, None] * row[1:, None, :] for row in ROWS]


@for_each(
    "y, more, message",
    [
        (changed(ROWS, 3, (1, 0), 7.0), {}, "y, sequence 3, position 1: the probabilities sum to"),
        (changed(ROWS, 0, (2, 1), -0.5), {}, "y, sequence 0, position 2: .* but is -0.5"),
        (changed(ROWS, 0, (2, 1), np.nan), {}, "y, sequence 0, position 2: .* but is nan"),
        (changed(ROWS, 0, (2, 1), np.inf), {}, "y, sequence 0, position 2: .* but is inf"),
        (changed(ROWS, 2, (0,), 0.0), {}, "y, sequence 2, position 0: .* sum to 0, not to 1"),
        ([row[:, :2] for row in ROWS], {}, r"y, sequence 0: .* shape \(3, 3\).* have \(3, 2\)"),
        ([ROWS[0], *ROWS[:3]], {}, r"y, sequence 1: .* shape \(0, 3\).* have \(3, 3\)"),
        (ROWS[:2], {}, "X has 4 sequences, but y has 2"),
        (as_array(ROWS)[:2], {}, r"y must have sequences of the lengths \[3, 0, 1, 2\]"),
        ([["D", "N", "V"], [], ["N"], ["N", "V"]], {}, "y, sequence 0: it must hold probabilities"),
        ([row * 1j for row in ROWS], {}, "y, sequence 0: .* not complex"),
        (None, {}, "labels are given, but y is None"),
        (2.5, {}, "y must be a list of arrays or a SequenceArray, but is a float"),
        (sp.csr_array(np.concatenate(ROWS)), {}, "y must be a list of arrays"),
        (np.array(3), {}, "y must be a list of arrays"),
        (ROWS, {"labels": 3}, "labels must be a list of labels, but is of type int"),
        (ROWS, {"labels": {"V", "D", "N"}}, "labels must be a list of labels, but is of type set"),
        (ROWS, {"labels": ["V", "D", "V"]}, "labels: 'V' is the label of several columns"),
        (ROWS, {"labels": ["V", "D", None]}, "labels, position 2: None is no label"),
        (ROWS, {"labels": "VDN"}, "labels is the single string"),
        (ROWS, {"labels": None, "pair_marginals": PAIRS}, "pair_marginals need labels"),
        (ROWS, {"pair_marginals": ROWS}, r"pair_marginals, sequence 0: .* shape \(2, 3, 3\)"),
        (
            ROWS,
            {"pair_marginals": changed(PAIRS, 3, (0,), 1 / 9)},
            "y, sequence 3, position 0: .* not the sums of pair_marginals .* token after it",
        ),
        (
            ROWS,
            {"pair_marginals": changed(PAIRS, 0, (1,), PAIRS[0][1].sum(axis=1)[:, None] / 3)},
            "y, sequence 0, position 2: .* not the sums of pair_marginals .* token before it",
        ),
        (
            ROWS,
            {"pair_marginals": changed(PAIRS, 0, (1, 2, 2), 9.0)},
            "pair_marginals, sequence 0, position 1: the probabilities sum to",
        ),
    ],
)
def test_errors(y, more, message):
    with pytest.raises(ValueError, match=message):
        read(y, **more)


def test_pairs_are_of_sequences():
    graphs = GraphArray.from_parents(X, [[-1, 0, 0], [], [-1], [-1, 0]])
    for other in (graphs, np.arange(12.0).reshape(6, 2)):
        y = np.concatenate(ROWS) if other is not graphs else ROWS
        with pytest.raises(ValueError, match="pair_marginals are for sequences"):
            read(y, pair_marginals=PAIRS, X=other)


def test_renumbered():
    rows, pairs = zip(*MARKOV, strict=True)
    given = read([*rows], ["D", "N", "V"], [*pairs])
    moved = given.renumbered(np.array([4, 0, 2]), 5)
    assert_array_equal(moved.tokens.toarray()[:, [4, 0, 2]], given.tokens.toarray())
    tables = moved.pairs.toarray().reshape(-1, 5, 5)[:, [4, 0, 2]][:, :, [4, 0, 2]]
    assert_array_equal(tables, given.pairs.toarray().reshape(-1, 3, 3))
    classes, all_of_them = given.among(["V", "X", "D", "N"])
    assert classes.tolist() == ["D", "N", "V", "X"] and all_of_them.n_labels == 4
    with pytest.raises(ValueError, match=r"labels, .*'V' is not among the classes"):
        given.among(["D", "N"])


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 10_000])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 3), length=st.integers(1, 4))
def test_rows_are_labellings_and_their_probabilities(rows_at_a_time, seed, n_labels, length):
    rng = np.random.default_rng(seed)
    rows, pairs = random_markov(5, n_labels, rng)
    words = [["a"] * 5]
    before = soft.ROWS
    soft.ROWS = rows_at_a_time
    try:
        for marginals in (None, pairs):
            given = read([rows], [*range(n_labels)], None if marginals is None else [pairs], words)
            # Some runs of tokens begin before the sequence.
            ends = np.arange(5)
            tokens = [np.where(ends - k < 0, -1, ends - k) for k in range(length - 1, -1, -1)]
            found = {}
            for events, event, labels, p in given.expand(tokens):
                for e, *ids, probability in zip(event, *labels, p, strict=True):
                    key = (int(ends[events][e]), *map(int, ids))
                    assert key not in found
                    found[key] = probability
            expected = {}
            for y, probability in labellings(rows, marginals):
                for end in range(5):
                    ids = tuple(y[t] if t >= 0 else -1 for t in range(end - length + 1, end + 1))
                    expected[end, *ids] = expected.get((end, *ids), 0.0) + probability
            assert found.keys() == expected.keys()
            for key, probability in expected.items():
                assert_allclose(found[key], probability, rtol=1e-9)
    finally:
        soft.ROWS = before


def test_too_many_labellings_are_refused_before_any_work():
    rows = np.full((4, 30_000), 1 / 30_000)
    given = soft.SoftLabels(np.arange(30_000), np.array([0, 4]), sp.csr_array(rows))
    with pytest.raises(ValueError, match=r"y: .* ways to label 4 tokens would take"):
        next(given.expand([np.array([t]) for t in range(4)]))
