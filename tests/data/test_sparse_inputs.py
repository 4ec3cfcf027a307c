"""Sparse matrices whose arrays contradict each other, or are not in order."""

import multiprocessing
import warnings
from itertools import chain, product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn_crcrf._kernels.sparse.columns import has_sound_rows

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    EmpiricalCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    SequenceArray,
    StructuredPerceptron,
    as_sequences,
)
from sklearn_crcrf.data.csr import csr_arrays, sound_csr, stacked
from sklearn_crcrf.estimators.opinion_pool import RandomAttributes

N_COLUMNS = 5
LENGTHS = [3, 0, 2, 4]
Y = [["a", "b", "a"], [], ["b", "b"], ["a", "b", "b", "a"]]
ESTIMATORS = [
    CRF(max_iter=3),
    CRF(features="observed", max_iter=3),
    EmpiricalCRF(),
    HMM(),
    MEMM(max_iter=3),
    MaxMarginCRF(max_iter=2, random_state=0),
    StructuredPerceptron(max_iter=2, random_state=0),
    BoostedCRF(max_iter=2, random_state=0),
    BoostedCRF(max_iter=2, pairs=True, random_state=0),
    OpinionPoolCRF([("a", CRF(max_iter=2)), ("b", HMM())], random_state=0),
]


def matrix(index_dtype=np.int32, seed=0):
    """Rows of 0 to N_COLUMNS entries in order."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 4, (sum(LENGTHS), N_COLUMNS)) * (rng.random((9, N_COLUMNS)) < 0.6)
    rows = sp.csr_array(dense.astype(float))
    assert rows.nnz > 10
    return with_arrays(rows, indices=rows.indices, indptr=rows.indptr, dtype=index_dtype)


def with_arrays(rows, dtype=None, **arrays):
    """The matrix with other arrays, which scipy does not look at."""
    other = rows.copy()
    for name, array in arrays.items():
        setattr(other, name, np.array(array, dtype=dtype))
    return other


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def cut(rows):
    ends = np.cumsum(LENGTHS)
    return [
        with_arrays(
            sp.csr_array((stop - start, N_COLUMNS)),
            data=rows.data[rows.indptr[start] : rows.indptr[stop]],
            indices=rows.indices[rows.indptr[start] : rows.indptr[stop]],
            indptr=rows.indptr[start : stop + 1] - rows.indptr[start],
        )
        for start, stop in zip(ends - LENGTHS, ends, strict=True)
    ]


def around(rows):
    """A SequenceArray in which the matrix was put after it had been made."""
    array = SequenceArray.from_lengths(sp.csr_array(rows.shape), LENGTHS)
    array.data = rows
    return array


INDEX_FAULTS = {
    "too large": lambda m: with_arrays(m, indices=changed(m.indices, m.indptr[4], N_COLUMNS)),
    "huge": lambda m: with_arrays(m, indices=changed(m.indices, m.indptr[4], 2**31 - 1)),
    "negative": lambda m: with_arrays(m, indices=changed(m.indices, m.indptr[4], -1)),
    "least": lambda m: with_arrays(m, indices=changed(m.indices, m.indptr[4], -(2**31))),
    "more than 32 bits": lambda m: with_arrays(
        m, indices=changed(m.indices.astype(np.int64), m.indptr[4], 2**32 + 1)
    ),
}
ARRAY_FAULTS = {
    "falling indptr": lambda m: with_arrays(m, indptr=changed(m.indptr, 4, m.indptr[3] - 1)),
    "negative indptr": lambda m: with_arrays(m, indptr=changed(m.indptr, 4, -5)),
    "huge indptr": lambda m: with_arrays(m, indptr=changed(m.indptr, 4, 2**30)),
    "indptr beyond the end": lambda m: with_arrays(m, indptr=changed(m.indptr, -1, m.nnz + 9)),
    "indptr from 1": lambda m: with_arrays(m, indptr=changed(m.indptr, 0, 1)),
    "short indptr": lambda m: with_arrays(m, indptr=m.indptr[:-1]),
    "short indices": lambda m: with_arrays(m, indices=m.indices[:-2]),
    "short data": lambda m: with_arrays(m, data=m.data[:-2]),
    "indices of floats": lambda m: with_arrays(m, indices=m.indices.astype(float)),
    "two-dimensional data": lambda m: with_arrays(m, data=m.data[:, None]),
}
CONTAINERS = {"list": cut, "SequenceArray": around, "table": lambda rows: rows}


@for_each("index_dtype", [np.int32, np.int64])
@for_each("container", CONTAINERS)
@for_each("fault", INDEX_FAULTS)
def test_wrong_columns_are_refused(fault, container, index_dtype):
    damaged = INDEX_FAULTS[fault](matrix(index_dtype))
    where = "X, row 4" if container == "table" else "X, sequence 2, position 1"
    with pytest.raises(ValueError, match=rf"{where}: column -?\d+ is not one of 5 columns"):
        as_sequences(CONTAINERS[container](damaged))


@for_each("container", ["SequenceArray", "table"])
@for_each("fault", ARRAY_FAULTS)
def test_arrays_that_disagree_are_refused(fault, container):
    with pytest.raises(ValueError, match=r"X.*(indptr|indices|data)"):
        as_sequences(CONTAINERS[container](ARRAY_FAULTS[fault](matrix())))


@for_each("fault", ARRAY_FAULTS)
def test_arrays_of_one_sequence_that_disagree_are_refused(fault):
    X = cut(matrix())
    X[3] = ARRAY_FAULTS[fault](sp.csr_array(np.eye(6, N_COLUMNS)))
    with pytest.raises(ValueError, match=r"X, sequence 3.*(indptr|indices|data)"):
        as_sequences(X)


@for_each("fault", {**INDEX_FAULTS, **ARRAY_FAULTS})
def test_a_sequence_array_refuses_them_when_it_is_made(fault):
    damaged = {**INDEX_FAULTS, **ARRAY_FAULTS}[fault](matrix())
    with pytest.raises(ValueError, match=r"^data"):
        SequenceArray.from_lengths(damaged, LENGTHS)


@for_each("to", ["csc", "coo", "bsr", "lil", "dok", "dia"])
def test_other_formats_are_the_same_rows(to):
    rows = matrix()
    for X in ([piece.asformat(to) for piece in cut(rows)], rows.asformat(to)):
        assert_array_equal(as_sequences(X).X.data.toarray(), rows.toarray())
    array = SequenceArray.from_lengths(rows.asformat(to), LENGTHS)
    assert_array_equal(array.data.toarray(), rows.toarray())


def test_other_formats_are_checked_before_they_are_brought_to_rows():
    columns = matrix().tocsc()
    for damaged in (
        with_arrays(columns, indices=changed(columns.indices, 3, 10**6)),
        with_arrays(columns, indptr=changed(columns.indptr, 3, 10**6)),
    ):
        with pytest.raises(ValueError, match="X, column"):
            as_sequences(damaged)
        with pytest.raises(ValueError, match="X, sequence 0, column"):
            as_sequences([damaged])
    for axis, where in enumerate(["X, entry 3: row", r"X, row \d+: column"]):
        entries = matrix().tocoo()
        entries.coords = tuple(
            changed(ids, 3, 10**6) if k == axis else ids for k, ids in enumerate(entries.coords)
        )
        with pytest.raises(ValueError, match=where):
            as_sequences(entries)


def test_estimators_refuse_wrong_columns():
    """In another process, as one that does not refuse them may crash."""
    child = multiprocessing.get_context("fork").Process(target=refuse_all)
    child.start()
    child.join(120)
    assert child.exitcode == 0


def refuse_all():
    for estimator, container in product(ESTIMATORS, CONTAINERS):
        refuse(estimator, container)


def refuse(estimator, container):
    bad = CONTAINERS[container](INDEX_FAULTS["huge"](matrix()))
    good = CONTAINERS[container](matrix())
    y = [*chain.from_iterable(Y)] if container == "table" else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(ValueError, match="is not one of 5 columns"):
            estimator.fit(bad, y)
        estimator.fit(good, y)
    for method in ("predict", "predict_proba", "predict_marginals", "confidence", "entropy"):
        if hasattr(estimator, method):
            with pytest.raises(ValueError, match="is not one of 5 columns"):
                getattr(estimator, method)(bad)


def test_a_transformer_of_rows_refuses_them():
    for make in CONTAINERS.values():
        bad = make(INDEX_FAULTS["huge"](matrix()))
        with pytest.raises(ValueError, match="is not one of 5 columns"):
            RandomAttributes(random_state=0).fit(bad)
        with pytest.raises(ValueError, match="is not one of 5 columns"):
            RandomAttributes(random_state=0).fit(make(matrix())).transform(bad)


@for_each("estimator", ESTIMATORS)
def test_rows_in_any_order_and_with_repeated_columns_are_the_same_input(estimator):
    sound = matrix()
    values, indices, indptr = [], [], [0]
    for r in range(sound.shape[0]):
        columns, entries = sound.indices[slice(*sound.indptr[r : r + 2])][::-1], []
        for column in columns:
            value = sound[r, column]
            entries += [(column, value / 4), (column, 3 * value / 4)]
        values += [value for _, value in entries[1:] + entries[:1]]
        indices += [column for column, _ in entries[1:] + entries[:1]]
        indptr.append(len(indices))
    messy = sp.csr_array(
        (np.array(values), np.array(indices, np.int32), np.array(indptr, np.int32)), sound.shape
    )
    before = messy.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = estimator.fit(cut(sound), Y).predict_proba(cut(sound))
        found = estimator.fit(cut(messy), Y).predict_proba(around(messy))
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(messy, name), getattr(before, name))
    assert_allclose(found.data, np.concatenate(expected), rtol=1e-6)


def test_entries_behind_the_last_row_are_left_out():
    rows = matrix()
    longer = with_arrays(
        rows, data=np.append(rows.data, 7.0), indices=np.append(rows.indices, [99])
    )
    assert_array_equal(as_sequences(longer).X.data.toarray(), rows.toarray())
    joined = as_sequences([longer, rows]).X.data
    assert_array_equal(joined.toarray(), np.concatenate([rows.toarray()] * 2))


def test_too_many_columns_are_refused():
    X = sp.csr_array(([1.0], [2**31 + 5], [0, 1]), shape=(1, 2**31 + 9))
    assert X.indices.dtype == np.int64
    array = SequenceArray(sp.csr_array((1, 5)), [0, 1])
    array.data = X
    for given in (X, [X], array):
        with pytest.raises(ValueError, match=r"X.* has 2147483657 columns"):
            as_sequences(given)
    with pytest.raises(OverflowError, match="2147483657 rows or columns"):
        csr_arrays(X)


@for_each("kind", [sp.csr_array, sp.csr_matrix])
@for_each("others", [np.int32, np.int64])
def test_rows_are_stacked_as_scipy_stacks_them(kind, others):
    parts = [kind(matrix(dtype, seed)) for seed, dtype in enumerate([np.int32, others, np.int32])]
    parts[1:1] = [kind((0, N_COLUMNS)), kind((2, N_COLUMNS), dtype=np.int8)]
    rows = stacked(parts)
    assert type(rows) is kind and rows.dtype == float
    assert rows.indices.dtype == rows.indptr.dtype
    assert_array_equal(rows.toarray(), sp.vstack(parts).toarray())
    assert stacked(parts[1:2]).shape == (0, N_COLUMNS)


def test_only_rows_of_one_width_are_stacked():
    with pytest.raises(ValueError, match="rows of 2 and of 3 columns cannot be stacked"):
        stacked([sp.csr_array((1, 3)), sp.csr_array((1, 2))])


def test_no_code_that_swallows_ctrl_c_runs_while_sequences_are_joined(monkeypatch):
    """numpy drops what is raised where it asks an object for its length."""
    asked = []
    monkeypatch.setattr(sp.csr_array, "__len__", lambda rows: asked.append(rows) or 0)
    as_sequences([matrix(seed=seed) for seed in range(3)])
    assert not asked


def test_a_sound_matrix_is_not_copied():
    for dtype in (np.int32, np.int64):
        rows = matrix(dtype)
        assert sound_csr(rows, "X", str) is rows
        assert as_sequences(around(rows)).X.data is rows


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_the_kernel_finds_whatever_is_wrong(index_dtype):
    """Against the definition, over sizes near the size of a block."""
    rng = np.random.default_rng(0)
    wrong = 0
    for trial in range(400):
        n_rows, n_columns = rng.integers(1, 40), int(rng.choice([1, 3, 50, 9000]))
        sizes = rng.integers(0, min(n_columns, 6000) + 1, n_rows) * (rng.random(n_rows) < 0.7)
        rows = [np.sort(rng.choice(n_columns, size, replace=False)) for size in sizes]
        indices = np.concatenate(rows).astype(index_dtype)
        indptr = np.append(0, np.cumsum(sizes)).astype(index_dtype)
        assert has_sound_rows(indptr, indices, n_columns)
        if not len(indices):
            continue
        at = rng.integers(len(indices))
        indices[at] = rng.choice([-1, n_columns, n_columns - 1, 0, indices[at - 1]])
        if trial % 4 == 0:
            indptr[rng.integers(1, n_rows + 1)] = rng.choice([-1, 0, len(indices), 2**31 - 1])
        sound = is_sound(indptr, indices, n_columns)
        assert has_sound_rows(indptr, indices, n_columns) == sound
        wrong += not sound
    assert 100 < wrong < 400


def is_sound(indptr, indices, n_columns):
    if (np.diff(indptr) < 0).any() or indptr[-1] != len(indices) or indptr.max() > len(indices):
        return False
    rows = np.split(indices, indptr[1:-1])
    in_order = all((np.diff(row) > 0).all() for row in rows)
    return in_order and indices.min() >= 0 and indices.max() < n_columns


@for_each("dtype", [complex, "M8[D]", "m8[s]", "V8"])
def test_what_is_no_number_is_refused(dtype):
    rows = np.ones((3, 2)).astype(complex).astype(dtype) if dtype is complex else None
    rows = np.zeros((3, 2), dtype=dtype) if rows is None else rows
    for X in ([rows], SequenceArray(rows, [0, 3]), rows):
        with pytest.raises(ValueError, match=r"X must hold .*type|Complex data"):
            CRF().fit(X, [["a", "b", "a"]] if X is not rows else ["a", "b", "a"])
    if dtype is complex:
        with pytest.raises(ValueError, match=r"X must hold .*complex128"):
            CRF().fit([sp.csr_array(rows)], [["a", "b", "a"]])


def test_rows_of_three_dimensions_are_refused():
    rows = np.zeros((2, 2, 2))
    for X in ([rows], SequenceArray(rows, [0, 2]), [rows[:0]]):
        with pytest.raises(ValueError, match="X"):
            as_sequences(X)
