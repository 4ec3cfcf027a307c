"""All ways to give the edges of a GraphArray."""

import io
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_crcrf import GraphArray, SequenceArray, as_sequences
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.datasets import read_conll

WORDS = [["Dogs", "chase", "cats"], [], ["Run"]]
PARENTS = [[1, -1, 1], [], [-1]]

# ---- tokens ----


@for_each(
    "X",
    [
        WORDS,
        [[{"w": word} for word in words] for words in WORDS],
        [np.zeros((len(words), 2)) for words in WORDS],
        [sp.csr_array(np.ones((len(words), 2))) for words in WORDS],
        SequenceArray.from_sequences(WORDS),
        SequenceArray(
            SymbolTable([[0], [1], [2], [3]], [["a", "b", "c", "d"]], ["w"]), [0, 3, 3, 4]
        ),
        GraphArray.from_parents(WORDS, [[-1, 0, 0], [], [-1]]),
    ],
)
def test_tokens_of_all_kinds(X):
    expected = as_sequences(X).X
    for graphs in (
        GraphArray.from_parents(X, PARENTS),
        GraphArray.from_edges(X, [[(1, 0), (1, 2)], [], []]),
    ):
        assert SequenceArray(graphs.data, graphs.offsets) == SequenceArray(
            expected.data, expected.offsets
        )
        assert graphs.edges.tolist() == [[1, 0], [1, 2]]
        assert graphs.edge_offsets.tolist() == [0, 2, 2, 2]
        assert graphs == as_sequences(graphs).X


@for_each(
    ("X", "message"),
    [
        (np.zeros((3, 2)), r"X must be a list .* is of type ndarray; .* put it into a list: \[X\]"),
        (sp.csr_array(np.eye(3)), r"X must be a list .* is of type csr_array; .*: \[X\]"),
        (5, "X must be a list of sequences, but is of type int"),
        ([["a"], 5], "X, sequence 1: it must be a list of tokens"),
        ([sp.csr_array(([1.0], [7], [0, 1]), shape=(1, 8)), np.zeros((2, 3))], "it has 3 attrib"),
    ],
)
def test_tokens_that_are_not_lists_of_samples(X, message):
    with pytest.raises(ValueError, match=message):
        GraphArray.from_edges(X, [[]])


# ---- parents ----


@given(st.lists(st.lists(st.integers(-1, 4), max_size=5), max_size=4))
def test_parents_come_out_as_they_went_in(parents):
    X = [np.zeros((len(sample), 1)) for sample in parents]
    try:
        graphs = GraphArray.from_parents(X, parents)
    except ValueError as error:
        i = int(re.search(r"sample (\d)", str(error))[1])
        steps = nx.DiGraph([(v, p) for v, p in enumerate(parents[i]) if p >= 0])
        is_branching = steps.number_of_edges() == 0 or not nx.is_directed_acyclic_graph(steps)
        assert max(parents[i]) >= len(parents[i]) or is_branching
        return
    assert graphs.is_forest
    assert graphs.parents.tolist() == [parent for sample in parents for parent in sample]
    assert_array_equal(graphs.edges[:, 1], sorted_children(graphs))
    for form in (SequenceArray.from_sequences(parents), [np.array(p, dtype=int) for p in parents]):
        assert GraphArray.from_parents(X, form) == graphs


def sorted_children(graphs):
    ends = graphs.token_edges[:, 1]
    assert (np.diff(ends) > 0).all()
    return graphs.edges[:, 1]


@for_each(
    ("parents", "message"),
    [
        ([[1, -1], [], [-1]], "sequence 0 has 3 tokens in X, but 2 in parents"),
        ([[1, -1, 1], []], "X has 3 sequences, but parents has 2"),
        ([[1, -1, 1], [], [1]], "parents, sample 2, position 0: 1 is neither -1 .* of 0 to 0"),
        ([[1, -2, 1], [], [-1]], "parents, sample 0, position 1: -2 is neither -1 for a root nor"),
        ([[1, -1, 2], [], [-1]], "parents, sample 0 has a cycle; from child to parent: 2 -> 2"),
        ([[1, 2, 0], [], [-1]], "sample 0 has a cycle; .*: 0 -> 1 -> 2 -> 0"),
        ([[1, None, 1], [], [-1]], "parents, sample 0, position 1: None is no integer"),
        ([[1, -1, 1.5], [], [-1]], "parents, sample 0, position 2: 1.5 is no integer"),
        ([[1, [0], 1], [], [-1]], r"parents, sample 0, position 1: \[0\] is no integer"),
        ([[1, -1, 2**64], [], [-1]], "parents, sample 0, position 2: 18446744073709551616 is no"),
        ([[1, -1, "9" * 5000], [], [-1]], "parents, sample 0, position 2: '9999.* is no integer"),
        (SequenceArray(np.array([1.0, -1, 1, -1]), [0, 3, 3, 4]), "position 0: 1.0 is no integer"),
        ("abc", "parents, sequence 0: it must be a list"),
        (None, "parents must be a list of sequences"),
    ],
)
def test_parents_that_are_wrong(parents, message):
    with pytest.raises(ValueError, match=message):
        GraphArray.from_parents(WORDS, parents)


def test_types_of_edges_of_parents():
    def types(edge_type):
        return GraphArray.from_parents(WORDS, PARENTS, edge_type).edge_data

    assert types(None) is None
    assert types("direction").tolist() == ["right", "left"]
    labels = [["nsubj", None, ("obj", 1)], [], [[]]]
    assert types(labels).tolist() == ["nsubj", ("obj", 1)]
    assert types(SequenceArray(np.array([3, 0, 7, 0]), [0, 3, 3, 4])).tolist() == [3, 7]
    with pytest.raises(ValueError, match=r"edge_type must be 'direction' or types .*, got 'left'"):
        types("left")
    with pytest.raises(ValueError, match="sequence 0 has 3 tokens in X, but 1 in edge_type"):
        types([["nsubj"], [], [None]])
    with pytest.raises(ValueError, match=r"edge_data, sample 0, edge 1: {} is not hashable"):
        types([["nsubj", None, {}], [], [None]])


# ---- heads ----

TREEBANK = "Dogs N 2 nsubj\nchase V 0 root\ncats N 2 obj\n\nRun V 0 root\n"


def frame():
    index = pd.MultiIndex.from_tuples([("s", 2), ("t", 1), ("s", 1), ("s", 3)])
    columns = {"form": ["chase", "Run", "Dogs", "cats"], "head": [0, 0, 2, 2]}
    return pd.DataFrame(columns, index=index)


def test_heads_of_feature_dicts():
    X, y = read_conll(io.StringIO(TREEBANK), ["form", "tag", "head", "label"])
    graphs = GraphArray.from_heads(X, edge_type="direction")
    assert graphs.parents.tolist() == [1, -1, 1, -1]
    assert graphs.edge_data.tolist() == ["right", "left"]
    assert graphs.data.tolist()[:2] == [
        {"form": "Dogs", "tag": "N"},
        {"form": "chase", "tag": "V"},
    ]
    assert X[0][0]["head"] == "2"
    assert as_sequences(graphs, y).y.tolist() == y
    as_integers = [[{"up": int(t.pop("head")), **t} for t in words] for words in X]
    assert GraphArray.from_heads(as_integers, "up", edge_type="direction") == graphs


def test_heads_of_a_frame():
    graphs = GraphArray.from_heads(frame(), edge_type=[["x", None, "y"], [None]])
    assert graphs.data.names == ("form",)
    assert graphs.edge_data.tolist() == ["x", "y"]
    assert graphs.data.column("form").tolist() == ["Dogs", "chase", "cats", "Run"]
    assert graphs.parents.tolist() == [1, -1, 1, -1]
    assert frame().columns.tolist() == ["form", "head"]
    as_strings = frame().astype({"head": str}).rename(columns={"head": "up"})
    assert_array_equal(GraphArray.from_heads(as_strings, "up").edges, graphs.edges)
    samples = [of.droplevel(0).sort_index() for _, of in frame().groupby(level=0)]
    assert GraphArray.from_heads(samples, edge_type=[["x", None, "y"], [None]]) == graphs


def test_numbers_of_a_frame_stay_numbers():
    numbers = frame().assign(form=[1.5, 2.5, 3.5, 4.5])
    assert GraphArray.from_heads(numbers).data.tolist() == [[3.5], [1.5], [4.5], [2.5]]


@for_each(
    ("X", "message"),
    [
        ([[{"head": 0}], [{"head": 2}]], "head, sample 1, position 0: 2 is neither 0 .* of 1 to 1"),
        ([[{"head": 0}], [{"head": "-1"}]], "head, sample 1, position 0: '-1' is no integer"),
        ([[{"head": -1}]], "head, sample 0, position 0: -1 is neither 0 for a root nor"),
        ([[{"head": 2}, {"head": 1}]], "head, sample 0 has a cycle; .*: 0 -> 1 -> 0"),
        ([[{"head": "_"}]], "head, sample 0, position 0: '_' is no integer"),
        ([[{"head": 0}, {"form": "a"}]], "sample 0, position 1: the token must be a dict with the"),
        ([["a"]], "X, sample 0, position 0: the token must be a dict with the key 'head'"),
        ([np.zeros((2, 2))], "X, sample 0, position 0: the token must be a dict"),
        ([sp.csr_array(np.eye(2))], "X, sample 0, position 0: the token must be a dict"),
        (frame().drop(columns="head"), "X has no column 'head'"),
        (frame().reset_index(drop=True), "X must have an index of two levels"),
        (frame().assign(head=[0, 0, 5, 2]), "head, sample 0, position 0: 5 is neither 0 for"),
        (frame().assign(head=[0, 0, None, 2]), "head, sample 0, position 0: nan is no integer"),
        (frame()["head"], "X has no column 'head'"),
        (frame()[["head"]], "X has no columns"),
    ],
)
def test_heads_that_are_wrong(X, message):
    with pytest.raises(ValueError, match=message):
        GraphArray.from_heads(X)


# ---- lists of edges ----


def test_edges_of_all_containers():
    X, pairs = [["a", "b", "c"], ["d"], ["e", "f"]], [[(0, 1), (2, 1)], [], [(1, 0)]]
    graphs = GraphArray.from_edges(X, pairs)
    assert graphs.edges.tolist() == [[0, 1], [2, 1], [1, 0]]
    assert graphs.edge_offsets.tolist() == [0, 2, 2, 3]
    arrays = [np.array(p, dtype=np.int32).reshape(-1, 2) for p in pairs]
    for given_edges in (
        arrays,
        [*map(tuple, pairs)],
        [*map(iter, pairs)],
        SequenceArray.from_sequences(arrays),
    ):
        assert GraphArray.from_edges(X, given_edges) == graphs
    for given_data, kept in (
        ([["x", "y"], [], ["x"]], ["x", "y", "x"]),
        ([np.eye(2), np.zeros((0, 2)), np.ones((1, 2))], [[1, 0], [0, 1], [1, 1]]),
        ([np.eye(2), [], np.ones((1, 2))], [[1, 0], [0, 1], [1, 1]]),
        (SequenceArray(np.array([1, 2, 1]), [0, 2, 2, 3]), [1, 2, 1]),
    ):
        assert GraphArray.from_edges(X, pairs, given_data).edge_data.tolist() == kept
    matrices = [sp.csr_array(np.eye(2)), sp.csr_array((0, 2)), sp.coo_array(np.ones((1, 2)))]
    sparse = GraphArray.from_edges(X, pairs, matrices).edge_data
    assert sparse.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]


@for_each(
    ("edges", "edge_data", "message"),
    [
        ([[(0, 1)]], None, "X has 2 samples, but edges has 1"),
        ([[(0, 1)], [], []], None, "X has 2 samples, but edges has 3"),
        ([[(0, 1)], [(0, 1, 2)]], None, "edges, sample 1: they must be pairs of integers"),
        ([[(0, 1)], [(0, 1), (2,)]], None, "edges, sample 1: they must be pairs of integers"),
        ([[(0.0, 1.0)], []], None, "edges, sample 0: they must be pairs of integers"),
        ([(0, 1), (1, 2)], None, "edges, sample 0: they must be pairs of integers"),
        ([[("a", "b")], []], None, "edges, sample 0: they must be pairs of integers"),
        ([None, []], None, "edges, sample 0: they must be pairs of integers"),
        (None, None, "edges must be a list with an item for each sample, but is of type NoneType"),
        ([[(0, 1)], []], [["x"]], "X has 2 samples, but edge_data has 1"),
        ([[(0, 1)], []], [["x"], ["y"]], "sample 1 has 0 edges, but 1 in edge_data"),
        ([[(0, 1)], []], [["x", "y"], []], "sample 0 has 1 edges, but 2 in edge_data"),
        ([[(0, 1)], []], 5, "edge_data must be a list of sequences"),
        ([[(0, 1)], []], [[0.5], []], "edge_data, sample 0, edge 0: 0.5 is no type"),
    ],
)
def test_edges_that_are_wrong(edges, edge_data, message):
    with pytest.raises(ValueError, match=message):
        GraphArray.from_edges([["a", "b"], ["c", "d"]], edges, edge_data)


# ---- matrices ----


@st.composite
def matrices(draw):
    """A symmetric matrix, or one with entries in one direction only, and its edges."""
    n = draw(st.integers(0, 5))
    entries = st.dictionaries(
        st.sampled_from([(a, b) for a in range(n) for b in range(a + 1, n)] or [None]),
        st.sampled_from([1.0, 1.0, 2.5, -1.0]),
    )
    values = {pair: value for pair, value in draw(entries).items() if pair}
    is_symmetric = draw(st.booleans())
    if not is_symmetric:
        values = {p if draw(st.booleans()) else p[::-1]: v for p, v in values.items()}
    matrix = np.zeros((n, n))
    for (a, b), value in values.items():
        matrix[a, b] = value
        if is_symmetric:
            matrix[b, a] = value
    return matrix, dict(sorted(values.items()))


@given(st.lists(matrices(), max_size=4), st.sampled_from(["csr", "csc", "coo", "lil"]))
def test_matrices_have_edges_once(made, form):
    X = [np.zeros((len(matrix), 1)) for matrix, _ in made]
    given_matrices = [sp.coo_array(matrix).asformat(form) for matrix, _ in made]
    graphs = GraphArray.from_adjacency(X, given_matrices)
    values = [value for _, edges in made for value in edges.values()]
    assert graphs.edges.tolist() == [list(pair) for _, edges in made for pair in edges]
    assert np.diff(graphs.edge_offsets).tolist() == [len(edges) for _, edges in made]
    if set(values) <= {1.0}:
        assert graphs.edge_data is None
    else:
        assert graphs.edge_data.tolist() == [[value] for value in values]
    assert GraphArray.from_adjacency(X, [matrix for matrix, _ in made]) == graphs


def test_entries_of_zero_are_no_edges_and_bool_is_one():
    zero = sp.csr_array(([1, 0, 1], ([0, 1, 1], [1, 2, 0])), shape=(3, 3))
    zero.data[:] = [1, 1, 0]
    graphs = GraphArray.from_adjacency([["a", "b", "c"]] * 2, [zero, zero.astype(bool)])
    assert graphs.edges.tolist() == [[0, 1], [0, 1]]
    assert graphs.edge_data is None


@for_each(
    ("matrix", "message"),
    [
        ([[0, 1], [2, 0]], r"edges, sample 1, edge 1: \(1, 0\) is double, as edge 0"),
        ([[1, 0], [0, 0]], r"edges, sample 1, edge 0: \(0, 0\) is a self-loop"),
        ([[0, np.nan], [0, 0]], "edge_data, sample 1, edge 0: nan is not finite"),
        (
            [[0, 1, 0]],
            r"matrices, sample 1: it must be of shape \(2, 2\), but .* \(1, 3\)",
        ),
        ([[0, 1j], [0, 0]], "matrices, sample 1: it must be a sparse matrix of real numbers"),
    ],
)
def test_matrices_that_are_wrong(matrix, message):
    good = sp.csr_array([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=message):
        GraphArray.from_adjacency([["a", "b"]] * 2, [good, sp.csr_array(np.array(matrix))])


def test_other_things_than_matrices():
    X, damaged = [["a", "b"]], sp.csr_array([[0, 1], [1, 0]])
    damaged.indices[1] = 9
    with pytest.raises(ValueError, match="matrices, sample 0, row 1: column 9 is not one of 2"):
        GraphArray.from_adjacency(X, [damaged])
    with pytest.raises(ValueError, match="matrices, sample 0: it must be a sparse matrix"):
        GraphArray.from_adjacency(X, [[[0, 1], [1, 0]]])
    with pytest.raises(ValueError, match="X has 1 samples, but matrices has 2"):
        GraphArray.from_adjacency(X, [damaged] * 2)
    with pytest.raises(ValueError, match=r"matrices must be a list .*, but is of type csr_array"):
        GraphArray.from_adjacency(X, damaged)


# ---- networkx ----


def test_graphs_of_networkx():
    tree = nx.DiGraph()
    tree.add_node("v", word="chase", tag="V")
    tree.add_node("n", word="Dogs", tag="N")
    tree.add_edge("v", "n", relation="nsubj", weight=2)
    single = nx.Graph()
    single.add_node(7, word="Run", tag="V")
    graphs = GraphArray.from_networkx([tree, single])
    assert graphs.tolist() == [
        [{"word": "chase", "tag": "V"}, {"word": "Dogs", "tag": "N"}],
        [{"word": "Run", "tag": "V"}],
    ]
    assert graphs.edges.tolist() == [[0, 1]]
    assert graphs.edge_data is None
    graphs = GraphArray.from_networkx([tree, single], "word", "relation")
    assert graphs.tolist() == [["chase", "Dogs"], ["Run"]]
    assert graphs.edge_data.tolist() == ["nsubj"]
    assert GraphArray.from_networkx([tree, single], "word", "weight").edge_data.tolist() == [2]


@given(st.integers(1, 8), st.integers(0, 100))
def test_edges_are_those_of_the_graph(n, seed):
    graph = nx.gnp_random_graph(n, 0.4, seed=seed)
    graph = nx.relabel_nodes(graph, {k: f"node {k}" for k in graph})
    graphs = GraphArray.from_networkx([graph, graph])
    again = nx.Graph(graphs.edges[: graphs.edge_offsets[1]].tolist())
    again.add_nodes_from(range(n))
    assert nx.utils.graphs_equal(nx.relabel_nodes(graph, {f"node {k}": k for k in range(n)}), again)
    assert nx.is_forest(graph) or not graphs.is_forest


def test_vectors_of_networkx_are_rows():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: [1, 2], 1: np.array([3, 4]), 2: [5.5, 6]}, "x")
    nx.set_node_attributes(graph, 1, "n")
    nx.set_edge_attributes(graph, {(0, 1): 1, (1, 2): 0.5}, "weight")
    nx.set_edge_attributes(graph, {(0, 1): [1, 2], (1, 2): [3, 4]}, "both")
    empty = nx.Graph()
    graphs = GraphArray.from_networkx([empty, graph], "x", "weight")
    assert graphs.data.tolist() == [[1, 2], [3, 4], [5.5, 6]]
    assert graphs.edge_data.tolist() == [[1], [0.5]]
    graphs = GraphArray.from_networkx([graph], "n", "both")
    assert graphs.data.tolist() == [[1], [1], [1]]
    assert graphs.edge_data.tolist() == [[1, 2], [3, 4]]


def test_graphs_of_networkx_that_are_wrong():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "a"}, "word")
    with pytest.raises(ValueError, match=r"graphs must be a list .*, but is of type Graph"):
        GraphArray.from_networkx(graph)
    with pytest.raises(ValueError, match="graphs, sample 0: node 1 has no attribute 'word'"):
        GraphArray.from_networkx([graph], "word")
    with pytest.raises(ValueError, match=r"graphs, sample 0: edge \(0, 1\) has no attribute 'w'"):
        GraphArray.from_networkx([graph], edge_attribute="w")
    with pytest.raises(ValueError, match="graphs, sample 1: it must be a graph of NetworkX"):
        GraphArray.from_networkx([graph, [["a"]]])
    double = nx.MultiGraph([(0, 1), (0, 1)])
    with pytest.raises(ValueError, match=r"sample 0, edge 1: \(0, 1\) is double, as edge 0"):
        GraphArray.from_networkx([double])
    nx.set_node_attributes(graph, {0: [1], 1: [1, 2]}, "x")
    with pytest.raises(ValueError, match=r"graphs, nodes of sample 0: .*inhomogeneous"):
        GraphArray.from_networkx([graph], "x")


# ---- images ----


@given(st.integers(0, 4), st.integers(0, 4), st.sampled_from([None, 0, 1, 3]))
def test_grids(height, width, n_attributes):
    shape = (height, width) if n_attributes is None else (height, width, n_attributes)
    image = np.arange(np.prod(shape)).reshape(shape) * 1.0
    other = np.ones((1, 2, *shape[2:]))
    graphs = GraphArray.from_grid([image, other])
    assert graphs[0].tolist() == image.reshape(height * width, *(shape[2:] or (1,))).tolist()
    assert graphs[1:].edges.tolist() == [[0, 1]]
    pixels = [(r, c) for r in range(height) for c in range(width)]
    across = [(p, (r, c + 1)) for p in pixels for r, c in [p] if c + 1 < width]
    down = [(p, (r + 1, c)) for p in pixels for r, c in [p] if r + 1 < height]
    edges = [[pixels.index(a), pixels.index(b)] for a, b in across + down]
    n = graphs.edge_offsets[1]
    assert graphs.edges[:n].tolist() == edges
    assert graphs.edge_data[:n].tolist() == ["horizontal"] * len(across) + ["vertical"] * len(down)


def test_images_of_symbols():
    graphs = GraphArray.from_grid([np.array([["a", "b"], ["c", "d"]]), np.array([["e"]])])
    assert graphs.tolist() == [["a", "b", "c", "d"], ["e"]]


@for_each(
    ("images", "message"),
    [
        ([np.zeros((2, 2)), np.zeros(3)], r"images, sample 1: it must be of shape \(height, width"),
        ([np.zeros((2, 2)), np.zeros((2, 2, 3))], "images, sequence 1: it has 3 attributes, but"),
        ([np.zeros((2, 2)), np.full((1, 1), "a")], "images, sequence 1: it must be a 2-D array"),
        ([[[1, 2], [3]]], "images, sample 0: .*inhomogeneous"),
        (5, "images must be a list with an item for each sample, but is of type int"),
    ],
)
def test_images_that_are_wrong(images, message):
    with pytest.raises(ValueError, match=message):
        GraphArray.from_grid(images)
