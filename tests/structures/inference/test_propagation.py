"""Loopy and tree-reweighted propagation: exact on forests, approximations and bounds elsewhere."""

import itertools

import networkx as nx
import numpy as np
import pytest
from cases import for_each
from chains import random_direction, shifted
from graphs import enumerated, graphs, random_scores
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Graph, Scores
from sklearn_crcrf.structures.inference import Loopy, TreeReweighted, propagation
from sklearn_crcrf.structures.inference.propagation import Slots
from sklearn_crcrf.structures.inference.tree_reweighted import Forests

BOTH = pytest.mark.parametrize("engine", [Loopy, TreeReweighted])
RING = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])


def grid(height, width):
    edges = nx.convert_node_labels_to_integers(nx.grid_2d_graph(height, width)).edges
    return np.array([0, height * width]), np.array(edges)


def forests_of(graph):
    """Which units have no cycle."""
    network = nx.MultiGraph()
    network.add_nodes_from(range(graph.n_tokens))
    network.add_edges_from(graph.edges.tolist())
    parts = [
        network.subgraph(range(a, b))
        for a, b in np.stack([graph.offsets[:-1], graph.offsets[1:]], 1)
    ]
    return np.array([len(part) == 0 or nx.is_forest(part) for part in parts], dtype=bool)


@settings(max_examples=50, deadline=None)
@given(graphs(scales=(1.0, 30.0, 1000.0)))
def test_forests_are_exact(case):
    offsets, edges, scores = case
    for engine in (Loopy, TreeReweighted):
        graph = Graph(offsets, edges, engine(damping=0.5))
        other, units = enumerated(graph), np.flatnonzero(forests_of(graph))
        log_z, pullback = graph.log_partition(scores)
        expected, pull_expected = other.log_partition(scores)
        assert_allclose(log_z[units], expected[units], rtol=1e-9, atol=1e-9)
        weight = np.zeros(graph.n_units)
        weight[units] = np.linspace(0.5, 2.0, len(units))
        for a, b in zip(pullback(weight), pull_expected(weight), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        value, y = graph.maximum(scores)
        assert_allclose(value[units], other.maximum(scores)[0][units], rtol=1e-9, atol=1e-9)
        assert_allclose(graph.score(scores, y)[0][units], value[units], rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(graphs(scales=(1.0, 10.0)))
def test_tree_reweighted_sums_are_never_below(case):
    """Also before messages have converged."""
    offsets, edges, scores = case
    expected, _ = enumerated(Graph(offsets, edges)).log_partition(scores)
    for n_iter in (1, 2, 100):
        graph = Graph(offsets, edges, TreeReweighted(max_iter=n_iter))
        log_z, _ = graph.log_partition(scores)
        assert (log_z >= expected - 1e-9 * np.maximum(1, np.abs(expected))).all()


def test_more_iterations_tighten_the_bound():
    offsets, edges = grid(3, 4)
    scores = random_scores(np.random.default_rng(0), 12, len(edges), 3)
    bounds = [
        Graph(offsets, edges, TreeReweighted(max_iter=n)).log_partition(scores)[0][0]
        for n in (1, 3, 10, 100)
    ]
    exact = Graph(offsets, edges, "exact").log_partition(scores)[0][0]
    assert_allclose(bounds, sorted(bounds, reverse=True))
    assert 0 < bounds[-1] - exact < 0.5


def test_the_bound_is_convex():
    offsets, edges = grid(3, 3)
    graph = Graph(offsets, edges, TreeReweighted(max_iter=2000, tol=1e-10))
    rng = np.random.default_rng(0)
    for _ in range(5):
        a = Scores.of(rng.normal(size=(9, 2)), 2 * rng.normal(size=(2, 2)))
        b = Scores.of(rng.normal(size=(9, 2)), 2 * rng.normal(size=(2, 2)))
        between = Scores.of((a.state + b.state) / 2, (a.transition + b.transition) / 2)
        ends, middle = (
            [graph.log_partition(scores)[0][0] for scores in some] for some in ((a, b), (between,))
        )
        assert middle[0] <= np.mean(ends) + 1e-9


@BOTH
@for_each("seed", range(4))
def test_gradients(engine, seed):
    rng = np.random.default_rng(seed)
    offsets, edges = np.array([0, 6, 8]), np.array([*RING, [4, 0], [4, 2], [5, 1], [6, 7]])
    scores = random_scores(rng, 8, 8, 2 + seed % 2, scale=0.7)
    graph = Graph(offsets, edges, engine(max_iter=2000, tol=1e-13, damping=0.3))
    weight, direction, step = np.array([0.5, 2.0]), random_direction(scores, seed), 1e-5
    _, pullback = graph.log_partition(scores)
    gradient = pullback(weight)
    expected = sum((a * b).sum() for a, b in zip(gradient, direction, strict=True))
    ahead, behind = (
        weight @ graph.log_partition(shifted(scores, direction, s))[0] for s in (step, -step)
    )
    assert_allclose((ahead - behind) / (2 * step), expected, rtol=1e-7, atol=1e-8)
    twice = pullback(weight, pullback(weight))
    for a, b in zip(twice, gradient, strict=True):
        assert_allclose(a, 2 * b)
    _, marginals = graph.marginals(scores)
    assert_allclose(marginals, pullback(np.ones(2)).state)
    assert_allclose(marginals.sum(axis=1), 1.0)


@BOTH
def test_pairs_and_tokens_agree(engine):
    """At convergence the beliefs of links have the beliefs of their tokens."""
    offsets, edges = grid(4, 4)
    scores = random_scores(np.random.default_rng(1), 16, len(edges), 3, with_rows=False)
    graph = Graph(offsets, edges, engine(max_iter=2000, tol=1e-12))
    _, pullback = graph.log_partition(scores)
    gradient = pullback(np.ones(1))
    first, second = graph.links()
    assert_allclose(gradient.transition.sum(axis=1), gradient.state[first].sum(axis=0), atol=1e-8)
    assert_allclose(gradient.transition.sum(axis=0), gradient.state[second].sum(axis=0), atol=1e-8)


@BOTH
def test_maxima_are_nearly_always_the_best(engine):
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        offsets, edges = grid(3, 4)
        scores = random_scores(rng, 12, len(edges), 3)
        best, _ = Graph(offsets, edges, "exact").maximum(scores)
        value, y = Graph(offsets, edges, engine()).maximum(scores)
        assert_allclose(Graph(offsets, edges).score(scores, y)[0], value)
        assert value <= best + 1e-9
        found.append(value[0] >= best[0] - 1e-9)
    assert np.mean(found) >= 0.9


@BOTH
def test_ties_are_broken(engine):
    """On a tree also where all messages tie."""
    edges = np.array([[0, 1], [1, 2], [1, 3]])
    scores = Scores.of(np.zeros((4, 3)), np.eye(3)[[1, 2, 0]])
    value, _ = Graph(np.array([0, 4]), edges, engine()).maximum(scores)
    assert value[0] == 3.0


@BOTH
def test_impossible_pairs_and_labels(engine):
    """Labels without a compatible one are ruled out before messages are sent."""
    transition = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    state = np.zeros((6, 2))
    state[0, 1] = state[4, 0] = state[5, 1] = -np.inf
    edges = np.array([*RING, [4, 5]])
    graph = Graph(np.array([0, 4, 6]), edges, engine())
    log_z, marginals = graph.marginals(Scores.of(state, transition))
    assert_allclose(log_z, [0.0, -np.inf], atol=1e-12)
    assert_allclose(marginals, [*[[1.0, 0.0]] * 4, *[[0.0, 0.0]] * 2])
    value, y = graph.maximum(Scores.of(state, transition))
    assert_array_equal(value, [0.0, -np.inf])
    assert_array_equal(y[:4], 0)


@BOTH
def test_observed_labels(engine):
    """If observed tokens cut all cycles, it is exact."""
    offsets, edges = grid(3, 3)
    scores = random_scores(np.random.default_rng(0), 9, len(edges), 3)
    allowed = np.ones((9, 3), dtype=bool)
    allowed[4] = [False, True, False]
    allowed[1] = [True, False, False]
    observed = scores.allow(allowed)
    graph = Graph(offsets, edges, engine(max_iter=1000, tol=1e-12))
    if engine is Loopy:
        ours, theirs = (g.marginals(observed) for g in (graph, graph.with_inference("exact")))
        assert_allclose(ours[0], theirs[0])
        assert_allclose(ours[1], theirs[1], atol=1e-9)
    assert_allclose(graph.marginals(observed)[1][[4, 1]], allowed[[4, 1]])


@BOTH
def test_a_unit_does_not_depend_on_the_others(engine):
    rng, (_, edges) = np.random.default_rng(0), grid(3, 4)
    offsets, parts = np.array([0, 12, 14, 26]), (edges, np.array([[12, 13]]), edges + 14)
    scores = random_scores(rng, 26, 2 * len(edges) + 1, 3, scale=2.0, with_rows=False)
    reports = []
    graph = Graph(offsets, np.concatenate(parts), engine(report=reports.append))
    together = graph.log_partition(scores)[0], *graph.maximum(scores)
    n_iter = np.array([report.n_iter for report in reports[:2]]).T
    for u in range(3):
        tokens = slice(*offsets[u : u + 2])
        alone = graph.take(slice(u, u + 1))
        own = Scores.of(scores.state[tokens], scores.transition, scores.begin, scores.end)
        assert alone.log_partition(own)[0] == together[0][u]
        value, y = alone.maximum(own)
        assert value == together[1][u]
        assert_array_equal(y, together[2][tokens])
        assert_array_equal(n_iter[u], [report.n_iter[0] for report in reports[-2:]])
        assert reports[-1].converged.shape == (1,)


@BOTH
def test_calls_of_the_kernel_do_not_matter(engine, monkeypatch):
    """Long work is cut into several calls, to be interruptible."""
    offsets, edges = grid(3, 4)
    scores = random_scores(np.random.default_rng(0), 12, len(edges), 3)
    reports = []
    graph = Graph(offsets, edges, engine(report=reports.append))
    expected = graph.log_partition(scores)[0]
    monkeypatch.setattr(propagation, "WORK", 1)
    assert graph.log_partition(scores)[0] == expected
    assert_array_equal(*(report.n_iter for report in reports))


@BOTH
def test_convergence_is_reported(engine):
    edges, reports = np.array([*RING, [4, 5]]), []
    graph = Graph(
        np.array([0, 4, 6, 7]), edges, engine(max_iter=3, tol=1e-9, report=reports.append)
    )
    graph.log_partition(Scores.of(np.random.default_rng(0).normal(size=(7, 2)), 3 * np.eye(2)))
    (report,) = reports
    assert_array_equal(report.n_iter, [3, 2, 0])
    assert_array_equal(report.converged, [False, True, True])
    assert report.residual[0] > report.tol == 1e-9 >= report.residual[1]


@for_each("seed", range(5))
def test_spanning_forests(seed):
    networks = [
        nx.gnp_random_graph(10, 0.5, seed=seed),
        nx.empty_graph(0),
        nx.random_labeled_tree(8, seed=seed),
        nx.complete_graph(20),
        nx.empty_graph(2),
    ]
    joined = nx.disjoint_union_all(networks)
    ends = np.ascontiguousarray(np.array(joined.edges).T)
    offsets = np.append(0, np.cumsum([len(network) for network in networks]))
    slots = Slots.of(offsets, ends)
    forests = Forests.of(offsets, ends, slots)
    n_forests = np.diff(forests.first)
    assert_array_equal(n_forests[1:3], [0, 1])
    assert n_forests[4] == 1 and n_forests[3] >= 10
    uses = np.zeros(ends.shape[1])
    for u, (a, b) in enumerate(itertools.pairwise(offsets)):
        for f in range(*forests.first[u : u + 2]):
            where = slice(forests.place[f], forests.place[f] + b - a)
            order, up = forests.order[where], forests.up[where]
            assert sorted(order) == list(range(a, b))
            links = slots.link[up[up >= 0]]
            assert len(links) == b - a - nx.number_connected_components(networks[u])
            assert len(set(links)) == len(links)
            uses[links] += 1
            place = np.argsort(order)
            parents = slots.neighbour[up[up >= 0]]
            assert (place[parents - a] < np.flatnonzero(up >= 0)).all()
    unit = np.searchsorted(offsets, ends[0], side="right") - 1
    assert_allclose(forests.share, uses / n_forests[unit])
    assert (forests.share > 0).all()
