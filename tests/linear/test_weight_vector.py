"""Weights as one vector, and by the names of a model."""

import numpy as np
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_array_equal

from sklearn_crcrf.linear import Weights
from sklearn_crcrf.linear.corpus import Chunk
from sklearn_crcrf.linear.terms import Terms, numbered, shared_terms
from sklearn_crcrf.structures import Chain, TokenTransitions

SOME = np.array([[True, False, True], [False, False, False], [True, True, True]])
ALL = np.ones((3, 3), dtype=bool)
NOTHING = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
FORBIDDEN = np.where(SOME, 0.0, -np.inf), np.array([0.0, -np.inf, 0.0]), np.zeros(3)

transitions = for_each("transitions", [SOME, ALL, ~ALL])
ends = for_each("boundaries", [False, True])
edges = for_each("n_edge_attributes", [0, 2])


def make_terms(n_node_weights, transitions, boundaries, n_edge_attributes, forbidden=NOTHING):
    attributes = sp.csr_array((5, n_edge_attributes))
    shared = shared_terms(numbered(transitions), boundaries, attributes)
    return Terms(n_node_weights, shared, len(transitions), forbidden)


@transitions
@ends
@edges
@for_each("forbidden", [NOTHING, FORBIDDEN])
@for_each("dtype", [np.float32, np.float64])
def test_vectors_there_and_back(transitions, boundaries, n_edge_attributes, forbidden, dtype):
    terms = make_terms(4, transitions, boundaries, n_edge_attributes, forbidden)
    assert terms.n_weights == 4 + transitions.sum() + 6 * boundaries + 9 * n_edge_attributes
    vector = np.arange(1, terms.n_weights + 1, dtype=dtype)
    out = np.empty_like(vector)
    assert terms.join(terms.split(vector), out) is out
    assert_array_equal(out, vector)
    assert_array_equal(terms.vector(terms.named(vector), np.empty_like(vector)), vector)


@transitions
@ends
@edges
def test_what_has_no_weight_is_zero(transitions, boundaries, n_edge_attributes):
    terms = make_terms(4, transitions, boundaries, n_edge_attributes)
    weights = terms.named(np.ones(terms.n_weights))
    assert_array_equal(weights.state, np.ones(4))
    assert_array_equal(weights.transition, transitions)
    assert_array_equal(weights.begin, np.full(3, boundaries))
    assert_array_equal(weights.end, np.full(3, boundaries))
    assert_array_equal(weights.edges, np.ones((n_edge_attributes, 3, 3)))


def test_what_has_no_weight_is_not_in_the_vector():
    terms = make_terms(2, SOME, False, 0)
    everywhere = Weights(
        np.ones(2), np.full((3, 3), 2.0), np.ones(3), np.ones(3), np.ones((0, 3, 3))
    )
    assert_array_equal(terms.vector(everywhere, np.zeros(7)), [1, 1, 2, 2, 2, 2, 2])


def test_the_order_of_the_terms():
    weights = make_terms(2, ALL, True, 1).named(np.arange(26.0))
    assert_array_equal(weights.state, [0, 1])
    assert_array_equal(weights.transition, np.arange(2, 11).reshape(3, 3))
    assert_array_equal(weights.begin, [11, 12, 13])
    assert_array_equal(weights.end, [14, 15, 16])
    assert_array_equal(weights.edges, np.arange(17, 26).reshape(1, 3, 3))


def test_node_weights_are_not_copied():
    terms, vector = make_terms(4, ALL, False, 0), np.zeros(13)
    weights = terms.split(vector)
    weights.node[:] = 5.0
    weights.shared[0][:] = 7.0
    assert_array_equal(vector[:4], 5.0)
    assert_array_equal(vector[4:], 0.0)
    terms.join(weights, vector)
    assert_array_equal(vector[4:], 7.0)


def test_scores_have_all_terms():
    terms = make_terms(0, ALL, True, 0, FORBIDDEN)
    (transition, (begin, end)) = terms.split(np.arange(15.0)).shared
    chunk = Chunk(0, 5, Chain(np.array([0, 5])), None, None, TokenTransitions.none(5))
    scores = terms.scores(np.ones((5, 3)), [transition, np.stack([begin, end])], chunk)
    assert_array_equal(scores.transition, transition + FORBIDDEN[0])
    assert_array_equal(scores.begin, begin + FORBIDDEN[1])
    assert_array_equal(scores.end, end)
    assert_array_equal(scores.token_transitions.row, [-1] * 5)
