"""Junction trees, against enumeration."""

import sys

import numpy as np
import pytest
from chains import random_direction
from graphs import enumerated, graphs, random_scores
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Chain, Graph, ScoreGradient, Scores
from sklearn_crcrf.structures.inference import Exact


def same(ours, theirs, scale=1.0):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9 * scale)


@given(graphs(scales=(1.0, 30.0, 1000.0)))
def test_sums_and_maxima(case):
    offsets, edges, scores = case
    graph = Graph(offsets, edges, "exact")
    other, weight = enumerated(graph), np.linspace(0.5, 2.0, graph.n_units)
    ours, theirs = (s.log_partition(scores) for s in (graph, other))
    assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-9)
    expected = theirs[1](weight)
    same(ours[1](weight), expected)
    same(ours[1](weight, ours[1](weight)), [2 * part for part in expected])
    assert_allclose(graph.marginals(scores)[1], other.marginals(scores)[1], atol=1e-9)
    value, y = graph.maximum(scores)
    assert_allclose(value, other.maximum(scores)[0], rtol=1e-9, atol=1e-9)
    assert_allclose(graph.score(scores, y)[0], value, rtol=1e-9, atol=1e-9)


@given(graphs(scales=(1.0, 5.0)))
def test_second_derivatives_and_entropies(case):
    offsets, edges, scores = case
    graph = Graph(offsets, edges, "exact")
    other, weight = enumerated(graph), np.linspace(0.5, 2.0, graph.n_units)
    ours, theirs = (s.token_marginals(scores) for s in (graph, other))
    assert_allclose(ours[0], theirs[0], atol=1e-9)
    slope = 5.0 + np.random.default_rng(0).normal(size=scores.state.shape)
    same(ours[1](slope), theirs[1](slope))
    direction = random_direction(scores)
    ours, theirs = (s.covariance(scores, direction) for s in (graph, other))
    assert_allclose(ours[0], theirs[0], atol=1e-9)
    same(ours[1](weight), theirs[1](weight), 10.0)
    assert_allclose(graph.entropy(scores), other.entropy(scores), atol=1e-8)


def test_samples_have_the_marginals():
    rng = np.random.default_rng(0)
    edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2], [4, 5]])
    scores = random_scores(rng, 6, 6, 3, share=0.1)
    graph = Graph(np.array([0, 4, 6]), edges, "exact")
    y = graph.sample(scores, 20_000, rng)
    found = (y[:, :, None] == np.arange(3)).mean(axis=0)
    assert_allclose(found, graph.marginals(scores)[1], atol=0.015)


def test_impossible_units_are_not_sampled():
    state = np.zeros((3, 2))
    state[1] = -np.inf
    graph = Graph(np.array([0, 1, 3]), np.array([[1, 2]]), "exact")
    with pytest.raises(ValueError, match="no labelling of unit 1 is possible"):
        graph.sample(Scores.of(state, np.eye(2)), 1, np.random.default_rng(0))


def test_observed_labels():
    """A token with one label that is possible makes its neighbours independent."""
    scores = random_scores(np.random.default_rng(0), 5, 6, 3)
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [2, 4]])
    graph = Graph(np.array([0, 5]), edges, "exact")
    allowed = np.ones((5, 3), dtype=bool)
    allowed[[0, 2]] = np.eye(3, dtype=bool)[[1, 2]]
    observed = scores.allow(allowed)
    ours, theirs = (s.marginals(observed) for s in (graph, enumerated(graph)))
    assert_allclose(ours[0], theirs[0])
    assert_allclose(ours[1], theirs[1], atol=1e-12)


@pytest.mark.parametrize("n_labels", [1, 2, 4])
def test_a_path_is_a_chain(n_labels):
    rng, chain = np.random.default_rng(0), Chain(np.array([0, 40, 41]))
    graph = Graph(chain.offsets, np.transpose(chain.links()), "exact")
    scores = random_scores(rng, 41, 39, n_labels)
    row = np.full(41, -1)
    row[graph.links()[1]] = scores.token_transitions.row
    of_chain = scores._replace(token_transitions=scores.token_transitions._replace(row=row))
    ours, theirs = graph.log_partition(scores), chain.log_partition(of_chain)
    assert_allclose(ours[0], theirs[0], rtol=1e-12)
    same(ours[1](np.ones(2)), theirs[1](np.ones(2)))
    assert_array_equal(graph.maximum(scores)[1], chain.maximum(of_chain)[1])
    assert_allclose(graph.entropy(scores), chain.entropy(of_chain), rtol=1e-9)


def test_deep_paths_and_large_stars():
    rng, n = np.random.default_rng(0), 3000
    for edges in (
        np.stack([np.arange(n - 1), np.arange(1, n)], axis=1),
        np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1),
    ):
        graph = Graph(np.array([0, n]), edges, "exact")
        scores = random_scores(rng, n, n - 1, 2, scale=20.0)
        value, y = graph.maximum(scores)
        log_z, pullback = graph.log_partition(scores)
        assert value[0] <= log_z[0] < value[0] + n * np.log(2)
        assert_allclose(pullback(np.ones(1)).state.sum(axis=1), 1.0)
        assert_allclose(graph.score(scores, y)[0], value)


def test_wide_graphs_are_refused():
    edges = np.stack(np.triu_indices(7, 1), axis=1)
    graph = Graph(np.array([0, 1, 8]), edges + 1, Exact(max_table=3**6))
    scores = Scores.of(np.zeros((8, 3)), np.eye(3))
    message = 'unit 1: its junction tree is wider than 5, .*="exact" takes with 3 labels: .*=729'
    with pytest.raises(ValueError, match=message):
        graph.log_partition(scores)
    assert Graph(graph.offsets, graph.edges, Exact(max_table=3**7)).maximum(scores)[0][1] == 21.0
    narrow = Scores.of(np.zeros((8, 2)), np.eye(2))
    assert graph.maximum(narrow)[0][1] == 21.0
    assert graph.maximum(Scores.of(np.zeros((8, 1)), np.ones((1, 1))))[0][1] == 21.0


def test_networkx_is_needed_for_cores_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    ring = Graph(np.array([0, 4]), np.array([[0, 1], [1, 2], [2, 3], [0, 3]]), "exact")
    scores = Scores.of(np.zeros((4, 2)), np.eye(2))
    assert_allclose(ring.log_partition(scores)[0], enumerated(ring).log_partition(scores)[0])
    clique = Graph(np.array([0, 4]), np.stack(np.triu_indices(4, 1), axis=1), "exact")
    with pytest.raises(ImportError, match="pip install networkx"):
        clique.log_partition(scores)


def test_plans_are_made_once(monkeypatch):
    calls = []
    plan = Exact.plan
    monkeypatch.setattr(Exact, "plan", lambda self, graph: calls.append(graph) or plan(self, graph))
    graph = Graph(np.array([0, 2]), np.array([[0, 1]]), "exact")
    scores = Scores.of(np.zeros((2, 2)), np.eye(2))
    for _ in range(3):
        graph.log_partition_and_gradient(scores, np.ones(1), ScoreGradient.zeros(scores))
        graph.maximum(scores)
    assert len(calls) == 1
