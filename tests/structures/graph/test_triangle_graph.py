"""Graphs whose triangles have scores, against the enumeration of all labellings."""

import itertools

import numpy as np
import pytest
from graphs import random_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from sklearn_crcrf.structures import Graph, ScoreGradient, TriangleGraph, Unsupported
from sklearn_crcrf.structures.graph.chordal import ChordalUnits


@st.composite
def chordal_graphs(draw):
    """A few small chordal graphs without cliques of four tokens, with scores of triangles."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths, edges = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)), []
    offsets = np.append(0, np.cumsum(lengths))
    for n, origin in zip(lengths, offsets, strict=False):
        order, links = rng.permutation(n) + origin, []
        for k, token in enumerate(order.tolist()):
            if k and rng.random() < 0.9:
                pair = links[rng.integers(len(links))] if links and rng.random() < 0.6 else None
                others = [rng.choice(order[:k])] if pair is None else pair
                links += [rng.permutation([token, other]).tolist() for other in others]
        edges += links
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    n_labels, n_tables, share = draw(st.integers(1, 3)), 2, draw(st.sampled_from([0.0, 0.1]))
    scores = random_scores(rng, offsets[-1], len(edges), n_labels, 1.0, share)
    scores = scores._replace(own=rng.normal(size=n_tables * n_labels**3))
    graph = Graph(offsets, edges, draw(st.sampled_from(["exact", "auto"])))
    triangles = rng.permuted(ChordalUnits.of(graph).triangles, axis=1)
    return TriangleGraph(graph, triangles, rng.integers(n_tables, size=len(triangles))), scores


def every_labelling(graph, scores):
    """All labellings of each unit, the other units having label 0, and their scores."""
    n = scores.state.shape[1]
    for unit in range(graph.n_units):
        tokens = slice(*graph.offsets[unit : unit + 2])
        paths = np.zeros((n ** (tokens.stop - tokens.start), graph.n_tokens), dtype=int)
        paths[:, tokens] = list(itertools.product(range(n), repeat=tokens.stop - tokens.start))
        yield tokens, paths, np.array([graph.score(scores, y)[0][unit] for y in paths])


@settings(max_examples=25, deadline=None)
@given(chordal_graphs())
def test_score(drawn):
    graph, scores = drawn
    n, rng = scores.state.shape[1], np.random.default_rng(0)
    y = rng.integers(n, size=graph.n_tokens)
    expected, _ = Graph(graph.offsets, graph.edges).score(scores, y)
    uses, weight = np.zeros((2, n, n, n)), rng.normal(size=graph.n_units)
    for triangle, table in zip(graph.triangles, graph.table_of_triangle, strict=True):
        unit = graph.units_of(triangle[0])
        expected[unit] += scores.own.reshape(2, n, n, n)[table, *y[triangle]]
        uses[table, *y[triangle]] += weight[unit]
    value, pullback = graph.score(scores, y)
    assert_allclose(value, expected)
    assert_allclose(pullback(weight).own, uses.ravel())


@settings(max_examples=25, deadline=None)
@given(chordal_graphs())
def test_sums_and_maxima_against_enumeration(drawn):
    graph, scores = drawn
    log_z, pullback = graph.log_partition(scores)
    best, y = graph.maximum(scores)
    weight = np.random.default_rng(0).normal(size=graph.n_units)
    expected = ScoreGradient.zeros(scores)
    for unit, (_, paths, values) in enumerate(every_labelling(graph, scores)):
        assert_allclose(log_z[unit], logsumexp(values), atol=1e-10)
        assert_allclose(best[unit], values.max(), atol=1e-10)
        if best[unit] > -np.inf:
            assert_allclose(graph.score(scores, y)[0][unit], best[unit], atol=1e-10)
            for path, p in zip(paths, np.exp(values - log_z[unit]), strict=True):
                of_unit = weight[unit] * p * (np.arange(graph.n_units) == unit)
                graph.score(scores, path)[1](of_unit, expected)
    for found, right in zip(pullback(weight), expected, strict=True):
        assert_allclose(found, right, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(chordal_graphs())
def test_covariances_and_entropy_against_enumeration(drawn):
    graph, scores = drawn
    graph, rng = graph.with_inference("exact"), np.random.default_rng(0)
    direction = ScoreGradient.zeros(scores, rng.normal(size=scores.state.shape))
    direction.own[:] = rng.normal(size=scores.own.shape)
    mean, pullback = graph.covariance(scores, direction)
    entropy = graph.entropy(scores)
    gradient = pullback(np.ones(graph.n_units))
    expected = np.zeros(scores.own.shape)
    for unit, (tokens, paths, values) in enumerate(every_labelling(graph, scores)):
        if values.max() == -np.inf:
            assert np.isnan(entropy[unit])
            continue
        p = np.exp(values - logsumexp(values))
        assert_allclose(entropy[unit], -(p[p > 0] * np.log(p[p > 0])).sum(), atol=1e-9)
        only = np.arange(graph.n_units) == unit
        uses = [graph.score(scores, y)[1](only * 1.0).own for y in paths]
        rows = np.arange(graph.n_tokens)[tokens]
        along = [
            direction.state[rows, y[tokens]].sum() + direction.own @ use
            for y, use in zip(paths, uses, strict=True)
        ]
        assert_allclose(mean[unit], p @ along, atol=1e-9)
        expected += (p * (along - p @ along)) @ np.array(uses)
    assert_allclose(gradient.own, expected, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(chordal_graphs())
def test_integer_programs(drawn):
    graph, scores = drawn
    best, _ = graph.maximum(scores)
    value, y = graph.with_inference("ilp").maximum(scores)
    possible = np.isfinite(best)
    assert_allclose(value, best, atol=1e-9)
    assert_allclose(graph.score(scores, y)[0][possible], best[possible], atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(chordal_graphs(), st.integers(0, 2**32 - 1))
def test_taken_units(drawn, seed):
    graph, scores = drawn
    log_z, _ = graph.log_partition(scores)
    for units in (np.random.default_rng(seed).permutation(graph.n_units), slice(1, None)):
        part = graph.take(units)
        tokens = np.concatenate([np.arange(graph.n_tokens), []]).astype(int)
        unit_of, link_unit = graph.units_of(tokens), graph.units_of(graph.edges[:, 0])
        order = np.arange(graph.n_units)[units]
        tokens = np.concatenate([tokens[:0], *(np.flatnonzero(unit_of == u) for u in order)])
        links = np.concatenate([tokens[:0], *(np.flatnonzero(link_unit == u) for u in order)])
        rows = scores.token_transitions._replace(row=scores.token_transitions.row[links])
        own = scores._replace(state=scores.state[tokens], token_transitions=rows)
        assert_allclose(part.log_partition(own)[0], log_z[units])


def test_labels_are_drawn_from_the_distribution():
    graph = Graph(np.array([0, 3]), np.array([[0, 1], [2, 1], [0, 2]]), "exact")
    triangle = TriangleGraph(graph, np.array([[2, 0, 1]]), np.array([0]))
    scores = random_scores(np.random.default_rng(0), 3, 3, 2)._replace(own=np.arange(8.0) / 4)
    ((_, _, values),) = every_labelling(triangle, scores)
    drawn = triangle.sample(scores, 20_000, np.random.default_rng(0))
    found = np.bincount(drawn @ [4, 2, 1], minlength=8) / len(drawn)
    assert_allclose(found, np.exp(values - logsumexp(values)), atol=0.02)


def test_refusals():
    graph = Graph(np.array([0, 4]), np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), "exact")
    triangle = TriangleGraph(graph, np.array([[0, 1, 2]]), np.array([0]))
    assert triangle.can("entropy") and not triangle.can("pieces")
    with pytest.raises(Unsupported, match="conditional_scores"):
        triangle.conditional_scores(None, None)
    for engine in ("loopy", "trw", "cut"):
        with pytest.raises(ValueError, match=f'"{engine}" has no scores of triangles'):
            triangle.with_inference(engine)
    with pytest.raises(ValueError, match=r"triangle 1: \[1, 2, 3\] are not three tokens"):
        TriangleGraph(graph, np.array([[0, 1, 2], [1, 2, 3]]), np.array([0, 0]))


def test_chordal_units_of_any_graphs():
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, density = rng.integers(0, 8), rng.random()
        pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
        found = ChordalUnits.of(Graph(np.array([0, n]), np.array(pairs, dtype=int)))
        graph = networkx.Graph(pairs)
        cliques = list(networkx.enumerate_all_cliques(graph))
        largest = max(map(len, cliques), default=0)
        assert found.is_chordal[0] == (largest <= 3 and (not pairs or networkx.is_chordal(graph)))
        if found.is_chordal[0]:
            threes = sorted(sorted(clique) for clique in cliques if len(clique) == 3)
            assert found.triangles.tolist() == threes
