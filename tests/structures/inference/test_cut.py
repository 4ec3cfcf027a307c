"""Minimum cuts: exact for two labels, never worse than single changes for more."""

import numpy as np
import pytest
from graphs import enumerated, graphs, random_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Graph, Scores, TokenTransitions
from sklearn_crcrf.structures.inference import Cut


def associative(scores):
    """The same state scores, and transition scores that make cuts exact for two labels."""
    transition = np.array(scores.transition)
    transition[[0, 1], [0, 1]] += np.abs(transition).sum()
    edges = scores.token_transitions
    gain = np.where(edges.previous == edges.current, np.abs(edges.score), 0.0)
    common = transition[edges.previous, edges.current]
    return scores._replace(
        transition=transition, token_transitions=edges._replace(score=common + gain)
    )


@settings(max_examples=75, deadline=None)
@given(graphs(scales=(1.0, 1000.0), n_labels=(2,), forbids=False), st.integers(0, 99))
def test_two_labels_are_exact_up_to_rounding(case, seed):
    offsets, edges, scores = case
    rng, scores = np.random.default_rng(seed), associative(scores)
    scores.state[rng.random(scores.state.shape) < 0.15] = -np.inf
    graph = Graph(offsets, edges, "cut")
    value, y = graph.maximum(scores)
    best, _ = enumerated(graph).maximum(scores)
    largest = 2 * np.abs([*scores.transition.ravel(), *scores.token_transitions.score]).max()
    bound = (graph.n_tokens + graph.n_links) * len(edges) * largest / 2**30
    assert_allclose(value, best, rtol=1e-12, atol=bound + 1e-9)
    assert y.dtype == np.int32
    possible = np.repeat(best > -np.inf, np.diff(offsets))
    assert (scores.state[np.arange(len(y)), y][possible] > -np.inf).all()


@settings(max_examples=30, deadline=None)
@given(graphs(n_labels=(3, 4), forbids=False, with_rows=False), st.integers(0, 99))
def test_expansions(case, seed):
    """No expansion raises the score; a single change of a label neither."""
    offsets, edges, scores = case
    rng = np.random.default_rng(seed)
    n = len(scores.transition)
    scores = scores._replace(transition=np.diag(5 * rng.random(n)))
    scores.state[rng.random(scores.state.shape) < 0.15] = -np.inf
    graph = Graph(offsets, edges, "cut")
    value, y = graph.maximum(scores)
    best, _ = enumerated(graph).maximum(scores)
    assert (value <= best + 1e-9).all()
    for label in range(n):
        allowed = np.eye(n, dtype=bool)[y]
        allowed[:, label] = True
        expanded, _ = enumerated(graph).maximum(scores.allow(allowed))
        assert_allclose(value, expanded, rtol=1e-7, atol=1e-5)


def test_most_expansions_find_the_best():
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = np.array([(a, b) for a in range(7) for b in range(a) if rng.random() < 0.5])
        scores = Scores.of(rng.normal(size=(7, 3)), np.diag(rng.gamma(1.0, 1.0, 3)))
        graph = Graph(np.array([0, 7]), edges, "cut")
        found.append(graph.maximum(scores)[0][0] >= enumerated(graph).maximum(scores)[0][0] - 1e-9)
    assert np.mean(found) > 0.85


def test_a_unit_does_not_depend_on_the_others():
    rng = np.random.default_rng(0)
    edges = np.array([(a, b) for a in range(9) for b in range(a) if rng.random() < 0.4])
    for n_labels in (2, 4):
        state = rng.normal(size=(18, n_labels))
        state[9:] *= 1e6
        scores = Scores.of(state, np.eye(n_labels))
        graph = Graph(np.array([0, 9, 18]), np.concatenate([edges, edges + 9]), "cut")
        value, y = graph.maximum(scores)
        for u, tokens in enumerate((slice(0, 9), slice(9, 18))):
            alone = graph.take(slice(u, u + 1)).maximum(Scores.of(state[tokens], np.eye(n_labels)))
            assert alone[0] == value[u]
            assert_array_equal(alone[1], y[tokens])


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_links_without_scores(n_labels):
    state = np.random.default_rng(0).normal(size=(5, n_labels))
    graph = Graph(np.array([0, 4, 4, 5]), np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), "cut")
    value, y = graph.maximum(Scores.of(state, np.zeros((n_labels, n_labels))))
    assert_array_equal(y, state.argmax(axis=1))
    assert_allclose(value, [state[:4].max(axis=1).sum(), 0.0, state[4].max()])


def test_impossible_units():
    state = np.zeros((3, 2))
    state[1] = -np.inf
    value, _ = Graph(np.array([0, 1, 3]), np.array([[1, 2]]), "cut").maximum(
        Scores.of(state, np.eye(2))
    )
    assert_array_equal(value, [0.0, -np.inf])


def test_links_that_are_not_associative():
    graph = Graph(np.array([0, 2, 5]), np.array([[0, 1], [2, 3], [3, 4]]), "cut")
    scores = Scores.of(np.zeros((5, 3)), np.eye(3))
    label = np.array([0], dtype=np.int32)
    edges = TokenTransitions(np.array([-1, -1, 0]), np.array([0, 1]), label, label + 1, np.ones(1))
    with pytest.raises(ValueError, match='unit 1, link 2: inference="cut" needs associative links'):
        graph.maximum(scores._replace(token_transitions=edges._replace(score=np.array([2.5]))))
    with pytest.raises(ValueError, match=r"labels \(1, 1\) and \(0, 0\) together score less than"):
        graph.maximum(scores._replace(transition=-np.eye(3)))
    with pytest.raises(ValueError, match="needs transition scores that are finite"):
        graph.maximum(scores._replace(transition=np.where(np.eye(3) > 0, 0.0, -np.inf)))


def test_asymmetric_tables_of_two_labels():
    rng = np.random.default_rng(0)
    edges = np.array([[1, 0], [1, 2], [2, 3], [0, 3], [1, 3]])
    for _ in range(30):
        transition = rng.normal(size=(2, 2))
        transition[0, 0] += max(0.0, transition[0, 1] + transition[1, 0] - np.trace(transition))
        scores = Scores.of(
            rng.normal(size=(4, 2)), transition, rng.normal(size=2), rng.normal(size=2)
        )
        graph = Graph(np.array([0, 4]), edges, "cut")
        assert_allclose(graph.maximum(scores)[0], enumerated(graph).maximum(scores)[0], atol=1e-6)


def test_the_number_of_rounds_is_limited():
    rng = np.random.default_rng(0)
    scores = random_scores(rng, 30, 60, 5, with_rows=False)._replace(transition=np.eye(5))
    edges = np.array([rng.choice(30, 2, replace=False) for _ in range(60)])
    few, many = (
        Graph(np.array([0, 30]), edges, Cut(max_iter=n)).maximum(scores)[0] for n in (1, 100)
    )
    assert few <= many
