"""Probabilities of labels count as all labellings, each with its probability as its weight."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from counted_trees import make_trees
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from soft_labels import labellings, random_markov, random_rows

from sklearn_crcrf import HMM, EmpiricalCRF, GraphArray, SequenceArray
from sklearn_crcrf.labels import soft
from sklearn_crcrf.utils import memory

LABELS = ["V", "N", "D"]
WORDS = ["dog", "Dogs", "run-up", "walks", "7"]
ESTIMATORS = [
    EmpiricalCRF(order=3),
    EmpiricalCRF(spelling="joint", order=2),
    EmpiricalCRF.ecrn(),
    HMM(),
]


def made_up(seed, n_sequences=3, markov=False):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, n_sequences)
    lengths[0] = 4
    X = [[str(w) for w in rng.choice(WORDS, size=n)] for n in lengths]
    if markov:
        rows, pairs = zip(*(random_markov(n, 3, rng) for n in lengths), strict=True)
        return X, [*rows], [*pairs]
    return X, [random_rows(n, 3, rng) for n in lengths], None


def assert_counts_are_expected(estimator, X, rows, pairs, weights):
    """Compare with a fit to all labellings as samples, each of which weighs its probability."""
    found = estimator.fit(X, rows, weights, labels=LABELS, pair_marginals=pairs).counts_
    samples, y, spelled = [], [], []
    for i, row in enumerate(rows):
        for ids, p in labellings(row, None if pairs is None else pairs[i]):
            samples.append(i)
            y.append([LABELS[k] for k in ids])
            spelled.append([p * weight for weight in weights[i]])
    every = X[samples] if isinstance(X, SequenceArray) else [X[i] for i in samples]
    expected = estimator.fit(every, y, spelled).counts_
    assert found.keys() == expected.keys()
    for template, (events, counts) in expected.items():
        assert_array_equal(found[template].events, events)
        assert_allclose(found[template].weights, counts, rtol=1e-9, err_msg=str(template))


@for_each("markov", [False, True])
@for_each("estimator", ESTIMATORS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_sequences(estimator, markov, seed):
    X, rows, pairs = made_up(seed, markov=markov)
    rng = np.random.default_rng(seed)
    weights = [rng.choice([0.0, 0.5, 1.0, 2.0], size=len(x), p=[0.1, 0.3, 0.3, 0.3]) for x in X]
    weights[0][:2] = 1.0
    counted = np.concatenate(rows)[np.concatenate(weights) > 0]
    if counted.any(axis=0).all():  # labels that no token has are classes, too, and have other ids
        assert_counts_are_expected(estimator, X, rows, pairs, [w.tolist() for w in weights])


def test_blocks(monkeypatch):
    X, rows, pairs = made_up(0, n_sequences=8, markov=True)
    whole = EmpiricalCRF(order=3).fit(X, rows, labels=LABELS, pair_marginals=pairs).counts_
    monkeypatch.setattr(soft, "ROWS", 11)
    parts = EmpiricalCRF(order=3).fit(X, rows, labels=LABELS, pair_marginals=pairs).counts_
    for template, (events, counts) in whole.items():
        assert_array_equal(parts[template].events, events)
        assert_allclose(parts[template].weights, counts, rtol=1e-12)


def test_counts_that_fill_the_memory_are_refused(monkeypatch):
    X, rows, pairs = made_up(0, n_sequences=8, markov=True)
    monkeypatch.setattr(soft, "ROWS", 11)
    monkeypatch.setattr(memory, "SMALL", 0)
    left = iter([1e9] * 9)
    monkeypatch.setattr(memory, "available_memory", lambda: next(left, 10.0))
    with pytest.raises(ValueError, match=r"y: .* would take .* set small probabilities to zero"):
        EmpiricalCRF(order=3).fit(X, rows, labels=LABELS, pair_marginals=pairs)


@for_each("edge_type", ["direction", None])
def test_forests(edge_type):
    X, y = make_trees(6, seed=3, longest=4)
    if edge_type is None:
        X = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets)
    rng = np.random.default_rng(0)
    rows = [random_rows(len(labels), 3, rng) for labels in y]
    weights = [[1.0] * len(labels) for labels in y]
    for estimator in (EmpiricalCRF(), HMM()):
        assert_counts_are_expected(estimator, X, rows, None, weights)


def test_triangles():
    words = [["a", "b", "c", "d"], ["b", "c", "a"]]
    edges = [[(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], [(0, 1), (1, 2), (0, 2)]]
    X = GraphArray.from_edges(words, edges)
    rng = np.random.default_rng(1)
    rows = [random_rows(len(x), 3, rng) for x in words]
    weights = [[1.0] * 4, [0.5] * 3]
    assert_counts_are_expected(EmpiricalCRF(inference="exact"), X, rows, None, weights)


def test_attributes():
    rng = np.random.default_rng(2)
    X = [sp.random_array((n, 5), density=0.6, rng=rng, format="csr") for n in (3, 0, 4)]
    rows = [random_rows(x.shape[0], 3, rng) for x in X]
    weights = [[1.0] * 3, [], [2.0] * 4]
    for estimator in (EmpiricalCRF(), HMM()):
        assert_counts_are_expected(estimator, X, rows, None, weights)


def hard(seed, n_sequences=40):
    rng = np.random.default_rng(seed)
    X = [[str(w) for w in rng.choice(WORDS, size=rng.integers(0, 7))] for _ in range(n_sequences)]
    y = [[str(label) for label in rng.choice(LABELS, size=len(x))] for x in X]
    rows = [np.array([[label == c for c in LABELS] for label in labels]) for labels in y]
    return X, y, [row.reshape(-1, 3).astype(float) for row in rows], rng


@for_each("weighted", [False, True])
@for_each("markov", [False, True])
@for_each(
    "estimator",
    [
        *ESTIMATORS,
        EmpiricalCRF(min_count=2),
        EmpiricalCRF.maxent(),
        EmpiricalCRF(experts=["token[-1]|token[0]"]),
    ],
)
def test_certain_labels_give_the_model_of_these_labels_to_the_bit(estimator, markov, weighted):
    X, y, rows, rng = hard(0)
    weights = rng.random(len(X)) if weighted else None
    pairs = [row[:-1, :, None] * row[1:, None, :] for row in rows] if markov else None
    expected = estimator.fit(X, y, weights)
    proba, counts = expected.predict_proba(X), expected.counts_
    fitted = estimator.fit(X, rows, weights, labels=LABELS, pair_marginals=pairs)
    assert fitted.counts_ == counts
    for a, b in zip(fitted.predict_proba(X), proba, strict=True):
        assert_array_equal(a, b)


@for_each("estimator", [EmpiricalCRF(order=2), HMM()])
def test_batches_are_learned_and_forgotten(estimator):
    X, rows, pairs = made_up(5, n_sequences=12, markov=True)
    some = [slice(0, 5), slice(5, 9), slice(9, 12)]
    given = [{"y": rows[s], "labels": LABELS, "pair_marginals": pairs[s]} for s in some]
    once = type(estimator)(**estimator.get_params())
    once.fit(X[:9], rows[:9], labels=LABELS, pair_marginals=pairs[:9])
    for part, data in zip(some, given, strict=True):
        estimator.partial_fit(X[part], **data)
    estimator.forget(X[some[2]], **given[2])
    assert estimator.classes_.tolist() == once.classes_.tolist()
    for a, b in zip(estimator.predict_proba(X), once.predict_proba(X), strict=True):
        assert_allclose(a, b, rtol=1e-9)
    with pytest.raises(ValueError, match="never counted"):
        estimator.forget(X[some[2]], **given[2])


def test_tiny_probabilities_that_cannot_be_forgotten_are_named():
    rng = np.random.default_rng(0)
    X = [[f"w{rng.integers(20)}" for _ in range(5)] for _ in range(30)]
    y = [rng.dirichlet(np.full(11, 0.2), 5) for _ in X]
    labels = [f"L{i}" for i in range(11)]
    crf = EmpiricalCRF().fit(X, y, labels=labels)
    before = crf.predict_proba(X[:1])[0]
    with pytest.raises(ValueError, match="probabilities in y, differ so much in size"):
        crf.forget(X[10:], y[10:], labels=labels)
    assert_array_equal(crf.predict_proba(X[:1])[0], before)
    rows = [np.where(row < 1e-9, 0.0, row) for row in y]
    rows = [row / row.sum(axis=1, keepdims=True) for row in rows]
    crf.fit(X, rows, labels=labels).forget(X[10:], rows[10:], labels=labels)


@for_each("estimator", [EmpiricalCRF(), EmpiricalCRF.ecrn(), HMM()])
def test_labels_are_the_classes_even_without_probability(estimator):
    X, _, rows, _ = hard(1)
    rows = [np.column_stack([row, np.zeros(len(row))]) for row in rows]
    estimator.fit(X, rows, labels=[*LABELS, "A"])
    assert estimator.classes_.tolist() == ["A", "D", "N", "V"]
    proba = np.concatenate(estimator.predict_proba(X))
    assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba[:, 0] < proba[:, 1:].max(axis=1)).all()
    estimator.partial_fit(X[:1], rows[:1], labels=[*LABELS, "A"])
    with pytest.raises(ValueError, match=r"'B' is not among the classes"):
        estimator.partial_fit(X[:1], rows[:1], labels=[*LABELS, "B"])


def test_hard_and_soft_batches_add_up():
    X, y, rows, _ = hard(2)
    expected = EmpiricalCRF().fit(X, y)
    crf = EmpiricalCRF().partial_fit(X[:20], y[:20])
    crf.partial_fit(X[20:], rows[20:], labels=LABELS)
    assert crf.counts_ == expected.counts_
    crf = EmpiricalCRF().partial_fit(X[:20], rows[:20], labels=LABELS).partial_fit(X[20:], y[20:])
    assert crf.counts_ == expected.counts_


def test_sums_of_probabilities_are_as_frequent_as_labels():
    # A sum of probabilities that are 1 may be less, or more, by a rounding error.
    X, rows = [["a", "b"], ["a", "b"], ["b", "c"]], [np.full((2, 3), 1 / 3)] * 3
    kept = EmpiricalCRF(min_count=2).fit(X, rows, labels=LABELS)
    events = next(
        table.events
        for template, table in kept.counts_.items()
        if template.symbols == (("token", -1), ("token", 0)) and len(template.labels) == 1
    )
    assert len(np.unique(events[:, :2], axis=0)) == 2  # before "a", and "a" before "b"


def test_probabilities_of_another_model():
    X, y, *_ = hard(3)
    teacher = EmpiricalCRF().fit(X, y)
    for student in (EmpiricalCRF(), HMM()):
        student.fit(X, teacher.predict_proba(X), labels=teacher.classes_)
        as_array = SequenceArray.from_sequences(X)
        expected = student.predict(X)
        student.fit(as_array, teacher.predict_proba(as_array), labels=teacher.classes_)
        assert student.predict(as_array).tolist() == [*expected]


@for_each(
    "estimator, message",
    [
        (EmpiricalCRF(exponents="fit"), "y has probabilities of labels, but exponents='fit'"),
        (EmpiricalCRF(segments="counted"), "y has probabilities of labels, but segments='counted'"),
    ],
)
def test_what_needs_labels_is_refused(estimator, message):
    X, _, rows, _ = hard(0)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, rows, labels=LABELS)


def test_probabilities_without_labels_are_refused():
    X, _, rows, _ = hard(0)
    for fit in (EmpiricalCRF().fit, HMM().fit, EmpiricalCRF().predict_out_of_fold):
        with pytest.raises(ValueError, match=r"y must have one value .* need labels="):
            fit(X, rows)
    with pytest.raises(ValueError, match="labels are given, but y is None"):
        EmpiricalCRF().fit(X, labels=LABELS)
