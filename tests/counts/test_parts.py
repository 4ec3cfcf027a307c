"""Counts of parts: whatever the cuts, the trees of merges and the labels, they equal one fit."""

import pickle
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sklearn_crcrf import CRF, HMM, EmpiricalCRF, GraphArray
from sklearn_crcrf.counts import PartialCounts, count, digest, finish, merge

WORDS = ["the", "dog", "Dogs", "run-up", "walks", "7"]
LABELS = ["V", "D", "N"]
ESTIMATORS = [
    EmpiricalCRF(),
    EmpiricalCRF(order=2, exponents={"word": 0.5}),
    EmpiricalCRF.ecrn(),
    EmpiricalCRF.maxent(),
    HMM(),
]
corpora = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(LABELS)), max_size=4),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=8,
)


def state_of(value):
    """All that is stored of an object, down to the bytes of arrays."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value), [state_of(part) for part in value]
    if isinstance(value, dict):
        return [(key, state_of(part)) for key, part in value.items()]
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if isinstance(value, type) or not hasattr(value, "__getstate__"):
        return repr(value)
    return type(value), state_of(value.__getstate__())


def arrays(corpus):
    X = [[word for word, _ in sequence] for sequence, _ in corpus]
    y = [[label for _, label in sequence] for sequence, _ in corpus]
    return X, y, [weight / 8 for _, weight in corpus]


def merged_at_random(parts, draw):
    """Merge neighbours in any order, in groups of any size."""
    parts = list(parts)
    while len(parts) > 1:
        start = draw(st.integers(0, len(parts) - 2))
        stop = draw(st.integers(start + 2, len(parts)))
        parts[start:stop] = [merge(*parts[start:stop])]
    return parts[0]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@settings(max_examples=12, deadline=None)
@given(corpus=corpora, data=st.data())
def test_merged_counts_are_the_counts_of_one_fit(estimator, corpus, data):
    assume(any(sequence and weight for sequence, weight in corpus))
    expected = estimator.__class__(**estimator.get_params()).fit(*arrays(corpus))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(corpus)), max_size=4)))
    pieces = [corpus[a:b] for a, b in zip([0, *cuts], [*cuts, len(corpus)], strict=True)]
    parts = [count(estimator, *arrays(piece)) for piece in pieces]
    before = pickle.dumps(parts)
    whole = merged_at_random(map(pickle.loads, map(pickle.dumps, parts)), data.draw)
    # Parts know the words of weight 0 too.
    assert digest(whole) == digest(PartialCounts(*expected._counter, expected.counts_))
    fitted = finish(estimator, whole)
    assert state_of(fitted) == state_of(expected)
    assert pickle.dumps(parts) == before
    in_parts = estimator.__class__(**estimator.get_params()).fit_parts(map(arrays, pieces))
    assert state_of(in_parts) == state_of(expected)


X, y = [["the", "dog"], ["dogs", "sleep", "the"]], [["D", "N"], ["N", "V", "D"]]


def test_nothing_is_neutral():
    part, nothing = count(HMM(), X, y), count(HMM(), [[], []], [[], []])
    assert nothing.plan is None
    for whole in (merge(part, nothing), merge(nothing, part), merge(nothing, part, nothing)):
        assert whole.counts == part.counts
    for empty in (merge(), nothing, merge(nothing, nothing)):
        with pytest.raises(ValueError, match="there is no token to fit to"):
            finish(HMM(), empty)
    with pytest.raises(ValueError, match="sample_weight is zero for all tokens"):
        finish(HMM(), count(HMM(), X, y, [0, 0]))


def test_numeric_columns_need_the_bins_of_one_part():
    rows = [np.array([[1.0], [2.0]]), np.array([[2.5], [3.5], [9.0]])]
    crf = EmpiricalCRF()
    first = count(crf, rows[:1], y[:1])
    with pytest.raises(ValueError, match="differ in the bins of numeric columns; count all with"):
        merge(first, count(crf, rows[1:], y[1:]))
    more = count(crf, rows[1:], y[1:], plan=pickle.loads(pickle.dumps(first.plan)))
    parts = [(rows[:1], y[:1]), (rows[1:], y[1:])]
    assert merge(first, more).counts == EmpiricalCRF().fit_parts(parts).counts_


def test_columns_sparse_rows_and_types_of_edges():
    dicts = [[{"w": word, "end": word[-1]} for word in s] for s in X]
    rows = sp.csr_array(np.eye(5))
    graphs = GraphArray.from_sequences(X)
    for whole, cut in [(dicts, dicts), (X, X), (graphs, graphs)]:
        parts = [count(HMM(), cut[a:b], y[a:b]) for a, b in ((0, 1), (1, 2))]
        assert finish(HMM(), merge(*parts)).counts_ == HMM().fit(whole, y).counts_
    labels = np.array([0, 1, 1, 2, 0])
    parts = [count(HMM(), rows[a:b], labels[a:b]) for a, b in ((0, 3), (3, 5))]
    assert finish(HMM(), merge(*parts)).counts_ == HMM().fit(rows, labels).counts_


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (count(EmpiricalCRF(order=2), X, y), "estimators with different parameters"),
        (count(EmpiricalCRF.ecrn(), X, y), "estimators with different parameters"),
        (count(HMM(), [[{"w": "a", "p": "b"}]], [["N"]]), "differ in names"),
    ],
)
def test_parts_that_do_not_fit(other, message):
    with pytest.raises(ValueError, match=message):
        merge(count(EmpiricalCRF(), X, y), other)


def test_what_cannot_be_counted_in_parts():
    with pytest.raises(ValueError, match="counted by an estimator with other parameters"):
        finish(EmpiricalCRF(order=2), count(EmpiricalCRF(), X, y))
    with pytest.raises(ValueError, match="must be an EmpiricalCRF or an HMM, but is a CRF"):
        count(CRF(), X, y)
    with pytest.raises(ValueError, match="needs all data at once"):
        count(EmpiricalCRF(exponents="fit"), X, y)
    with pytest.raises(ValueError, match="sigma"):
        count(EmpiricalCRF(sigma=-1), X, y)


def test_an_engine_sees_the_size():
    words = [[f"w{i}", f"v{i * i % 31}"] for i in range(200)]
    part = count(EmpiricalCRF(), words, [["D", "N"]] * 200)
    n_bytes = part.counts.__sizeof__()
    assert n_bytes + 230 * 50 < sys.getsizeof(part) < 2 * n_bytes
    stored = pickle.dumps(part)
    assert len(stored) < sys.getsizeof(part) / 2
    loaded = pickle.loads(stored)
    assert isinstance(loaded, PartialCounts)
    assert loaded.counts == part.counts
