"""SeparateCRF against what its parts say, on sequences, trees and graphs."""

import pickle

import numpy as np
import pytest
from enumerated import Enumerated
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import GraphArray, SeparateCRF
from sklearn_crcrf.separate.rates import count_pairs, end_marginals, log_rates
from sklearn_crcrf.structures import Chain, Graph, Scores, structure_of

LABELS = np.array(["A", "B", "C"])


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
    beliefs = np.eye(2)[np.searchsorted(LABELS, labels)]
    rates = log_rates(pairs, end_marginals(every, beliefs), 2.0)
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


def test_rates_of_graphs_have_no_direction():
    edges = np.array([[0, 1], [1, 2], [2, 0]])
    pairs = count_pairs(Graph(np.array([0, 3]), edges, "loopy"), np.array([0, 1, -1]), 2)
    assert_array_equal(pairs, [[0, 0.5], [0.5, 0]])
    assert_array_equal(
        count_pairs(Chain(np.array([0, 3])), np.array([0, 1, -1]), 2), [[0, 1], [0, 0]]
    )


@pytest.mark.parametrize("same", [0.95, 0.05])
def test_edges_help_between_equal_and_between_different_labels(same):
    graph, y, known = make_graph(n=300, n_edges=900, same=same)
    crf = SeparateCRF().fit(graph, hide(y, known))
    alone = SeparateCRF(exponent=0.0).fit(graph, hide(y, known))
    assert crf.exponent_ > 0
    assert accuracy(crf, graph, y, known) > accuracy(alone, graph, y, known) + 0.05


def test_edges_that_say_nothing_do_no_harm():
    """Labels of linked nodes are as different as of any two nodes."""
    losses = []
    for seed in range(5):
        graph, y, known = make_graph(n=300, n_edges=600, same=1 / 3, seed=seed)
        crf, alone = (SeparateCRF(exponent=e).fit(graph, hide(y, known)) for e in ("fit", 0.0))
        losses.append(accuracy(alone, graph, y, known) - accuracy(crf, graph, y, known))
    assert np.mean(losses) < 0.02


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
    assert_array_equal(
        count_pairs(structure_of(trees), _ids(np.concatenate(y)), 2), [[0, 3], [0, 0]]
    )
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
    crf = SeparateCRF().fit(graph, hide(y, known))
    assert crf.classes_.tolist() == ["A", "B", "C"]


def test_it_is_the_same_every_time_and_pickled():
    graph, y, known = make_graph()
    crf, again = (SeparateCRF().fit(graph, hide(y, known)) for _ in range(2))
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
def test_estimator_checks(estimator, check):
    check(estimator)
