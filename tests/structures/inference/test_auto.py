"""Exact inference on narrow units, loopy propagation on the others."""

import numpy as np
import pytest
from graphs import enumerated, graphs, random_scores
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Graph, ScoreGradient
from sklearn_crcrf.structures.inference import Auto, Exact, Loopy, elimination


def clique(n):
    return np.stack(np.triu_indices(n, 1), axis=1)


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_small_graphs_are_exact(case):
    offsets, edges, scores = case
    graph = Graph(offsets, edges)
    other, weight = enumerated(graph), np.linspace(0.5, 2.0, graph.n_units)
    ours, theirs = (s.log_partition(scores) for s in (graph, other))
    assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-9)
    for a, b in zip(ours[1](weight), theirs[1](weight), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert_allclose(graph.maximum(scores)[0], other.maximum(scores)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("with_rows", [False, True])
def test_each_unit_has_its_engine(with_rows):
    """A path, a clique, a token and another clique, of which the cliques are not narrow."""
    sizes = np.array([4, 6, 1, 7])
    offsets = np.append(0, np.cumsum(sizes))
    path = np.array([[0, 1], [1, 2], [2, 3]])
    edges = np.concatenate([path, clique(6) + 4, clique(7) + 11])
    scores = random_scores(np.random.default_rng(0), 18, len(edges), 3, with_rows=with_rows)
    graph = Graph(offsets, edges, Auto(exact=Exact(max_table=3**5)))
    exact, loopy = graph.with_inference("exact"), graph.with_inference("loopy")
    is_narrow, weight = np.array([True, False, True, False]), np.array([1.0, 2.0, 3.0, 4.0])
    (value, pullback), *others = (g.log_partition(scores) for g in (graph, exact, loopy))
    assert_allclose(value, np.where(is_narrow, others[0][0], others[1][0]))
    out = pullback(weight, ScoreGradient.zeros(scores))
    parts = [
        pull(np.where(mask, weight, 0.0))
        for (_, pull), mask in zip(others, (is_narrow, ~is_narrow), strict=True)
    ]
    for a, b, c in zip(out, *parts, strict=True):
        assert_allclose(a, b + c, atol=1e-12)
    best, y = graph.maximum(scores)
    for g, units in ((exact, is_narrow), (loopy, ~is_narrow)):
        expected, labels = g.maximum(scores)
        assert_allclose(best[units], expected[units])
        tokens = np.repeat(units, sizes)
        assert_array_equal(y[tokens], labels[tokens])
    for u in range(4):
        links = np.flatnonzero(graph.units_of(edges[:, 0]) == u)
        row = scores.token_transitions.row[links]
        own = scores._replace(
            state=scores.state[slice(*offsets[u : u + 2])],
            token_transitions=scores.token_transitions._replace(row=row),
        )
        assert_allclose(graph.take(slice(u, u + 1)).log_partition(own)[0], value[u])


def test_the_number_of_labels_decides_too():
    graph = Graph(np.array([0, 6]), clique(6), Auto(exact=Exact(max_table=3**5)))
    for n_labels, engine in ((2, Exact), (3, Loopy)):
        (part,) = graph.plan.parts(n_labels)
        assert isinstance(part.graph.inference, engine)


def test_planning_a_grid_is_quick(monkeypatch):
    """A grid that is far too wide is not left to networkx."""
    monkeypatch.setattr(elimination, "_min_fill_order", None)
    grid = np.arange(1600).reshape(40, 40)
    pairs = [(grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    (part,) = Graph(np.array([0, 1600]), edges, "auto").plan.parts(2)
    assert isinstance(part.graph.inference, Loopy)


def test_settings_are_handed_on():
    reports = []
    graph = Graph(
        np.array([0, 9]), clique(9), Auto(Exact(1), Loopy(max_iter=3, report=reports.append))
    )
    graph.maximum(random_scores(np.random.default_rng(0), 9, 36, 3, scale=9.0))
    assert reports[0].n_iter.tolist() == [3]
