"""Checks of edges, and the parents in a forest, against networkx."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import GraphArray


@st.composite
def pairs_of_samples(draw):
    """The numbers of nodes of some samples, and pairs that need not be sound."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5)
    return sizes, [draw(pairs) for _ in sizes]


def graph_of(size, pairs):
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(range(size))
    return graph


def problems_of(size, pairs):
    """The edges that may not be there, by a walk through all edges."""
    edges = [set(pair) for pair in pairs]
    return {
        "leaves the sample": [k for k, edge in enumerate(edges) if max(edge) >= size],
        "is a self-loop": [k for k, edge in enumerate(edges) if len(edge) == 1],
        "is double": [k for k, edge in enumerate(edges) if edge in edges[:k]],
    }


@given(pairs_of_samples())
def test_only_sound_edges_are_taken(made):
    sizes, pairs = made
    X = [np.zeros((size, 1)) for size in sizes]
    problems = [problems_of(size, edges) for size, edges in zip(sizes, pairs, strict=True)]
    for kind in ("leaves the sample", "is a self-loop", "is double"):
        wrong = [(i, found[kind][0]) for i, found in enumerate(problems) if found[kind]]
        if wrong:
            i, k = wrong[0]
            a, b = pairs[i][k]
            with pytest.raises(
                ValueError, match=rf"sample \d, edge \d: \(\d, \d\) {kind}"
            ) as error:
                GraphArray.from_edges(X, pairs)
            if kind != "is double":
                assert f"edges, sample {i}, edge {k}: ({a}, {b}) {kind}" in str(error.value)
            return
    graphs = GraphArray.from_edges(X, pairs)
    assert graphs.edges.tolist() == [list(pair) for edges in pairs for pair in edges]
    assert graphs.edge_offsets.tolist() == np.append(0, np.cumsum([*map(len, pairs)])).tolist()


@given(pairs_of_samples())
def test_forests_are_told_from_other_graphs(made):
    sizes, pairs = made
    pairs = [
        [(a, b) for a, b in graph_of(0, edges).edges if a < size and b < size and a != b]
        for size, edges in zip(sizes, pairs, strict=True)
    ]
    pairs = [[p for k, p in enumerate(e) if p[::-1] not in e[:k]] for e in pairs]
    graphs = GraphArray.from_edges([np.zeros((size, 1)) for size in sizes], pairs)
    directed = [graph_of(size, edges) for size, edges in zip(sizes, pairs, strict=True)]
    are_forests = [len(graph) == 0 or nx.is_branching(graph) for graph in directed]
    assert graphs.is_forest == all(are_forests)
    for i, is_forest in enumerate(are_forests):
        assert graphs[i : i + 1].is_forest == is_forest
    if graphs.is_forest:
        parents = [next(iter(g.predecessors(v)), -1) for g in directed for v in range(len(g))]
        assert graphs.parents.tolist() == parents
        assert graphs.parents.dtype == np.int64
    else:
        with pytest.raises(ValueError, match=r"sample \d (has a cycle|is not a forest)"):
            _ = graphs.parents


def test_why_a_graph_is_not_a_forest():
    X = [["a"], ["a", "b", "c", "d"]]
    with pytest.raises(
        ValueError,
        match="sample 1 is not a forest of edges from parent to child: node 2 is the second end "
        "of edge 0 and of edge 2",
    ):
        _ = GraphArray.from_edges(X, [[], [(1, 2), (2, 3), (0, 2)]]).parents
    with pytest.raises(
        ValueError, match=r"^sample 1 has a cycle; from child to parent: 1 -> 3 -> 2 -> 1$"
    ):
        _ = GraphArray.from_edges(X, [[], [(1, 2), (2, 3), (3, 1)]]).parents


def test_a_long_cycle_is_shown_in_part():
    n = 1000
    with pytest.raises(ValueError, match=r"cycle; .*: 0 -> 1 -> .* -> 6 -> \.\.\. -> 0$"):
        GraphArray.from_parents([np.zeros((n, 1))], [np.roll(np.arange(n), -1)])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 100_000])
def test_deep_trees_and_cycles(n):
    X, path = [np.zeros((n, 1))], np.arange(n) - 1
    assert GraphArray.from_parents(X, [path]).parents.tolist() == path.tolist()
    backwards = np.append(np.arange(1, n), -1)
    assert GraphArray.from_parents(X, [backwards]).is_forest
    with pytest.raises(ValueError, match="cycle"):
        GraphArray.from_parents(X, [np.append(n - 1, path[1:])])
    star = np.append(-1, np.zeros(n - 1, dtype=int))
    assert GraphArray.from_parents(X, [star]).is_forest


def test_edges_as_numbers_among_all_tokens():
    graphs = GraphArray.from_edges([["a", "b"], ["c"], ["d", "e"]], [[(1, 0)], [], [(0, 1)]])
    assert graphs.token_edges.tolist() == [[1, 0], [3, 4]]
    assert graphs[1:].token_edges.tolist() == [[1, 2]]
    assert graphs[:0].token_edges.tolist() == []


def made_with(**changed):
    arrays = {
        "data": np.zeros((5, 1)),
        "offsets": [0, 2, 5],
        "edges": [[0, 1], [0, 2], [1, 2]],
        "edge_offsets": [0, 1, 3],
        "edge_data": None,
    }
    return GraphArray(**(arrays | changed))


@for_each(
    ("changed", "message"),
    [
        ({"edges": [[0.0, 1.0]] * 3}, "edges must be integers, not of type float64"),
        ({"edges": [0, 1, 2]}, r"edges must be of shape \(n_edges, 2\), but are of shape \(3,\)"),
        ({"edges": [[0, 1, 2]] * 3}, r"edges must be of shape .*\(3, 3\)"),
        ({"edges": [[-1, 1], [0, 2], [1, 2]]}, r"sample 0, edge 0: \(-1, 1\) leaves the sample"),
        ({"edges": [[0, 2], [0, 2], [1, 2]]}, r"edge 0: \(0, 2\) leaves .*, which has 2 tokens"),
        ({"edges": [[0, 1], [0, 2], [1, 1]]}, r"sample 1, edge 1: \(1, 1\) is a self-loop"),
        ({"edges": [[0, 1], [0, 2], [0, 2]]}, r"sample 1, edge 1: \(0, 2\) is double, as edge 0"),
        ({"edges": [[0, 1], [0, 2], [2, 0]]}, r"sample 1, edge 1: \(2, 0\) is double, as edge 0"),
        ({"edge_offsets": [0, 3]}, "edge_offsets are of 1 samples, but offsets of 2"),
        ({"edge_offsets": [0, 1, 2]}, "edge_offsets end at 2, but data has 3 edges"),
        ({"edge_offsets": [1, 1, 3]}, "edge_offsets must be one-dimensional and start at 0"),
        ({"edge_offsets": [0, 1.5, 3]}, "edge_offsets must be integers"),
        ({"offsets": [0, 2, 4]}, "offsets end at 4, but data has 5 tokens"),
        ({"edge_data": ["x", "y"]}, "edge_data is of 2 edges, but there are 3"),
        ({"edge_data": np.zeros((2, 1))}, "edge_data is of 2 edges, but there are 3"),
        ({"edge_data": 5}, "edge_data must be a list or an array, but is of type int"),
        ({"edge_data": "xyz"}, "edge_data must be a list or an array, but is of type str"),
        ({"edge_data": np.zeros((3, 1, 1))}, r"one or two dimensions, .* is \(3, 1, 1\)"),
        ({"edge_data": [["x"], "y", "z"]}, r"edge_data, sample 0, edge 0: \['x'\] is not hashable"),
        ({"edge_data": ["x", {"y"}, "z"]}, r"edge_data, sample 1, edge 0: {'y'} is not hashable"),
        ({"edge_data": np.ones(3)}, "sample 0, edge 0: 1.0 is no type; attributes of edges are"),
        ({"edge_data": ["x", 1, np.float32(2)]}, "edge_data, sample 1, edge 1: .* is no type"),
        ({"edge_data": np.full((3, 1), "x")}, "must be real numbers, not of type <U1"),
        ({"edge_data": np.full((3, 1), 1j)}, "must be real numbers, not of type complex"),
        ({"edge_data": np.array([[1], [2], [np.inf]])}, "sample 1, edge 1: inf is not finite"),
        ({"edge_data": sp.csr_array([[1], [np.nan], [0]])}, "sample 1, edge 0: nan is not finite"),
    ],
)
def test_arrays_that_do_not_fit(changed, message):
    with pytest.raises(ValueError, match=message):
        made_with(**changed)


@for_each("types", [["x", "y", "x"], [1, 2, 1], [("x", 1), None, "y"], [True, False, True]])
def test_types_of_edges_are_objects(types):
    given = [types, tuple(types), np.fromiter(types, dtype=object)]
    if type(types[0]) in (int, bool, str) and len(set(map(type, types))) == 1:
        given.append(np.array(types))
    for edge_data in given:
        graphs = made_with(edge_data=edge_data)
        assert graphs.edge_data.dtype == object
        assert graphs.edge_data.tolist() == types
        assert type(graphs.edge_data[0]) is type(types[0])


@for_each("dtype", [bool, np.int8, np.float32, np.float64])
@for_each("form", [np.array, sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_attributes_of_edges_are_as_given(dtype, form):
    values = np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype)
    graphs = made_with(edge_data=form(values))
    assert graphs.edge_data.dtype == dtype
    kept = graphs.edge_data if form is np.array else graphs.edge_data.toarray()
    assert kept.tolist() == values.tolist()
    assert form is np.array or graphs.edge_data.format == "csr"


def test_sparse_attributes_of_edges_get_sound_rows():
    rows = sp.csr_array(([1.0, 2.0, 3.0], [1, 0, 1], [0, 3, 3, 3]), shape=(3, 2))
    assert made_with(edge_data=rows).edge_data.toarray().tolist() == [[2, 4], [0, 0], [0, 0]]
    rows = sp.csr_array(([1.0], [0], [0, 0, 1, 1]), shape=(3, 2))
    rows.indices[0] = 5
    with pytest.raises(ValueError, match="edge_data, sample 1, edge 0: column 5 is not one of 2"):
        made_with(edge_data=rows)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_edges_of_any_integers(dtype):
    graphs = made_with(edges=np.array([[0, 1], [0, 2], [1, 2]], dtype=dtype))
    assert graphs.edges.dtype == graphs.edge_offsets.dtype == np.int64


def test_nothing():
    for graphs in (
        GraphArray(np.zeros((0, 1)), [0], [], [0]),
        GraphArray.from_edges([], []),
        GraphArray.from_parents([], []),
        GraphArray.from_adjacency([], []),
        GraphArray.from_networkx([]),
        GraphArray.from_grid([]),
        GraphArray.from_heads([]),
    ):
        assert len(graphs) == graphs.n_edges == 0
        assert graphs.edges.shape == (0, 2)
        assert graphs.parents.shape == (0,)
        assert graphs.is_forest
        assert np.concatenate([graphs, graphs]) == graphs
