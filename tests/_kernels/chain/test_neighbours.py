"""Transition scores given the labels of neighbours, token by token."""

import itertools

import numpy as np
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose
from sklearn_crcrf._kernels.chain.paths import add_transition_counts, add_transition_scores

from sklearn_crcrf.structures import TokenTransitions

both_types = for_each("dtype", [np.float64, np.float32])
LENGTHS = [0, 1, 6, 0, 15, 2]
OFFSETS = np.append(0, np.cumsum(LENGTHS)).astype(np.int64)


def example(n):
    """A transition matrix, edges of some tokens that differ from it, and labels."""
    rng = np.random.default_rng(n)
    transition = rng.normal(size=(n, n))
    gains = sp.random_array((3, n * n), density=0.4, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, OFFSETS[-1]), gains, transition)
    y = rng.integers(n, size=OFFSETS[-1]).astype(np.int32)
    for array in (y, transition, *edges):
        array.flags.writeable = False
    return transition, edges, y


def entries(transition, edges, t):
    """Of the transitions into a token, the scores, and which edge gives each; -1 for none."""
    score, edge = transition.copy(), np.full(transition.shape, -1)
    if edges.row[t] >= 0:
        for k in range(edges.indptr[edges.row[t]], edges.indptr[edges.row[t] + 1]):
            score[edges.previous[k], edges.current[k]] = edges.score[k]
            edge[edges.previous[k], edges.current[k]] = k
    return score, edge


def pairs(step):
    """Tokens and their neighbours, without those beyond the ends."""
    for start, stop in itertools.pairwise(OFFSETS):
        yield from ((t, t + step) for t in range(start, stop) if start <= t + step < stop)


def links(step, edges):
    """Tokens, their neighbours, and the row of the edges of each link."""
    token, neighbour = (np.array(tokens) for tokens in zip(*pairs(step), strict=True))
    return token, neighbour, edges.row[np.maximum(token, neighbour)]


def seen_from(step, matrix):
    return matrix if step < 0 else np.ascontiguousarray(matrix.T)


def ends(step, edges):
    return (edges.previous, edges.current) if step < 0 else (edges.current, edges.previous)


@both_types
@for_each("step", [-1, 1])
@for_each("n", [1, 2, 5, 70])
def test_scores(dtype, step, n):
    transition, edges, y = example(n)
    out, expected = np.ones((OFFSETS[-1], n), dtype=dtype), np.ones((OFFSETS[-1], n))
    for t, neighbour in pairs(step):
        score, _ = entries(transition, edges, max(t, neighbour))
        expected[t] += seen_from(step, score)[y[neighbour]]
    matrix, (token, neighbour, row) = seen_from(step, transition), links(step, edges)
    of_edges = row, edges.indptr, *ends(step, edges)
    add_transition_scores(token, neighbour, y, matrix, *of_edges, edges.score, out)
    assert_allclose(out, expected, atol=1e-6 if dtype == np.float32 else 1e-12)


@both_types
@for_each("step", [-1, 1])
@for_each("n", [1, 2, 5, 70])
def test_counts(dtype, step, n):
    transition, edges, y = example(n)
    weight = np.random.default_rng(0).normal(size=(OFFSETS[-1], n)).astype(dtype)
    counts, of_edges = np.ones((n, n)), np.ones(len(edges.score))
    expected, expected_of_edges = counts.copy(), of_edges.copy()
    for t, neighbour in pairs(step):
        edge = seen_from(step, entries(transition, edges, max(t, neighbour))[1])[y[neighbour]]
        for j in range(n):
            if edge[j] >= 0:
                expected_of_edges[edge[j]] += weight[t, j]
            else:
                expected[y[neighbour], j] += weight[t, j]
    token, neighbour, row = links(step, edges)
    given = row, edges.indptr, *ends(step, edges)
    add_transition_counts(token, neighbour, y, *given, weight, counts, of_edges)
    assert_allclose(counts, expected, rtol=1e-12, atol=1e-12)
    assert_allclose(of_edges, expected_of_edges, rtol=1e-12, atol=1e-12)
