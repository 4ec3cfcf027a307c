"""Integer programs on graphs, against enumeration."""

import numpy as np
from graphs import enumerated, graphs
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sklearn_crcrf.structures import Graph, Scores


@settings(max_examples=25, deadline=None)
@given(graphs(scales=(1.0, 30.0)))
def test_maxima(case):
    offsets, edges, scores = case
    graph = Graph(offsets, edges, "ilp")
    value, y = graph.maximum(scores)
    assert_allclose(value, enumerated(graph).maximum(scores)[0], rtol=1e-6, atol=1e-5)
    assert_allclose(graph.score(scores, y)[0], value, rtol=1e-9, atol=1e-9)


def test_more_links_than_tokens():
    """Scores without scores of single links have a row for each token."""
    edges = np.stack(np.triu_indices(5, 1), axis=1)
    value, _ = Graph(np.array([0, 5]), edges, "ilp").maximum(Scores.of(np.zeros((5, 2)), np.eye(2)))
    assert_allclose(value, 10.0)
