import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.counts import BOUNDARY, Template, count_tokens
from sklearn_crcrf.counts.counts import cut
from sklearn_crcrf.counts.lexicon import UNKNOWN
from sklearn_crcrf.counts.rows import (
    KeyIndex,
    Rows,
    association,
    label_counts,
    pair_counts,
    place_rows,
    sum_rows,
)
from sklearn_crcrf.estimators.empirical.model import smooth

seeds = st.integers(0, 2**32 - 1)


@st.composite
def keys_and_questions(draw):
    """Unique sorted tuples of 1 to 4 ids, and tuples that may or may not be among them."""
    n_ids = draw(st.integers(1, 4))
    rare = st.integers(0, 10**6 if n_ids == 1 else 2**31 - 2)
    # The first id indexes a table, so that it stays small here.
    first = st.integers(BOUNDARY, 3)
    others = first | (rare if n_ids > 1 else first)
    key = st.tuples(first, *[others] * (n_ids - 1))
    keys = draw(st.lists(key, max_size=12).map(lambda keys: sorted(set(keys))))
    ids = st.sampled_from([UNKNOWN, BOUNDARY, 0, 1, 2, 3, 4, 2**31 - 2])
    question = st.tuples(*[ids] * n_ids)
    if keys:
        question = question | st.sampled_from(keys)
    return n_ids, keys, draw(st.lists(question, max_size=20))


@given(keys_and_questions())
def test_rows_are_those_of_a_dict(problem):
    n_ids, keys, questions = problem
    n_times = 1 + np.arange(len(keys)) % 2  # equal rows are one key
    index = KeyIndex(np.array(keys, dtype=np.int32).reshape(-1, n_ids).repeat(n_times, axis=0))
    number = {key: row for row, key in enumerate(keys)}
    columns = np.array(questions, dtype=np.int32).reshape(-1, n_ids).T
    rows = index.rows(list(columns))
    assert rows.dtype == np.int32
    assert rows.tolist() == [number.get(question, -1) for question in questions]


def test_an_unknown_symbol_has_no_row_even_beside_the_boundary():
    index = KeyIndex(np.array([[BOUNDARY, 0], [0, BOUNDARY]], dtype=np.int32))
    columns = np.array([[UNKNOWN, 0], [BOUNDARY, UNKNOWN], [BOUNDARY, 0], [0, BOUNDARY]]).T
    assert index.rows(list(columns.astype(np.int32))).tolist() == [-1, -1, 0, 1]


@st.composite
def tables(draw, labels):
    """A counted table, and what was counted as tuples."""
    token = st.tuples(st.integers(0, 3), st.integers(0, 2))
    sequences = draw(st.lists(st.lists(token, max_size=5), min_size=1, max_size=5))
    words, ids = np.array([t for s in sequences for t in s], dtype=int).reshape(-1, 2).T
    offsets = np.cumsum([0, *map(len, sequences)])
    template = Template((("word", -1), ("word", 0)), labels)
    return sequences, count_tokens({"word": words}, ids, offsets, [template])[template]


def neighbours(sequences):
    for sequence in sequences:
        for t, (word, label) in enumerate(sequence):
            yield sequence[t - 1] if t else (BOUNDARY, BOUNDARY), (word, label)


@given(tables((0,)))
def test_label_counts(counted):
    sequences, table = counted
    index, counts = label_counts(table, n_labels=3)
    expected = {}
    for (before, _), (word, label) in neighbours(sequences):
        expected.setdefault((before, word), np.zeros(3))[label] += 1
    assert list(map(tuple, index.keys.tolist())) == sorted(expected)
    for key, row in zip(map(tuple, index.keys.tolist()), counts.csr().toarray(), strict=True):
        assert_array_equal(row, expected[key])


@given(tables((-1, 0)))
def test_pair_counts(counted):
    sequences, table = counted
    index, counts = pair_counts(table, n_labels=3)
    expected = {}
    for (before, previous), (word, label) in neighbours(sequences):
        if previous != BOUNDARY:
            expected.setdefault((before, word), np.zeros((3, 3)))[label, previous] += 1
    assert list(map(tuple, index.keys.tolist())) == sorted(expected)
    assert counts.csr().has_sorted_indices
    for key, row in zip(map(tuple, index.keys.tolist()), counts.csr().toarray(), strict=True):
        assert_array_equal(row.reshape(3, 3), expected[key])


@given(seeds, st.integers(0, 8), st.integers(1, 4))
def test_sum_rows(seed, n_rows, n_sums):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (n_rows, 5)).astype(float)
    which = rng.integers(-1, n_sums, n_rows)
    sums = sum_rows(sp.csr_array(counts), which, n_sums)
    assert sums.has_sorted_indices
    assert_array_equal(sums.toarray(), [counts[which == r].sum(axis=0) for r in range(n_sums)])


@given(seeds, st.integers(0, 6), st.integers(0, 4), st.booleans())
def test_place_rows(seed, n_rows, n_more, has_boundary):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 3, (has_boundary + n_rows, 4)).astype(float)
    ids = np.sort(rng.choice(n_rows + n_more, n_rows, replace=False))
    expected = np.zeros((n_rows + n_more, 4))
    expected[ids] = matrix[has_boundary:]
    index = KeyIndex(np.append([BOUNDARY] * has_boundary, ids)[:, None])
    placed = place_rows(Rows.of(sp.csr_array(matrix)), index, n_rows + n_more)
    assert_array_equal(placed.csr().toarray(), expected)
    assert_array_equal(placed.sums(), expected.sum(axis=1))


@given(seeds, st.sampled_from([0.01, 1.0, 30.0]))
def test_association_is_the_smoothed_estimate_over_its_prior(seed, strength):
    """q exp(w) is (c + k q) / (n + k), times (n + k) / k for all labels alike."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (3, 4)).astype(float)
    prior = rng.dirichlet(np.ones(4))
    matrix = Rows.of(sp.csr_array(counts))
    weights = association(matrix, prior[matrix.indices], strength).csr()
    assert (weights.data > 0).all()
    assert_array_equal(weights.toarray() > 0, counts > 0)
    total = counts.sum(axis=1, keepdims=True)
    estimate = (counts + strength * prior) / (total + strength)
    ratio = prior * np.exp(weights.toarray()) * strength / (total + strength)
    assert_allclose(ratio, estimate, rtol=1e-10)
    assert_allclose(
        smooth(matrix, matrix.sums(), prior[matrix.indices], strength),
        estimate[counts > 0],
    )


def test_association_without_a_prior_stays_finite():
    weights = association(Rows.of(sp.csr_array([[3.0, 1.0]])), np.array([0.5, 0.5]), 0.0)
    assert np.isfinite(weights.data).all()
    assert_allclose(weights.data[0] - weights.data[1], np.log(3), rtol=1e-8)


@given(tables((0,)), st.integers(1, 4))
def test_tables_are_cut_between_keys(counted, size):
    _, table = counted
    parts = list(cut(table, 2, size))
    assert_array_equal(np.concatenate([part.events for part in parts]), table.events)
    assert_array_equal(np.concatenate([part.weights for part in parts]), table.weights)
    keys = [set(map(tuple, part.events[:, :2].tolist())) for part in parts]
    assert len(set().union(*keys)) == sum(map(len, keys))
    assert all(len(part.weights) >= size for part in parts[:-1])
