"""GraphCRF by itself, and beside CRF where a graph is a sequence or a tree."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from graphs import cyclic_labels
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict

from sklearn_crcrf import CRF, AssociativeMarkovNetwork, GraphArray, GraphCRF, explain
from sklearn_crcrf.criteria import MaxMargin
from sklearn_crcrf.estimators.crf.solving import check_supported
from sklearn_crcrf.metrics import get_sequence_scorer
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import Unsupported
from sklearn_crcrf.structures.inference import Loopy

LABELS = ["A", "B", "C"]
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
SHAPES = [(4, RING), (3, [(0, 1), (1, 2), (0, 2)]), (2, [(1, 0)]), (1, []), (4, [*RING, (0, 2)])]


def make_graphs(edge_data=None, n_copies=3, seed=0):
    rng, shapes = np.random.default_rng(seed), SHAPES * n_copies
    X = [rng.normal(size=(n, 2)).round(1) for n, _ in shapes]
    edges = [pairs for _, pairs in shapes]
    data = None
    if edge_data == "types":
        data = [rng.choice(["near", "far"], len(pairs)).tolist() for pairs in edges]
    elif edge_data == "numbers":
        data = [rng.random((len(pairs), 2)).round(1) for pairs in edges]
    y = [rng.choice(LABELS, n).tolist() for n, _ in shapes]
    return GraphArray.from_edges(X, edges, data), y


def flat(result):
    return np.concatenate(list(result))


@for_each("edge_data", [None, "types", "numbers"])
@for_each("options", [{}, {"symmetric": True}, {"associative": True}])
@for_each("criterion", ["log_loss", "pseudo_likelihood", "piecewise"])
def test_gradients(criterion, options, edge_data):
    X, y = make_graphs(edge_data)
    crf = GraphCRF(criterion, inference="exact", max_iter=0, **options)
    with pytest.warns(ConvergenceWarning):
        crf.fit(X, y)
    problem = crf._problem(crf._read(X, y, None), None)
    objective, rng = problem.objective(), np.random.default_rng(0)
    w, direction = rng.normal(size=(2, problem.terms().n_weights))
    expected, step = float(objective(w)[1] @ direction), 1e-6
    ahead, behind = (objective(w + s * direction)[0] for s in (step, -step))
    assert_allclose((ahead - behind) / (2 * step), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("edge_type", [None, "direction"])
def test_on_trees_it_is_the_crf(edge_type):
    rng = np.random.default_rng(1)
    parents = [[1, -1, 1, 2], [-1, 0, 0], [2, 2, -1]] * 4
    words = [[str(w) for w in rng.integers(6, size=len(p))] for p in parents]
    y = [rng.choice(LABELS, len(p)).tolist() for p in parents]
    trees = GraphArray.from_parents(words, parents, edge_type)
    options = {"tol": 1e-10, "decoding": "viterbi"}
    crf = CRF(**options).fit(trees, y)
    graph = GraphCRF("log_loss", inference="exact", **options).fit(trees, y)
    assert_allclose(graph.coef_, crf.coef_[: len(graph.coef_)], atol=1e-4)
    assert_allclose(graph.transitions_, crf.transitions_, atol=1e-4)
    assert_allclose(graph.edge_coef_, crf.edge_coef_, atol=1e-4)
    assert_array_equal(flat(graph.predict(trees)), flat(crf.predict(trees)))
    assert_allclose(flat(graph.predict_proba(trees)), flat(crf.predict_proba(trees)), atol=1e-4)


def test_sequences_are_graphs_too():
    X, y = [["a", "b", "a"], ["b"], ["b", "a"]], [["A", "B", "A"], ["B"], ["B", "A"]]
    options = {"tol": 1e-10}
    graph, crf = (
        GraphCRF("log_loss", inference="exact", **options).fit(X, y),
        CRF(**options).fit(X, y),
    )
    assert_allclose(graph.transitions_, crf.transitions_, atol=1e-5)
    assert graph.predict(X).tolist() == crf.predict(X).tolist()


def test_rows_of_a_table_are_nodes_without_edges():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.choice(LABELS, 60)
    graph = GraphCRF("log_loss", tol=1e-12).fit(X, y)
    flat_model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10).fit(X, y)
    assert_allclose(graph.predict_proba(X), flat_model.predict_proba(X), atol=1e-4)


def test_symmetric_tables():
    X, y = make_graphs("types")
    crf = GraphCRF("log_loss", inference="exact", symmetric=True).fit(X, y)
    assert_allclose(crf.transitions_, crf.transitions_.T)
    assert_allclose(crf.edge_coef_, crf.edge_coef_.transpose(0, 2, 1))
    turned = GraphArray(X.data, X.offsets, X.edges[:, ::-1], X.edge_offsets, X.edge_data)
    assert_allclose(flat(crf.predict_proba(turned)), flat(crf.predict_proba(X)))


def different_neighbours():
    """Rings in which no edge joins equal labels."""
    X, _ = make_graphs("types")
    rings = X[[i for i, n in enumerate(X.lengths) if n == 4]]
    return rings, [["A", "B", "A", "C"]] * len(rings)


@pytest.mark.parametrize(
    ("criterion", "solver"),
    [("pseudo_likelihood", "auto"), ("log_loss", "lbfgs"), (MaxMargin(), "bundle")],
)
def test_associative_tables_are_diagonal_and_not_negative(criterion, solver):
    X, y = different_neighbours()
    options = {"inference": "exact", "solver": solver, "tol": 1e-6}
    crf = GraphCRF(criterion, associative=True, **options).fit(X, y)
    for table in (crf.transitions_, *crf.edge_coef_):
        assert_array_equal(table, np.diag(np.diag(table)))
        assert (np.diag(table) >= 0).all()
    free = GraphCRF(criterion, **options).fit(X, y)
    assert (np.diag(free.transitions_) < 0).any()


def test_bounds_are_kept_at_the_minimum():
    """Moving a weight away from its bound does not lower the objective."""
    X, y = different_neighbours()
    X = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets)
    crf = GraphCRF("log_loss", inference="exact", associative=True, tol=1e-12).fit(X, y)
    problem = crf._problem(crf._read(X, y, None), None)
    weights = np.concatenate([crf.coef_.ravel(), np.diag(crf.transitions_)])
    _, gradient = problem.objective()(weights)
    at_bound = weights <= problem.lower_bounds()
    assert at_bound.any() and (gradient[at_bound] >= 0).all()
    assert_allclose(gradient[~at_bound], 0.0, atol=1e-3)


def test_nodes_without_a_label_take_no_part():
    X, y = make_graphs("numbers")
    known = [[None if k % 3 == 1 else label for k, label in enumerate(labels)] for labels in y]
    samples = [np.flatnonzero([label is not None for label in labels]) for labels in known]
    rows, edges, data, kept = [], [], [], []
    for i, nodes in enumerate(samples):
        place = {int(node): k for k, node in enumerate(nodes)}
        pairs = X.edges[X.edge_offsets[i] : X.edge_offsets[i + 1]].tolist()
        inside = [k for k, (a, b) in enumerate(pairs) if a in place and b in place]
        rows.append(X[i][nodes])
        edges.append([(place[pairs[k][0]], place[pairs[k][1]]) for k in inside])
        data.append(X.edge_data[X.edge_offsets[i] : X.edge_offsets[i + 1]][inside])
        kept.append([y[i][node] for node in nodes])
    part = GraphArray.from_edges(rows, [np.reshape(e, (-1, 2)).astype(int) for e in edges], data)
    crf, other = GraphCRF().fit(X, known), GraphCRF().fit(part, kept)
    assert_array_equal(crf.coef_, other.coef_)
    assert_array_equal(crf.edge_coef_, other.edge_coef_)
    with pytest.raises(ValueError, match="y: all labels are None"):
        GraphCRF().fit(X, [[None] * len(labels) for labels in y])


def test_known_labels_are_kept_and_help():
    words = [["?"] * 6]
    path = GraphArray.from_edges(words, [[(k, k + 1) for k in range(5)]])
    crf = GraphCRF(symmetric=True, inference="exact").fit(path, [["A"] * 3 + ["B"] * 3])
    for known in ("A", "B"):
        allowed = [[known, None, None, None, None, known]]
        assert crf.predict(path, allowed=allowed).tolist() == [[known] * 6]


def test_loopy_propagation_warns_if_it_does_not_converge():
    X, y = make_graphs()
    crf = GraphCRF(inference=Loopy(max_iter=1, tol=0.0)).fit(X, y)
    assert crf.n_inference_iter_ == 0
    with pytest.warns(ConvergenceWarning, match=r"inference did not converge in \d+ of 15 graphs"):
        crf.predict(X)
    likelihood = GraphCRF("log_loss", inference="trw").fit(X, y)
    assert likelihood.n_inference_iter_ > 0


def test_types_of_edges_that_training_has_not_seen():
    X, y = make_graphs("types")
    crf = GraphCRF().fit(X, y)
    assert crf.edge_attribute_names_.tolist() == ["edge=far", "edge=near"]
    new = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets, ["new"] * X.n_edges)
    assert len(crf.predict(new)) == len(X)
    plain = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets)
    with pytest.raises(ValueError, match="X has edges without types or attributes, but in fit"):
        crf.predict(plain)


def test_refusals():
    X, y = make_graphs("numbers")
    negative = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets, -X.edge_data - 1)
    with pytest.raises(ValueError, match=r"X\.edge_data, column \d: .* must not be negative"):
        GraphCRF(associative=True).fit(negative, y)
    with pytest.raises(ValueError, match='solver="owlqn" cannot keep weights within bounds'):
        GraphCRF(associative=True, solver="owlqn").fit(X, y)
    with pytest.raises(Unsupported, match=r"criterion=MCEF1\(weight=9.0\) needs .*, which Graph"):
        GraphCRF("mce_f1").fit(X, [["O"] * len(labels) for labels in y[:-1]] + [["B-X"] * 4])
    with pytest.raises(Unsupported, match="k_best"):
        GraphCRF().fit(X, y).predict_k_best(X)


def test_explanations_add_up_to_the_score():
    X, y = make_graphs("types")
    crf = GraphCRF(inference="exact", decoding="viterbi").fit(X, y)
    for i in (0, 4):
        graph = X[i : i + 1]
        labels = crf.predict(graph)[0].tolist()
        entries = explain(crf, graph).contributions
        sequences = crf._check_X(graph)
        structure = crf._structure(sequences.X)
        scores = crf._scores(crf._prepare(sequences.X), next(iter(_batches(structure))))
        ids = np.searchsorted(crf.classes_, labels)
        assert_allclose(entries.value.sum(), structure.score(scores, ids)[0][0])


def _batches(structure):
    from sklearn_crcrf.base.batches import batches_of

    return batches_of(structure, 1)


def test_searches_and_folds_keep_the_edges():
    X, y = make_graphs("types", n_copies=4)
    search = GridSearchCV(
        GraphCRF(inference="exact"),
        {"sigma": [0.3, 1.0], "inference": ["exact", "loopy"]},
        scoring=get_sequence_scorer("token_accuracy"),
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0
    assert len(flat(cross_val_predict(GraphCRF(), X, y, cv=2))) == len(flat(y))


def test_it_is_stored(tmp_path):
    X, y = make_graphs("types")
    crf = GraphCRF(symmetric=True).fit(X, y)
    save_model(crf, tmp_path / "graphs.crcrf")
    for twin in (load_model(tmp_path / "graphs.crcrf").estimator, pickle.loads(pickle.dumps(crf))):
        assert_array_equal(flat(twin.predict(X)), flat(crf.predict(X)))


@pytest.mark.parametrize(("directed", "gain"), [(True, 0.15), (False, 0.02)])
def test_labels_that_are_linked_in_a_cycle(directed, gain):
    X, edges, y = cyclic_labels(directed=directed)
    graph, bare = GraphArray.from_edges(X, edges), GraphArray.from_edges(X, [[]])
    is_known = np.random.default_rng(0).random(len(y)) < 0.5
    known = [[int(k) if given else None for k, given in zip(y, is_known, strict=True)]]

    def accuracy(graph):
        crf = GraphCRF(symmetric=not directed).fit(graph, known)
        return (crf.predict(graph, allowed=known)[0] == y)[~is_known].mean()

    assert accuracy(graph) > accuracy(bare) + gain


def test_training_is_the_same_for_any_number_of_threads():
    X, y = make_graphs("numbers", n_copies=20)
    one, two = (GraphCRF("log_loss", inference="trw", n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(one.edge_coef_, two.edge_coef_)


@for_each("edge_data", [None, "types", "numbers"])
@for_each("options", [{}, {"symmetric": True}, {"associative": True}])
def test_each_weight_is_penalised_once(edge_data, options):
    X, y = make_graphs(edge_data)
    crf = GraphCRF(sigma=2.0, **options).fit(X, y)
    problem = crf._problem(crf._read(X, y, None), None)
    x = np.random.default_rng(0).normal(size=problem.terms().n_weights)
    (ours, _), (free, _) = (p.objective()(x) for p in (problem, problem._replace(sigma=np.inf)))
    assert ours - free == pytest.approx(x @ x / 8)


@pytest.mark.filterwarnings("ignore:training did not converge")
@pytest.mark.parametrize("edge_data", [None, "types", "numbers"])
def test_training_goes_on(edge_data):
    X, y = make_graphs(edge_data)
    crf = GraphCRF(random_state=0, sigma=0.3)
    for _ in range(10):
        crf.partial_fit(X, y)
    assert crf.edge_coef_.any() or edge_data is None
    assert crf.score(X, y) > GraphCRF(sigma=3.0).fit(X, y).score(X, y) - 0.1
    again = GraphCRF(warm_start=True, tol=1e-9).fit(X, y)
    weights = again.edge_coef_
    again.set_params(max_iter=1, tol=1e-4).fit(X, y)
    assert_allclose(again.edge_coef_, weights, atol=1e-4)


def test_training_goes_on_with_more_types():
    X, y = make_graphs("types")
    more = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets, np.full(X.n_edges, "mid"))
    crf = GraphCRF(random_state=0).partial_fit(X, y).partial_fit(more, y)
    assert crf.edge_attribute_names_.tolist() == ["edge=far", "edge=near", "edge=mid"]
    assert crf.edge_coef_.any(axis=(1, 2)).all()
    crf.set_params(warm_start=True).fit(more, y)
    assert crf.edge_attribute_names_.tolist() == ["edge=mid"]
    with pytest.raises(ValueError, match="X has attributes of edges, but in fit it had types"):
        GraphCRF().partial_fit(X, y).partial_fit(*make_graphs("numbers"))


@pytest.mark.filterwarnings("ignore:training did not converge")
@pytest.mark.parametrize("model", [GraphCRF(associative=True), AssociativeMarkovNetwork()])
def test_associative_tables_are_not_trained_by_parts(model):
    assert not hasattr(model, "partial_fit")
    X, y = make_graphs("types")
    model = clone(model).set_params(warm_start=True, max_iter=500).fit(X, y)
    before = model.edge_coef_
    assert_allclose(model.set_params(max_iter=1).fit(X, y).edge_coef_, before, atol=0.01)


@pytest.mark.parametrize("criterion", ["mce", "mce_f1"])
def test_criteria_that_graphs_do_not_have_are_refused_before_any_work(criterion, monkeypatch):
    monkeypatch.setattr(GraphCRF, "_start", None)
    X, y = make_graphs()
    y = [[f"B-{label}" for label in labels] for labels in y]
    said = r"^criterion=.* needs best_excluding, which Graph with inference=\"trw\" does not have$"
    with pytest.raises(Unsupported, match=said):
        GraphCRF(criterion, inference="trw").fit(X, y)


def test_associative_problems_have_bounds():
    X, y = make_graphs()
    crf = GraphCRF(associative=True).fit(X, y)
    problem = crf._problem(crf._read(X, y, None), None)
    assert problem.are_not_negative
    check_supported("lbfgs", problem)
    assert np.isneginf(problem.lower_bounds()).sum() == crf.coef_.size
    assert sp.issparse(problem.corpus.structure.link_attributes)
