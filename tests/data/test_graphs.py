"""Edges stay with their nodes, whatever is done with the samples."""

import copy
import pickle
from itertools import chain, pairwise

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils import _safe_indexing, resample, shuffle

from sklearn_crcrf import (
    Gazetteer,
    GraphArray,
    SequenceArray,
    SequenceVectorizer,
    TemplateFeatures,
    TokenFeatures,
    Window,
    WordClusters,
    WordVectors,
    as_sequences,
)
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.estimators.opinion_pool import RandomAttributes

TRUSTED = ["sklearn_crcrf.data.graphs.GraphArray", "scipy.sparse._csr.csr_array"]
KINDS = ["none", "types", "attributes", "CSR"]


@st.composite
def samples(draw):
    """A graph: its tokens and its edges."""
    n = draw(st.integers(0, 5))
    pairs = st.lists(st.sampled_from([(a, b) for a in range(n) for b in range(a)] or [None]))
    edges = [pair for pair in dict.fromkeys(draw(pairs)) if pair]
    tokens = draw(st.lists(st.text("abc", max_size=2), min_size=n, max_size=n))
    return tokens, [pair[::-1] if draw(st.booleans()) else pair for pair in edges]


@st.composite
def graph_arrays(draw, kind=None):
    kind = draw(st.sampled_from(KINDS)) if kind is None else kind
    return made_of(draw(st.lists(samples(), max_size=5)), kind)


def made_of(lists, kind):
    """Graphs whose edge data are different for each edge, and say which nodes it joins."""
    nodes, edges = [tokens for tokens, _ in lists], [pairs for _, pairs in lists]
    graphs = GraphArray.from_edges(nodes, edges)
    sample = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    numbers = np.column_stack([sample, graphs.edges])
    data = {
        "none": None,
        "types": [tuple(row) for row in numbers.tolist()],
        "attributes": numbers * 1.0,
        "CSR": sp.csr_array(numbers * 1.0),
    }[kind]
    return GraphArray(graphs.data, graphs.offsets, graphs.edges, graphs.edge_offsets, data)


def unpacked(graphs):
    """The tokens, the edges and their data, of each sample."""
    data = graphs.edge_data
    data = data.toarray() if sp.issparse(data) else data
    data = np.arange(graphs.n_edges) * 0 if data is None else data
    return [
        (tokens.tolist(), graphs.edges[a:b].tolist(), data[a:b].tolist())
        for tokens, (a, b) in zip(graphs, pairwise(graphs.edge_offsets), strict=True)
    ]


def assert_sound(graphs):
    assert isinstance(graphs, GraphArray)
    assert graphs.checked("X") is graphs
    for array in (graphs.offsets, graphs.edge_offsets, graphs.edges):
        assert array.dtype == np.int64
    assert graphs.n_edges == len(graphs.edges)


@given(graph_arrays(), st.data())
def test_samples_are_chosen_with_their_edges(graphs, data):
    n = len(graphs)
    integers = st.lists(st.integers(-n, n - 1), max_size=6) if n else st.just([])
    masks = st.lists(st.booleans(), min_size=n, max_size=n)
    key = data.draw(
        st.one_of(
            st.slices(n),
            integers,
            integers.map(lambda key: np.array(key, dtype=np.intp)),
            masks.map(lambda key: np.array(key, dtype=bool)),
        )
    )
    everything = unpacked(graphs)
    expected = [everything[i] for i in np.arange(n)[key]]
    for chosen in (graphs[key], graphs[key, ...]):
        assert_sound(chosen)
        assert unpacked(chosen) == expected


def test_an_integer_chooses_the_data_of_a_sample():
    graphs = GraphArray.from_edges([["a", "b"], ["c"]], [[(0, 1)], []])
    assert graphs[0].tolist() == graphs[-2].tolist() == ["a", "b"]
    assert [tokens.tolist() for tokens in graphs] == graphs.tolist() == [["a", "b"], ["c"]]
    assert graphs.shape == (2,)
    assert graphs.ndim == 1
    with pytest.raises(IndexError):
        graphs[2]
    with pytest.raises(IndexError):
        graphs[0, 1]


@given(st.sampled_from(KINDS), st.data())
def test_samples_are_concatenated_with_their_edges(kind, data):
    parts = data.draw(st.lists(graph_arrays(kind), min_size=1, max_size=4))
    joined = np.concatenate(parts)
    assert_sound(joined)
    assert unpacked(joined) == list(chain.from_iterable(map(unpacked, parts)))
    assert joined == np.hstack(parts)


@given(graph_arrays(), st.integers(0, 5))
def test_cutting_and_concatenating_changes_nothing(graphs, at):
    assert np.concatenate([graphs[:at], graphs[at:]]) == graphs


@given(graph_arrays())
def test_copies_are_equal_and_share_nothing(graphs):
    for again in (
        graphs.copy(),
        copy.deepcopy(graphs),
        pickle.loads(pickle.dumps(graphs)),
        skops.io.loads(skops.io.dumps(graphs), trusted=TRUSTED),
    ):
        assert_sound(again)
        assert again == graphs
        assert not np.shares_memory(again.edges, graphs.edges)
        assert not np.shares_memory(again.edge_offsets, graphs.edge_offsets)
    assert repr(graphs) == (
        f"<GraphArray of {len(graphs)} samples, {len(graphs.data)} tokens, {graphs.n_edges} edges>"
    )


def test_graphs_of_different_nodes_or_edges_are_not_equal():
    nodes, edges, types = [["a", "b", "c"], ["d"]], [[(0, 1), (1, 2)], []], [["x", "y"], []]
    graphs = GraphArray.from_edges(nodes, edges, types)
    assert graphs == GraphArray.from_edges(nodes, edges, types)
    others = [
        GraphArray.from_edges([["a", "b", "x"], ["d"]], edges, types),
        GraphArray.from_edges(nodes, [[(0, 1), (2, 1)], []], types),
        GraphArray.from_edges(nodes, [[(0, 1)], []], [["x"], []]),
        GraphArray.from_edges(nodes, edges, [["x", "x"], []]),
        GraphArray.from_edges(nodes, edges, [np.eye(2), []]),
        GraphArray.from_edges(nodes, edges),
        SequenceArray.from_sequences(nodes),
        graphs[:1],
    ]
    for other in others:
        assert graphs != other
        assert other != graphs
    assert graphs != nodes
    with pytest.raises(TypeError, match="unhashable"):
        hash(graphs)


def test_what_cannot_be_concatenated():
    graphs = GraphArray.from_edges([["a", "b"]], [[(0, 1)]])
    with pytest.raises(TypeError, match="only with another GraphArray"):
        np.concatenate([SequenceArray.from_sequences([["a"]]), graphs])
    for other, message in (
        (GraphArray.from_edges([["a", "b"]], [[(0, 1)]], [["x"]]), r"\['None', 'types'\]"),
        (GraphArray.from_edges([["a", "b"]], [[(0, 1)]], [np.eye(1)]), r"\['1 attributes', 'None'"),
    ):
        with pytest.raises(ValueError, match=f"of one kind, not {message}"):
            np.concatenate([graphs, other])
    rows = [np.zeros((2, 1))]
    graphs = GraphArray.from_edges(rows, [[(0, 1)]])
    for other in (GraphArray.from_edges(rows, [[(1, 0)]]), GraphArray.from_edges(rows, [[]])):
        with pytest.raises(ValueError, match="only if the edges are the same"):
            np.concatenate([graphs, other], axis=1)
    with pytest.raises(ValueError, match="the same lengths"):
        np.hstack([graphs, GraphArray.from_edges([np.zeros((1, 1))] * 2, [[], []])])


def test_attributes_are_joined_with_the_same_edges():
    graphs = GraphArray.from_parents([np.zeros((3, 1)), np.ones((2, 1))], [[1, -1, 1], [-1, 0]])
    joined = np.hstack([graphs, graphs.with_data(sp.csr_array(np.eye(5)))])
    assert_sound(joined)
    assert joined.shape == (2, 6)
    assert joined.parents.tolist() == [1, -1, 1, -1, 0]


def test_other_data_must_be_of_the_same_tokens():
    graphs = GraphArray.from_edges([["a", "b"]], [[(0, 1)]])
    assert_sound(graphs.with_data(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="offsets end at 2, but data has 3 tokens"):
        graphs.with_data(np.zeros((3, 3)))


def test_constructors_of_sequences_make_graphs_without_edges():
    for graphs in (
        GraphArray.from_lengths(np.arange(3), [1, 2]),
        GraphArray.from_sequences([[0], [1, 2]]),
    ):
        assert_sound(graphs)
        assert graphs.tolist() == [[0], [1, 2]]
        assert graphs.n_edges == 0
        assert graphs.is_forest


# ---- scikit-learn ----


def trees(n=12):
    """Stars of different sizes; the first token of each names the sample and its root."""
    rng = np.random.default_rng(0)
    words, parents = [], []
    for i in range(n):
        size = int(rng.integers(1, 5))
        root = int(rng.integers(size))
        words.append([f"{i} {size} {root}"] * size)
        parents.append([-1 if k == root else root for k in range(size)])
    return GraphArray.from_parents(words, parents, edge_type="direction"), words


def assert_edges_of_their_nodes(graphs):
    assert_sound(graphs)
    for tokens, edges, types in unpacked(graphs):
        _, size, root = map(int, tokens[0].split())
        assert edges == [[root, k] for k in range(size) if k != root]
        assert types == ["left" if root < k else "right" for k in range(size) if k != root]


class Root(BaseEstimator):
    """Predicts the parent of each token."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y):
        assert_sound(X)
        self.n_ = len(X)
        return self

    def predict(self, X):
        assert_sound(X)
        return SequenceArray(X.parents, X.offsets)

    def score(self, X, y):
        return -abs(self.shift - 1)


def test_splits_keep_the_edges():
    graphs, words = trees()
    parts = train_test_split(graphs, words, test_size=0.4, random_state=0)
    assert len(parts[0]) + len(parts[1]) == len(graphs)
    for part, y in zip(parts[:2], parts[2:], strict=True):
        assert_edges_of_their_nodes(part)
        assert part.tolist() == y
    for train, test in KFold(3, shuffle=True, random_state=0).split(graphs):
        assert_edges_of_their_nodes(graphs[train])
        assert_edges_of_their_nodes(_safe_indexing(graphs, test))
    for other in (shuffle(graphs, random_state=0), resample(graphs, random_state=0)):
        assert_edges_of_their_nodes(other)


def test_cross_validation_keeps_the_edges():
    graphs, words = trees()
    predicted = cross_val_predict(Root(), graphs, words, cv=KFold(3, shuffle=True, random_state=1))
    assert type(predicted) is SequenceArray
    assert_array_equal(predicted.data, graphs.parents)
    search = GridSearchCV(Root(), {"shift": [0, 1]}, cv=3).fit(graphs, words)
    assert search.best_params_ == {"shift": 1}
    assert search.predict(graphs) == SequenceArray(graphs.parents, graphs.offsets)


def test_read_only_files_of_worker_processes_hold_the_edges(tmp_path):
    graphs, _ = trees()
    graphs = graphs.with_data(np.zeros((len(graphs.data), 3)))
    joblib.dump(graphs, tmp_path / "graphs")
    mapped = joblib.load(tmp_path / "graphs", mmap_mode="r")
    assert not mapped.edges.flags.writeable
    assert_sound(mapped)
    assert mapped == graphs
    assert_array_equal(Root().predict(mapped[3:]).data, graphs[3:].parents)


TRANSFORMERS = {
    "Gazetteer": Gazetteer({"zero": ["0 1 0"]}),
    "TemplateFeatures": TemplateFeatures("U0:%x[-1,0]\nU1:%x[0,0]"),
    "TokenFeatures": TokenFeatures(),
    "Window": Window(),
    "WordClusters": WordClusters({"0 1 0": "01"}),
    "WordVectors": WordVectors({"0 1 0": [1.0, 2.0]}),
    "SequenceVectorizer": SequenceVectorizer(),
    "RandomAttributes": make_pipeline(SequenceVectorizer(), RandomAttributes(random_state=0)),
    "pipeline": make_pipeline(Window(), TokenFeatures("simple"), SequenceVectorizer(min_freq=2)),
    "union": make_union(Window(), TokenFeatures()),
    "union of rows": make_union(SequenceVectorizer(), WordVectors({"0 1 0": [1.0, 2.0]})),
}


@for_each("transformer", TRANSFORMERS.values())
@for_each("as_dicts", [False, True])
def test_transformers_keep_the_edges(transformer, as_dicts):
    graphs, _ = trees()
    X = graphs
    if as_dicts:
        X = graphs.with_data(np.array([{"word": word} for word in graphs.data], dtype=object))
    for made in (transformer.fit_transform(X), transformer.fit(X).transform(X)):
        assert_edges_of_their_nodes(made.with_data(graphs.data))
    symbols = transformer.fit_transform(as_table(graphs))
    assert_edges_of_their_nodes(symbols.with_data(graphs.data))


def as_table(graphs):
    symbols, codes = np.unique(graphs.data.astype(str), return_inverse=True)
    return graphs.with_data(SymbolTable(codes[:, None], [symbols], ["word"]))


def test_a_frame_has_no_edges():
    graphs, words = trees()
    window = Window().set_output(transform="pandas")
    assert len(window.fit_transform(words)) == len(graphs.data)
    with pytest.raises(ValueError, match="a DataFrame has no edges"):
        window.transform(graphs)


def test_neighbours_are_those_of_the_text():
    graphs = GraphArray.from_parents([["Dogs", "chase", "cats"]], [[1, -1, 1]])
    windows = Window([1]).transform(graphs)
    assert windows.data.column("token[+1]").tolist() == ["chase", "cats", "<boundary+1>"]


# ---- as_sequences ----


def test_graphs_go_through_as_they_are():
    graphs, words = trees()
    X, y, mirror = as_sequences(graphs, words)
    assert X is graphs
    assert y.tolist() == words
    predicted = mirror(np.arange(len(graphs.data)))
    assert type(predicted) is SequenceArray
    assert predicted.offsets is graphs.offsets


@pytest.mark.parametrize("as_array", [False, True])
def test_labels_can_be_partial(as_array):
    graphs = GraphArray.from_edges([["a", "b", "c"], ["d"]], [[(0, 1), (1, 2), (2, 0)], []])
    labels = [["N", None, {"N", "V"}], [None]]
    y = SequenceArray.from_sequences(labels) if as_array else labels
    assert as_sequences(graphs, y).y.tolist() == labels
    with pytest.raises(ValueError, match="sequence 1 has 1 tokens in X, but 2 in allowed"):
        as_sequences(graphs, [[None] * 3, [None] * 2], "allowed")


def test_sparse_rows_are_made_sound_and_keep_their_edges():
    rows = sp.csr_array(([1.0, 2.0, 3.0], [1, 0, 1], [0, 3, 3]), shape=(2, 2))
    graphs = GraphArray.from_edges([np.zeros((2, 2))], [[(0, 1)]])
    graphs.data = rows
    X = as_sequences(graphs).X
    assert_sound(X)
    assert X.data.toarray().tolist() == [[2, 4], [0, 0]]
    assert X.edges.tolist() == [[0, 1]]


def test_arrays_that_were_changed_are_checked_again():
    def graphs():
        return GraphArray.from_edges(
            [["a"], ["a", "b", "c"]], [[], [(0, 1), (1, 2)]], [[], np.ones((2, 1))]
        )

    X = graphs()
    X.edges[1, 1] = 3
    with pytest.raises(ValueError, match=r"sample 1, edge 1: \(1, 3\) leaves the sample"):
        as_sequences(X)
    X = graphs()
    X.edges[1] = 1, 0
    with pytest.raises(ValueError, match=r"sample 1, edge 1: \(1, 0\) is double, as edge 0"):
        as_sequences(X)
    X = graphs()
    X.edge_offsets[1] = 1
    with pytest.raises(ValueError, match=r"sample 0, edge 0: \(0, 1\) leaves the sample"):
        as_sequences(X)
    X = graphs()
    X.edge_offsets[1] = 3
    with pytest.raises(ValueError, match="edge_offsets must not decrease"):
        as_sequences(X)
    X = graphs()
    X.edge_data[1] = np.nan
    with pytest.raises(ValueError, match="edge_data, sample 1, edge 1: nan is not finite"):
        as_sequences(X)
    X = graphs()
    X.edge_data = sp.csr_array(np.ones((2, 2)))
    X.edge_data.indices[3] = 7
    with pytest.raises(ValueError, match="edge_data, sample 1, edge 1: column 7 is not one of 2"):
        as_sequences(X)
