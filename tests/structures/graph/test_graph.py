"""Graphs of any kind: what is the same for all engines of inference, against enumeration."""

import itertools
import pickle

import numpy as np
import pytest
from cases import for_each
from graphs import enumerated, graphs, random_scores
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.structures import Chain, Graph, ScoreGradient, Scores, Unsupported
from sklearn_crcrf.structures.inference import INFERENCE, Exact, Inference

OFFSETS = np.array([0, 3, 3, 4, 8])
EDGES = np.array([[1, 0], [1, 2], [4, 5], [7, 4], [5, 6], [6, 7]])


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@given(graphs(), st.integers(0, 99))
def test_scores_of_labellings_and_of_neighbours(case, seed):
    offsets, edges, scores = case
    graph, rng = Graph(offsets, edges), np.random.default_rng(seed)
    other = enumerated(graph)
    y = rng.integers(len(scores.transition), size=graph.n_tokens)
    weight, slope = rng.normal(size=graph.n_units), rng.normal(size=scores.state.shape)
    ours, theirs = (s.score(scores, y) for s in (graph, other))
    assert_allclose(ours[0], theirs[0], rtol=1e-9)
    same(ours[1](weight), theirs[1](weight))
    for neighbours in ((-1,), (1,), (-1, 1)):
        ours, theirs = (s.conditional_scores(scores, y, neighbours) for s in (graph, other))
        assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-9)
        same(ours[1](slope), theirs[1](slope))
        twice = ours[1](slope, ours[1](slope))
        same(twice, [2 * part for part in theirs[1](slope)])


def test_nodes_are_independent_given_what_separates_them():
    """Every path from nodes 0 and 1 to nodes 4 and 5 leads through nodes 2 and 3."""
    edges = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [2, 4], [3, 5], [4, 5]])
    scores = random_scores(np.random.default_rng(0), 6, len(edges), 2)
    graph, labellings = Graph(np.array([0, 6]), edges), list(itertools.product(range(2), repeat=6))
    log_z, _ = graph.log_partition(scores)
    each = [graph.score(scores, np.array(y))[0][0] for y in labellings]
    p = np.exp(np.array(each) - log_z).reshape(4, 4, 4)
    assert_allclose(p.sum(), 1.0)
    # p(a, b | c) = p(a | c) p(b | c)
    middle = p.sum(axis=(0, 2), keepdims=True)
    assert_allclose(p * middle, p.sum(axis=2, keepdims=True) * p.sum(axis=0, keepdims=True))
    # Without the middle they are not independent.
    ends = p.sum(axis=1)
    assert abs(ends - np.outer(ends.sum(axis=1), ends.sum(axis=0))).max() > 1e-3


@given(graphs(forbids=False), st.booleans())
def test_scores_of_pieces_add_up_to_those_of_labellings(case, with_tokens):
    offsets, edges, scores = case
    graph = Graph(offsets, edges)
    y = np.random.default_rng(0).integers(len(scores.transition), size=graph.n_tokens)
    pieces = graph.pieces(scores, with_tokens)
    assert isinstance(pieces.structure, Chain)
    of_pieces, pull_pieces = pieces.structure.score(pieces.scores, y[pieces.tokens])
    expected, pull_expected = graph.score(scores, y)
    sums = np.bincount(pieces.sequence, of_pieces, minlength=graph.n_units)
    assert_allclose(sums, expected, rtol=1e-9, atol=1e-9)
    weight = np.arange(1.0, len(offsets))
    counts = pieces.pullback(pull_pieces(weight[pieces.sequence]))
    same(counts, pull_expected(weight))
    gradient = ScoreGradient(*(values.copy() for values in counts))
    same(pieces.pullback(pull_pieces(weight[pieces.sequence]), gradient), [2 * c for c in counts])


def test_pieces_are_links_and_lone_tokens():
    graph = Graph(OFFSETS, EDGES)
    scores = Scores.of(np.zeros((8, 2)), np.eye(2))
    for with_tokens, alone in ((False, [3]), (True, list(range(8)))):
        pieces = graph.pieces(scores, with_tokens)
        cuts = itertools.pairwise(pieces.structure.offsets)
        found = [pieces.tokens[a:b].tolist() for a, b in cuts]
        assert sorted(found) == sorted(EDGES.tolist() + [[t] for t in alone])


@given(graphs(), st.data())
def test_some_of_the_units(case, data):
    offsets, edges, scores = case
    graph = Graph(offsets, edges, "exact")
    log_z, _ = graph.log_partition(scores)
    start = data.draw(st.integers(0, graph.n_units))
    stop = data.draw(st.integers(start, graph.n_units))
    chosen = data.draw(st.lists(st.integers(0, graph.n_units - 1), max_size=4))
    for units in (slice(start, stop), np.array(chosen, dtype=int)):
        some, which = graph.take(units), np.arange(graph.n_units)[units]
        tokens = np.concatenate([np.arange(*offsets[u : u + 2]) for u in which] + [[]]).astype(int)
        links = [np.flatnonzero(graph.units_of(edges[:, 0]) == u) for u in which]
        row = scores.token_transitions.row[np.concatenate([*links, []]).astype(int)]
        taken = scores._replace(
            state=scores.state[tokens],
            token_transitions=scores.token_transitions._replace(row=row),
        )
        again = Graph(some.offsets, some.edges, "exact")
        assert_array_equal(some.link_offsets, again.link_offsets)
        assert_allclose(some.log_partition(taken)[0], log_z[units])
        assert_allclose(again.log_partition(taken)[0], log_z[units])


def test_tokens_at_ends():
    graph = Graph(OFFSETS, EDGES)
    assert_array_equal(graph.first_tokens(), [1, 3])
    assert_array_equal(graph.last_tokens(), [0, 2, 3])
    assert_array_equal(graph.rows_of_links(), np.arange(6))
    chain = Chain(np.array([0, 3]))
    assert not Graph(chain.offsets, np.transpose(chain.links())).is_sequential()


def test_float32_scores_give_float32_gradients():
    rng = np.random.default_rng(0)
    scores = random_scores(rng, 8, 6, 2)
    narrow = scores._replace(state=scores.state.astype(np.float32))
    graph = Graph(OFFSETS, EDGES, "exact")
    ours, theirs = (graph.log_partition(s)[1](np.ones(4)) for s in (narrow, scores))
    assert ours.state.dtype == np.float32
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert graph.conditional_scores(narrow, np.zeros(8, int))[0].dtype == np.float32
    assert graph.pieces(narrow).scores.state.dtype == np.float32


@for_each("name", INFERENCE)
@for_each("wrong", [np.nan, np.inf])
def test_scores_that_are_not_finite(name, wrong):
    """A unit with such a score has no value; the others are as they were."""
    state = np.zeros((8, 2))
    state[5, 1] = wrong
    graph, scores = Graph(OFFSETS, EDGES, name), Scores.of(state, np.eye(2))
    for method in ("log_partition", "maximum"):
        if graph.can(method):
            value, _ = getattr(graph, method)(scores)
            expected, _ = getattr(graph, method)(scores._replace(state=np.zeros((8, 2))))
            assert_allclose(value, np.append(expected[:3], np.nan))


@for_each("name", INFERENCE)
def test_graphs_have_the_capabilities_of_their_engine(name):
    graph, scores = Graph(OFFSETS, EDGES, name), Scores.of(np.zeros((8, 2)), np.eye(2))
    rng = np.random.default_rng(0)
    calls = {
        "log_partition": (scores,),
        "log_partition_and_gradient": (scores, np.ones(4)),
        "marginals": (scores,),
        "maximum": (scores,),
        "token_marginals": (scores,),
        "covariance": (scores, ScoreGradient.zeros(scores)),
        "entropy": (scores,),
        "sample": (scores, 1, rng),
        "k_best": (scores, 2),
        "score": (scores, np.zeros(8, int)),
        "conditional_scores": (scores, np.zeros(8, int)),
        "pieces": (scores,),
    }
    for capability, arguments in calls.items():
        if graph.can(capability):
            graph.require([capability], "here")
            getattr(graph, capability)(*arguments)
        else:
            message = f'Graph with inference="{name}" does not have'
            with pytest.raises(Unsupported, match=message):
                getattr(graph, capability)(*arguments)
            with pytest.raises(Unsupported, match=f"here needs {capability}, which Graph with inf"):
                graph.require([capability], "here")
    assert not graph.can("anything else")


@for_each(
    ("edges", "message"),
    [
        ([[0, 8]], "edges, link 0: the second end is token 8, but there are 8 tokens"),
        ([[0, 1], [-1, 2]], "edges, link 1: the first end is token -1, but there are 8 tokens"),
        ([[2, 4]], "link 0: it joins token 2 of unit 0 and token 0 of unit 3, but must join two"),
        ([[5, 5]], "link 0: it joins token 1 of unit 3 and token 1 of unit 3, but must join two"),
        ([[4, 5], [0, 1]], "link 1: it is of unit 0, but the link before it is of unit 3; sort"),
    ],
)
def test_wrong_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        Graph(OFFSETS, np.array(edges))


def test_engines_by_name():
    with pytest.raises(ValueError, match='inference must be one of "auto", "exact"'):
        Graph(OFFSETS, EDGES, "bethe")
    engine = Exact(max_table=10)
    assert Graph(OFFSETS, EDGES, engine).inference is engine
    assert all(issubclass(engine, Inference) for engine in INFERENCE.values())


def test_an_engine_is_added():
    """A class, and a line of registration."""

    class Independent(Inference):
        name = "independent"

        def maximum(self, graph, scores):
            y = scores.state.argmax(axis=1).astype(np.int32)
            return graph.score(scores, y)[0], y

    graph, scores = Graph(OFFSETS, EDGES, Independent()), Scores.of(np.eye(8)[:, :2], np.eye(2))
    assert graph.can("maximum") and not graph.can("log_partition")
    assert_allclose(graph.maximum(scores)[0], [2.0, 0.0, 0.0, 4.0])


def test_copies():
    graph = Graph(OFFSETS, EDGES, "exact")
    copy = pickle.loads(pickle.dumps(graph))
    assert_array_equal(copy.edges, graph.edges)
    assert copy.inference.max_table == graph.inference.max_table
