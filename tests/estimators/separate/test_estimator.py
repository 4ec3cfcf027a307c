"""SeparateCRF against what its parts say, on sequences, trees and graphs."""

import pickle
import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from enumerated import Enumerated
from graphs import cyclic_labels
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import GraphArray, SeparateCRF
from sklearn_crcrf.estimators.separate import estimator as module
from sklearn_crcrf.estimators.separate.held_out import log_probabilities
from sklearn_crcrf.estimators.separate.rates import LinkRates, TypedLinks
from sklearn_crcrf.structures import Chain, Graph, Scores, structure_of
from sklearn_crcrf.structures.inference import Loopy

LABELS = np.array(["A", "B", "C"])


@pytest.fixture(autouse=True)
def fewer_choices(monkeypatch):
    """A fit takes as long as there are strengths and exponents to choose from."""
    monkeypatch.setattr(module, "STRENGTHS", module.STRENGTHS[::3])
    monkeypatch.setattr(module, "EXPONENTS", module.EXPONENTS[::3])


def make_graph(n=120, n_edges=300, same=0.9, noise=1.0, seed=0):
    """One graph whose edges join equal labels with a given probability."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(3, size=n)
    X = np.eye(3)[ids] + noise * rng.normal(size=(n, 3))
    pairs = set()
    while len(pairs) < n_edges:
        a, b = rng.integers(n, size=2)
        if a < b and (ids[a] == ids[b]) == (rng.random() < same):
            pairs.add((int(a), int(b)))
    graph = GraphArray.from_edges([X], [sorted(pairs)])
    return graph, LABELS[ids], rng.random(n) < 0.5


def hide(y, known):
    return [[label if k else None for label, k in zip(y.tolist(), known, strict=True)]]


def accuracy(crf, graph, y, known):
    found = crf.predict(graph, allowed=hide(y, known))[0]
    return (found == y)[~known].mean()


def sequences(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(k, 2)) for k in rng.integers(1, 6, size=n)]
    y = [LABELS[(rows[:, 0] + np.roll(rows[:, 0], 1) > 0).astype(int)].tolist() for rows in X]
    return X, y


def untyped(structure):
    return TypedLinks(structure, np.zeros(len(structure.links()[0]), dtype=int), 0)


def test_sequences_have_the_product_of_both_parts():
    X, y = sequences()
    crf = SeparateCRF(LogisticRegression(), exponent=0.5, sigma=2.0).fit(X, y)
    rows, labels = np.concatenate(X), np.concatenate(y)
    nodes = LogisticRegression().fit(rows, labels)
    pairs = np.zeros((2, 2))
    for path in y:
        ids = np.searchsorted(LABELS, path)
        np.add.at(pairs, (ids[:-1], ids[1:]), 1)
    every = Chain(np.append(0, np.cumsum([len(path) for path in y])))
    ends = untyped(every).beliefs_at_ends(np.eye(2)[np.searchsorted(LABELS, labels)])
    rates = LinkRates.of(pairs[None], ends, 2.0, is_symmetric=False, is_directed=True).common
    assert_allclose(crf.rates_, rates)
    assert_allclose(crf.transitions_, 0.5 * rates)
    for rows in X[:5]:
        links = np.arange(len(rows) - 1), np.arange(1, len(rows))
        scores = Scores.of(nodes.predict_log_proba(rows), 0.5 * rates)
        _, expected = Enumerated(np.array([0, len(rows)]), *links).marginals(scores)
        assert_allclose(crf.predict_proba([rows])[0], expected, atol=1e-10)


def test_without_rates_it_is_the_classifier():
    graph, y, known = make_graph()
    crf = SeparateCRF(LogisticRegression(), exponent=0.0).fit(graph, hide(y, known))
    nodes = LogisticRegression().fit(graph.data[known], y[known])
    assert_array_equal(crf.predict(graph)[0], nodes.predict(graph.data))


def test_pairs_are_counted_where_both_labels_are_known():
    edges, ids = np.array([[0, 1], [1, 2], [2, 0]]), np.array([0, 1, -1])
    links = TypedLinks(Graph(np.array([0, 3]), edges, "loopy"), np.array([0, 1, 1]), 1)
    assert_array_equal(links.count_pairs(ids, 2), [[[0, 1], [0, 0]], np.zeros((2, 2))])
    ends = links.beliefs_at_ends(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    assert_array_equal(ends, [[[1, 0], [0.5, 1.5]], [[0, 1], [1.5, 0.5]]])
    assert_array_equal(untyped(Chain(np.array([0, 3]))).count_pairs(ids, 2), [[[0, 1], [0, 0]]])


@pytest.mark.parametrize("same", [0.95, 0.05])
def test_edges_help_between_equal_and_between_different_labels(same):
    graph, y, known = make_graph(n=300, n_edges=900, same=same)
    crf, alone = (
        SeparateCRF(LogisticRegression(), exponent=e).fit(graph, hide(y, known))
        for e in ("fit", 0.0)
    )
    assert crf.exponent_ > 0
    assert accuracy(crf, graph, y, known) > accuracy(alone, graph, y, known) + 0.05


@pytest.mark.parametrize(("n", "n_edges"), [(60, 90), (300, 600)])
def test_edges_that_say_nothing_do_no_harm(n, n_edges):
    """Labels of linked nodes are as different as of any two nodes."""
    losses, exponents = [], []
    for seed in range(4):
        graph, y, known = make_graph(n, n_edges, same=1 / 3, seed=seed)
        crf, alone = (
            SeparateCRF(LogisticRegression(), exponent=e).fit(graph, hide(y, known))
            for e in ("fit", 0.0)
        )
        losses.append(accuracy(alone, graph, y, known) - accuracy(crf, graph, y, known))
        exponents.append(crf.exponent_)
    assert np.mean(losses) <= 0.005
    assert np.mean(exponents) < 0.1


@pytest.mark.parametrize(("directed", "gain"), [(True, 0.2), (False, 0.05)])
def test_labels_that_are_linked_in_a_cycle(directed, gain):
    X, edges, ids = cyclic_labels(directed=directed)
    graph, known = GraphArray.from_edges(X, edges), np.random.default_rng(0).random(len(ids)) < 0.5
    labels = LABELS[ids]
    crf, alone = (
        SeparateCRF(LogisticRegression(), exponent=e).fit(graph, hide(labels, known))
        for e in ("fit", 0.0)
    )
    assert crf.symmetric_ is not directed
    assert accuracy(crf, graph, labels, known) > accuracy(alone, graph, labels, known) + gain


def make_typed(n=30, seed=0):
    """Small graphs: edges of the type "same" join equal labels, edges of the type "any" do not."""
    rng, X, edges, types, y = np.random.default_rng(seed), [], [], [], []
    for _ in range(n):
        ids = rng.integers(3, size=6)
        pairs = [(a, b) for a in range(6) for b in range(a + 1, 6) if rng.random() < 0.6]
        X.append(np.eye(3)[ids] + rng.normal(size=(6, 3)))
        edges.append(pairs)
        types.append(["same" if ids[a] == ids[b] else "any" for a, b in pairs])
        y.append(LABELS[ids].tolist())
    return GraphArray.from_edges(X, edges, types), y


def test_each_type_of_edges_has_rates():
    X, y = make_typed()
    crf = SeparateCRF(inference="exact", symmetric=True).fit(X, y)
    assert crf.edge_attribute_names_.tolist() == ["edge=any", "edge=same"]
    between, within = np.exp(crf.edge_rates_)
    assert np.diag(within).min() > 2 * np.diag(between).max()
    bare = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets)
    assert crf.score(X, y) > SeparateCRF().fit(bare, y).score(bare, y) + 0.05
    with pytest.raises(ValueError, match="X has edges without types"):
        crf.predict(bare)


@pytest.mark.parametrize("symmetric", [True, False])
def test_probabilities_of_typed_graphs_against_enumeration(symmetric):
    X, y = make_typed()
    crf = SeparateCRF(exponent=0.7, inference="exact", symmetric=symmetric).fit(X, y)
    tables = {"any": 0.7 * crf.edge_rates_[0], "same": 0.7 * crf.edge_rates_[1]}
    found = crf.predict_proba(X)
    for s in range(5):
        sample = X[s : s + 1]
        state = log_probabilities(crf.estimator_, sample.data, 3)
        labellings = np.array(list(product(range(3), repeat=6)))
        values = state[np.arange(6), labellings].sum(axis=1)
        for (a, b), kind in zip(sample.edges, sample.edge_data, strict=True):
            values += tables[kind][labellings[:, a], labellings[:, b]]
        p = np.exp(values - values.max())
        expected = [np.bincount(labellings[:, t], p, 3) / p.sum() for t in range(6)]
        assert_allclose(found[s], expected, atol=1e-9)


def test_trees_have_rates_of_each_type():
    words = [["x", "y", "y"], ["x", "y"], ["x", "x"]] * 5
    parents = [[-1, 0, 0], [-1, 0], [1, -1]] * 5
    trees = GraphArray.from_parents(words, parents, edge_type="direction")
    y = [["A", "B", "B"], ["A", "B"], ["A", "A"]] * 5
    crf = SeparateCRF(BernoulliNB(), exponent=1.0).fit(trees, y)
    assert crf.edge_attribute_names_.tolist() == ["edge=left", "edge=right"]
    assert crf.edge_rates_[0, 0].argmax() == 1 and crf.edge_rates_[1, 0].argmax() == 0
    assert crf.predict(trees).tolist() == y


def test_the_iterations_of_inference_are_counted():
    graph, y, known = make_graph()
    nodes = LogisticRegression()
    assert SeparateCRF(nodes).fit(graph, hide(y, known)).n_inference_iter_ > 1
    assert SeparateCRF(nodes).fit(*sequences()).n_inference_iter_ == 0
    crf = SeparateCRF(nodes, exponent=1.0, inference=Loopy(max_iter=2, tol=1e-9))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        crf.fit(graph, hide(y, known))
    assert crf.n_inference_iter_ == 2
    with pytest.warns(ConvergenceWarning, match="inference did not converge in 1 of 1 graphs"):
        crf.predict(graph)


def test_few_known_labels():
    graph, y, _ = make_graph(n=300, n_edges=900)
    known = np.zeros(300, dtype=bool)
    for label in LABELS:
        known[np.flatnonzero(y == label)[:4]] = True
    crf = SeparateCRF().fit(graph, hide(y, known))
    assert accuracy(crf, graph, y, known) >= crf.estimator_.score(
        graph.data[~known], _ids(y[~known])
    )


def _ids(y):
    return np.searchsorted(LABELS, y)


def test_trees_have_rates_from_parent_to_child():
    words = [["x", "y", "y"], ["x", "y"], ["x"]]
    trees = GraphArray.from_parents(words, [[-1, 0, 0], [-1, 0], [-1]])
    y = [["A", "B", "B"], ["A", "B"], ["A"]]
    crf = SeparateCRF(BernoulliNB(), exponent=1.0).fit(trees, y)
    pairs = untyped(structure_of(trees)).count_pairs(_ids(np.concatenate(y)), 2)
    assert_array_equal(pairs, [[[0, 3], [0, 0]]])
    assert crf.predict(trees).tolist() == y
    assert crf.predict_proba(trees)[0].shape == (3, 2)


def test_a_search_chooses_the_parameters_of_nodes():
    graph, y, known = make_graph()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}
    )
    crf = SeparateCRF(search).fit(graph, hide(y, known))
    assert crf.estimator_.best_params_["logisticregression__C"] in (0.1, 1.0)
    assert accuracy(crf, graph, y, known) > 0.6


def test_a_fold_may_lack_a_label():
    graph, y, known = make_graph()
    y = y.copy()
    y[y == "C"] = "A"
    y[np.flatnonzero(known)[0]] = "C"
    crf = SeparateCRF(LogisticRegression()).fit(graph, hide(y, known))
    assert crf.classes_.tolist() == ["A", "B", "C"]


def test_it_is_the_same_every_time_and_pickled():
    graph, y, known = make_graph()
    crf, again = (SeparateCRF(n_folds=2).fit(graph, hide(y, known)) for _ in range(2))
    assert crf.exponent_ == again.exponent_
    assert_array_equal(crf.transitions_, again.transitions_)
    assert_array_equal(pickle.loads(pickle.dumps(crf)).predict(graph)[0], crf.predict(graph)[0])


def test_refusals():
    graph, y, known = make_graph()
    with pytest.raises(ValueError, match="'exponent' parameter"):
        SeparateCRF(exponent=-1.0).fit(graph, hide(y, known))
    with pytest.raises(ValueError, match="all labels are None"):
        SeparateCRF().fit(graph, [[None] * len(y)])


def expected_failures(estimator):
    reason = "which labels are held out depends on the number of samples"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [SeparateCRF(sample_unit="token", n_folds=2)], expected_failed_checks=expected_failures
)
def test_estimator_checks(estimator, check, monkeypatch):
    for name in ("STRENGTHS", "EXPONENTS"):
        monkeypatch.setattr(module, name, getattr(module, name)[::4])
    check(estimator)


def test_a_label_must_be_known():
    with pytest.raises(ValueError, match="y: no token has one label that is known"):
        SeparateCRF().fit([["a", "b"]], [[{"A", "B"}, {"A"}]])


def test_what_cannot_predict_is_no_classifier_of_nodes():
    model = SeparateCRF(pairs="counts").fit([["a", "b"], ["b", "a"]], [["N", "V"], ["V", "N"]])
    model.estimator_ = SimpleNamespace(classes_=model.estimator_.classes_)
    with pytest.raises(ValueError, match=r"estimator_\.predict_proba is missing"):
        model.predict([["a"]])
