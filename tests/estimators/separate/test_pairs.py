"""SeparateCRF with a classifier of pairs, against the formula and enumeration."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, GraphArray, SeparateCRF
from sklearn_crcrf.datasets import make_label_bias
from sklearn_crcrf.estimators.separate.held_out import MOST, HeldOutTokens
from sklearn_crcrf.estimators.separate.pairs import share_of_counts
from sklearn_crcrf.estimators.separate.row_crf import RowCRF, roughly
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import Chain, Scores

LABELS = np.array(["A", "B", "C"])


def sequences(n=60, seed=0):
    """The label says whether the number rose; C follows only B."""
    rng, X, y = np.random.default_rng(seed), [], []
    for length in rng.integers(1, 6, size=n):
        rows = rng.normal(size=(length, 2))
        ids = (rows[:, 0] > np.roll(rows[:, 0], 1)).astype(int)
        for t in range(1, length):
            ids[t] += ids[t - 1] == 1 == ids[t] and rng.random() < 0.7
        X.append(rows)
        y.append(LABELS[ids].tolist())
    return X, y


def graphs(n=25, seed=0, edge_data=None):
    """Small graphs with cycles; two ends have equal labels if their numbers are of one sign."""
    rng, X, edges, data, y = np.random.default_rng(seed), [], [], [], []
    for _ in range(n):
        ids = rng.integers(3, size=5)
        pairs = [(a, b) for a in range(5) for b in range(a + 1, 5) if rng.random() < 0.6]
        X.append(np.eye(3)[ids] + rng.normal(size=(5, 3)))
        edges.append(pairs)
        same = [ids[a] == ids[b] for a, b in pairs]
        data.append(
            ["same" if it else "other" for it in same]
            if edge_data == "types"
            else np.array([[float(it)] for it in same]).reshape(-1, 1)
        )
        y.append(LABELS[ids].tolist())
    return GraphArray.from_edges(X, edges, data if edge_data else None), y


def probabilities(crf, rows, edges, of_edge=lambda k: []):
    """Marginals of one sample by enumeration of the product of both parts."""
    n, nodes, found = len(crf.classes_), crf.estimator_, {}
    u = np.zeros((len(rows), n))
    u[:, nodes.classes_] = nodes.predict_proba(rows)
    for k, (a, b) in enumerate(edges):
        v = np.zeros((2, n, n))
        for way, (s, t) in enumerate([(a, b), (b, a)]):
            row = np.concatenate([rows[s], rows[t], of_edge(k)])[None]
            v[way][tuple(crf.label_pairs_.T)] = crf.pair_estimator_.predict_proba(row)[0]
        v = (v[0] + v[1].T) / 2 if crf.symmetric_ else v[0]
        counted = np.exp(crf.rates_)
        if len(crf.edge_rates_):
            counted = np.exp(crf.edge_rates_[int(np.argmax(of_edge(k)))])
        share = crf.share_
        found[a, b] = (1 - share) * v / np.outer(u[a], u[b]) + share * counted
    total = np.zeros((len(rows), n))
    for labels in product(range(n), repeat=len(rows)):
        p = np.prod(u[np.arange(len(rows)), labels])
        for (a, b), rate in found.items():
            p *= rate[labels[a], labels[b]] ** crf.exponent_
        total[np.arange(len(rows)), labels] += p
    return total / total.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("pairs", ["maxent", LogisticRegression(), GaussianNB(), CRF(tol=1e-3)])
def test_sequences_have_the_product_of_both_parts(pairs):
    X, y = sequences()
    crf = SeparateCRF(LogisticRegression(), 0.7, pairs=pairs, sigma=2.0).fit(X, y)
    occur = {(*pair,) for path in y for pair in pairwise(path)}
    assert {(*pair,) for pair in crf.classes_[crf.label_pairs_].tolist()} == occur
    assert ("A", "C") not in occur
    for rows in X[:8]:
        expected = probabilities(crf, rows, list(pairwise(range(len(rows)))))
        assert_allclose(crf.predict_proba([rows])[0], expected, atol=1e-6)


def test_the_classifiers_are_those_of_rows_and_of_two_rows():
    X, y = sequences()
    crf = SeparateCRF(LogisticRegression(), pairs=LogisticRegression()).fit(X, y)
    ids = [np.searchsorted(LABELS, path) for path in y]
    nodes = LogisticRegression().fit(np.concatenate(X), np.concatenate(ids))
    assert_allclose(crf.estimator_.coef_, nodes.coef_)
    both = np.concatenate([np.hstack([rows[:-1], rows[1:]]) for rows in X])
    codes = np.concatenate([3 * path[:-1] + path[1:] for path in ids])
    assert_allclose(crf.pair_estimator_.coef_, LogisticRegression().fit(both, codes).coef_)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("edge_data", [None, "types", "numbers"])
def test_graphs_have_the_product_of_both_parts(symmetric, edge_data):
    X, y = graphs(edge_data=edge_data)
    options = {"symmetric": symmetric, "inference": "exact", "pairs": LogisticRegression()}
    crf = SeparateCRF(LogisticRegression(), 0.6, **options).fit(X, y)
    names = crf.edge_attribute_names_.tolist()
    for s in range(4):
        sample = X[s : s + 1]

        def of_edge(k, sample=sample):
            if edge_data is None:
                return []
            value = sample.edge_data[k]
            return value if edge_data == "numbers" else np.eye(2)[names.index(f"edge={value}")]

        expected = probabilities(crf, sample.data, [tuple(edge) for edge in sample.edges], of_edge)
        assert_allclose(crf.predict_proba(sample)[0], expected, atol=1e-6)


def test_trees_have_the_product_of_both_parts():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 2)) for _ in range(40)]
    parents = [[-1, 0, 0, 1], [1, -1, 1, 2]] * 20
    y = [
        [LABELS[int(x[t, 0] > x[p, 0])] for t, p in enumerate(up)]
        for x, up in zip(X, parents, strict=True)
    ]
    trees = GraphArray.from_parents(X, parents)
    crf = SeparateCRF(exponent=1.0, pairs=LogisticRegression()).fit(trees, y)
    assert crf.score(trees, y) > SeparateCRF(exponent=1.0).fit(trees, y).score(trees, y) + 0.05
    for s in range(2):
        edges = [(p, t) for t, p in enumerate(parents[s]) if p >= 0]
        assert_allclose(
            crf.predict_proba(trees[s : s + 1])[0], probabilities(crf, X[s], edges), atol=1e-6
        )


def test_pairs_see_both_tokens():
    """A label is whether the number rose, which neither token nor labels say."""
    X, y = sequences(300)
    test, gold = sequences(100, seed=1)
    counts, maxent = (SeparateCRF(pairs=it).fit(X, y) for it in ("counts", "maxent"))
    assert maxent.score(test, gold) > counts.score(test, gold) + 0.05
    assert maxent.exponent_ > 0.3


def test_counted_rates_have_the_greater_share_the_fewer_links_there_are():
    X, y = sequences()
    n_links = sum(len(path) - 1 for path in y)
    crf = SeparateCRF(pairs="maxent", exponent=1.0).fit(X, y)
    assert crf.share_ == share_of_counts(n_links, len(crf.label_pairs_))
    assert SeparateCRF(exponent=1.0).fit(X, y).share_ == 1.0
    shares = [share_of_counts(n, 100) for n in (0, 100, 2000, 8000, 10**6)]
    assert_allclose(shares, [1.0, 20 / 21, 0.5, 0.2, 0.2])


@pytest.mark.parametrize("edge_columns", [None, [1]])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_training_of_pairs_starts_from_the_nodes(edge_columns, n_jobs, monkeypatch):
    """By u(i | x) u(j | x'), of the attributes that pairs see."""
    starts, start_of = [], RowCRF._start

    def spied(model, problem, start):
        starts.append(start)
        return start_of(model, problem, start)

    monkeypatch.setattr(RowCRF, "_start", spied)
    X, y = sequences()
    fit = {"exponent": 1.0, "edge_columns": edge_columns, "n_jobs": n_jobs}
    crf = SeparateCRF(CRF(), pairs=CRF(), **fit).fit(X, y)
    assert starts[0] is None and len(starts) == 2
    rows, seen, (i, j) = np.concatenate(X), edge_columns or [0, 1], crf.label_pairs_.T
    scores = rows[:, seen] @ crf.estimator_.coef_[seen] + crf.estimator_.intercept_
    independent = softmax(scores[:-1][:, i] + scores[1:][:, j], axis=1)
    both = np.hstack([rows[:-1, seen], rows[1:, seen], np.ones((len(rows) - 1, 1))])
    column, k = np.indices((both.shape[1], len(i)))
    weights = starts[1](column.ravel(), k.ravel()).reshape(column.shape)
    assert_allclose(softmax(both @ weights, axis=1), independent)


def test_the_exponent_is_chosen_by_rough_models(monkeypatch):
    tolerances, fit = [], RowCRF._fit

    def spied(model, *args):
        tolerances.append(model.crf.tol)
        fit(model, *args)

    monkeypatch.setattr(RowCRF, "_fit", spied)
    crf = SeparateCRF(CRF(tol=1e-4), pairs=CRF(tol=1e-5)).fit(*sequences())
    assert_allclose(tolerances, [1e-3, 1e-4, 1e-4, 1e-5])
    assert crf.pair_estimator_.crf.tol == 1e-5
    assert roughly(LABELS) is LABELS


def test_no_label_bias():
    """A pair sees the second letter, which tells R1 I from R2 O; the first one does not."""
    (X, y), (X_test, y_test) = (make_label_bias(n, random_state=n) for n in (2000, 500))
    crf = SeparateCRF(exponent=1.0, pairs="maxent").fit(X, y)
    # The best decoding has 95.8 per cent on average, and a model from left to right 66.7.
    assert crf.score(X_test, y_test) > 0.945
    ((labels, p),) = crf.predict_k_best([list("rob")], 1)[0]
    assert labels == ["R2", "O", "B"]
    assert abs(p - 29 / 30) < 0.03


def test_edge_columns_are_what_pairs_see():
    X, y = sequences()
    crf = SeparateCRF(LogisticRegression(), pairs=LogisticRegression(), edge_columns=[0]).fit(X, y)
    assert crf.estimator_.coef_.shape[1] == crf.pair_estimator_.coef_.shape[1] == 2
    words = [[{"w": "a", "c": "x"}, {"w": "b", "c": "y"}, {"w": "a", "c": "y"}]] * 6
    crf = SeparateCRF(pairs="maxent", edge_columns=["c"]).fit(words, [["A", "B", "A"]] * 6)
    assert crf.pair_estimator_.coef_.shape[0] == 4 and crf.estimator_.coef_.shape[0] == 4
    assert crf.predict(words[:1]).tolist() == [["A", "B", "A"]]
    with pytest.raises(ValueError, match=r"edge_columns=.'z'.: X has no such columns"):
        SeparateCRF(pairs="maxent", edge_columns=["z"]).fit(words, [["A", "B", "A"]] * 6)


def test_labels_that_are_not_known():
    X, y = sequences(80)
    rng = np.random.default_rng(0)
    hidden = [[label if rng.random() < 0.8 else None for label in path] for path in y]
    crf = SeparateCRF(pairs="maxent").fit(X, hidden)
    assert crf.score(X, y) > 0.8
    known = crf.predict(X, allowed=hidden)
    for path, given in zip(known, hidden, strict=True):
        assert all(b in (None, a) for a, b in zip(path, given, strict=True))
    pairs = {(a, b) for path in hidden for a, b in pairwise(path) if a and b}
    assert len(crf.label_pairs_) == len(pairs)


def test_weights_of_samples():
    X, y = sequences(30)
    weight = np.random.default_rng(0).integers(0, 3, size=30)
    fit = {"exponent": 0.8, "pairs": "maxent"}
    weighted = SeparateCRF(CRF(tol=1e-9), **fit).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(30), weight)
    repeated = SeparateCRF(CRF(tol=1e-9), **fit).fit([X[i] for i in again], [y[i] for i in again])
    assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-4)
    found, expected = (it.pair_estimator_.coef_.toarray() for it in (weighted, repeated))
    assert_allclose(found, expected, atol=0.05)


@pytest.mark.parametrize("make", [sequences, graphs])
def test_jobs_change_nothing_and_models_are_saved(make, tmp_path):
    X, y = make()
    one, two, three = (SeparateCRF(pairs="maxent", n_jobs=n).fit(X, y) for n in (None, 2, 3))
    assert one.exponent_ == two.exponent_
    for name in ("estimator_", "pair_estimator_"):
        first = getattr(one, name)
        for other in (two, three):
            other = getattr(other, name)
            assert_array_equal(first.coef_.toarray(), other.coef_.toarray())
            assert_array_equal(first.intercept_, other.intercept_)
    save_model(one, tmp_path / "model.crcrf")
    for stored in (load_model(tmp_path / "model.crcrf").estimator, pickle.loads(pickle.dumps(one))):
        for found, expected in zip(stored.predict_proba(X), one.predict_proba(X), strict=True):
            assert_array_equal(found, expected)


def test_another_backend_of_joblib_does_not_take_the_threads():
    X, y = sequences(20)
    expected = SeparateCRF(pairs="maxent").fit(X, y)
    with parallel_config(backend="loky"):
        crf = SeparateCRF(pairs="maxent", n_jobs=2).fit(X, y)
    assert_array_equal(crf.pair_estimator_.intercept_, expected.pair_estimator_.intercept_)


def test_decoding():
    X, y = sequences(100)
    crf = SeparateCRF(pairs="maxent").fit(X, y)
    best = [paths[0][0] for paths in crf.predict_k_best(X, 1)]
    assert crf.predict(X).tolist() == best
    marginal = crf.set_params(decoding="marginal").predict(X)
    expected = [crf.classes_[p.argmax(axis=1)].tolist() for p in crf.predict_proba(X)]
    assert marginal.tolist() == expected


def test_without_pairs_rates_are_counted():
    """No links, or only one pair of labels: nothing is learned of pairs."""
    for X, y in (([["a"], ["b"]] * 5, [["A"], ["B"]] * 5), ([["a", "b"]] * 8, [["A", "B"]] * 8)):
        crf = SeparateCRF(pairs="maxent").fit(X, y)
        assert crf.pair_estimator_ is None and len(crf.label_pairs_) == 0
        assert crf.predict(X).tolist() == y


def test_sparse_and_dense_attributes_are_the_same():
    X, y = sequences(30)
    dense = SeparateCRF(pairs="maxent", exponent=0.8).fit(X, y)
    sparse = SeparateCRF(pairs="maxent", exponent=0.8).fit([sp.csr_array(rows) for rows in X], y)
    for a, b in zip(*(it.predict_proba(X) for it in (dense, sparse)), strict=True):
        assert_allclose(a, b, atol=2e-3)


def test_refusals():
    X, y = sequences(10)
    with pytest.raises(ValueError, match="'pairs' parameter"):
        SeparateCRF(pairs="loopy").fit(X, y)
    with pytest.raises(ValueError, match=r"estimator=CRF\(boundaries=True\)"):
        SeparateCRF(CRF(boundaries=True)).fit(X, y)
    with pytest.raises(ValueError, match=r"pairs=CRF\(min_freq=3\)"):
        SeparateCRF(pairs=CRF(min_freq=3)).fit(X, y)
    with pytest.raises(ValueError, match=r'edge_columns.*pairs="counts"'):
        SeparateCRF(edge_columns=[0]).fit(X, y)


def expected_failures(estimator):
    reason = "which labels are held out depends on the number of samples"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [SeparateCRF(sample_unit="token", pairs="maxent")], expected_failed_checks=expected_failures
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_the_loss_is_of_all_held_out_labels_together_given_the_known_ones():
    rng, chain = np.random.default_rng(0), Chain(np.array([0, 3, 5, 5, 6]))
    scores = Scores.of(rng.normal(size=(6, 2)), rng.normal(size=(2, 2)), *rng.normal(size=(2, 2)))
    ids, weights = np.array([0, 1, 1, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 1.0, 4.0, 1.0])
    given = np.array([0, -1, -1, -1, -1, 1])
    is_held_out = np.array([False, True, True, False, True, False])
    losses = HeldOutTokens(ids, weights, given, is_held_out).losses(chain, scores)

    def probability(known):
        """Of the labels that are not -1."""
        total = [-np.inf, -np.inf]
        for y in product(range(2), repeat=6):
            fits = all(k in (-1, label) for k, label in zip(known, y, strict=True))
            value = chain.score(scores, np.array(y))[0].sum()
            total = np.logaddexp(total, [value, value if fits else -np.inf])
        return np.exp(total[1] - total[0])

    first, second = [-1] * 6, [-1] * 6
    first[:3], second[4] = [0, 1, 1], 0
    of_first = probability(first) / probability([0, -1, -1, -1, -1, -1])
    expected = [-2.5 * np.log(of_first), -4.0 * np.log(probability(second)), 0.0, 0.0]
    assert_allclose(losses, expected, rtol=1e-12)


def test_an_impossible_labelling_costs_no_infinity():
    scores = Scores.of(np.array([[0.0, -np.inf]]), np.zeros((2, 2)))
    held_out = HeldOutTokens(np.array([1]), np.ones(1), np.array([-1]), np.array([True]))
    assert held_out.losses(Chain(np.array([0, 1])), scores) == MOST


def test_few_names_suffice_to_use_links():
    """That I-X never follows O is a small gain for all tokens, and a large one for names."""
    rng, X, y = np.random.default_rng(0), [], []
    for k in range(400):
        rows, labels = rng.normal(size=(12, 2)), ["O"] * 12
        if k % 20 == 0:
            at = rng.integers(11)
            labels[at : at + 2] = ["B-X", "I-X"]
            rows[[at, at + 1], [0, 1]] += 3
        X.append(rows)
        y.append(labels)
    crf = SeparateCRF(LogisticRegression(), pairs=LogisticRegression()).fit(X, y)
    paths = crf.predict(X)
    assert crf.exponent_ > 0.5 and sum(path.count("I-X") for path in paths) > 5
    assert all(b != "I-X" or a == "B-X" for path in paths for a, b in pairwise(["O", *path]))
