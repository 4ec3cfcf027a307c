"""Types and attributes of edges as attributes of tokens."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_array_equal

from sklearn_crcrf import GraphArray, SequenceArray
from sklearn_crcrf.linear.edge_data import EdgeEncoder
from sklearn_crcrf.linear.encoder import AttributeEncoder

WORDS = [["Dogs", "chase", "cats"], ["Run"], ["They", "run"]]
PARENTS = [[1, -1, 1], [-1], [1, -1]]


def trees(types=None, data=None):
    if data is not None:
        edges = [[(1, 0), (1, 2)], [], [(1, 0)]]
        return GraphArray.from_edges(WORDS, edges, edge_data=data)
    return GraphArray.from_parents(WORDS, PARENTS, edge_type=types)


def test_types_that_were_not_learned_have_no_attribute():
    X = trees([["a", "-", "b"], ["-"], ["a", "-"]])
    encoder = EdgeEncoder().fit(X)
    learned = encoder.transform(X)
    assert encoder.names.tolist() == ["edge=a", "edge=b"]
    assert_array_equal(learned.toarray(), [[1, 0], [0, 0], [0, 1], [0, 0], [1, 0], [0, 0]])
    others = encoder.transform(trees([["c", "-", "b"], ["-"], [None, "-"]]))
    assert_array_equal(others.toarray(), [[0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [0, 0]])
    X = trees([["c", "-", "b"], ["-"], [7, "-"]])
    more = encoder.fit(X, extend=True).transform(X)
    assert encoder.names.tolist() == ["edge=a", "edge=b", "edge=7", "edge=c"]
    assert more.toarray()[4].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("as_sparse", [False, True])
def test_attributes_go_to_the_second_end(as_sparse):
    data = [np.array([[1.0, 2.0], [3.0, 0.0]]), np.empty((0, 2)), np.array([[0.0, 5.0]])]
    if as_sparse:
        data = [sp.csr_array(rows) for rows in data]
    encoder = EdgeEncoder().fit(trees(data=data))
    found = encoder.transform(trees(data=data))
    assert encoder.names.tolist() == ["edge0", "edge1"]
    assert_array_equal(found.toarray(), [[1, 2], [0, 0], [3, 0], [0, 0], [0, 5], [0, 0]])
    assert_array_equal(encoder.transform(trees(data=data)).toarray(), found.toarray())
    with pytest.raises(ValueError, match=r"^X has 1 attributes of edges, but in fit it had 2$"):
        encoder.transform(trees(data=[rows[:, :1] for rows in data]))


KINDS = {
    "edges without types or attributes": trees(),
    "types of edges": trees("direction"),
    "attributes of edges": trees(data=[np.ones((2, 1)), np.ones((0, 1)), np.ones((1, 1))]),
}


@for_each("given", KINDS)
@for_each("fitted", KINDS)
def test_prediction_needs_edge_data_of_the_same_kind(fitted, given):
    encoder = EdgeEncoder().fit(KINDS[fitted])
    for extend in (False, True):
        if given == fitted:
            assert encoder.transform(KINDS[given]).shape == (6, len(encoder.names))
            continue
        with pytest.raises(ValueError, match=f"^X has {given}, but in fit it had {fitted}$"):
            (encoder.fit(KINDS[given], True) if extend else encoder).transform(KINDS[given])


def test_sequences_have_no_edge_data():
    for X in (SequenceArray.from_sequences(WORDS), trees()):
        assert EdgeEncoder().fit(X).transform(X).shape == (6, 0)


def matrix(X):
    return X.toarray() if sp.issparse(X) else X


@for_each("kind", ["strings", "dense", "sparse"])
@for_each("dtype", [None, "float32"])
def test_edge_data_are_the_last_attributes(kind, dtype):
    X = trees("direction")
    if kind != "strings":
        rows = np.arange(12.0).reshape(6, 2)
        X = X.with_data(rows if kind == "dense" else sp.csr_array(rows))
    own, both = (AttributeEncoder(1, dtype, []) for _ in range(2))
    bare = own.fit_transform(SequenceArray(X.data, X.offsets))
    encoded = both.fit_transform(X)
    assert sp.issparse(encoded) == (kind != "dense")
    assert encoded.dtype == bare.dtype
    assert both.names.tolist() == [*own.names, "edge=left", "edge=right"]
    n = len(own.names)
    assert both.only_edges.tolist() == both.edge_attributes.tolist() == [n, n + 1]
    assert_array_equal(matrix(encoded)[:, :n], matrix(bare))
    assert_array_equal(matrix(both.transform(X)), matrix(encoded))
    again = both.fit_transform(X, extend=True)
    assert_array_equal(matrix(again), matrix(encoded))
    assert both.names.tolist() == [*own.names, "edge=left", "edge=right"]


def test_other_attributes_come_before_those_of_new_types():
    encoder = AttributeEncoder(1, None, ["token"])
    encoder.fit_transform(trees([["a", "-", "b"], ["-"], ["a", "-"]]))
    X = GraphArray.from_parents([["New", "Run"]], [[1, -1]], edge_type=[["c", "-"]])
    encoded = encoder.fit_transform(X, extend=True)
    names = encoder.names.tolist()
    assert names[-4:] == ["New", "edge=a", "edge=b", "edge=c"]
    assert encoder.only_edges.tolist() == [len(names) - 3, len(names) - 2, len(names) - 1]
    assert encoder.edge_attributes.tolist() == list(range(len(names)))
    assert names[encoded.indices[encoded.indptr[1] - 1]] == "edge=c"


def test_names_must_differ():
    X = GraphArray.from_parents([["edge=left", "run"]], [[1, -1]], edge_type=[["left", "-"]])
    with pytest.raises(ValueError, match=r"^X has an attribute of tokens named 'edge=left', like"):
        AttributeEncoder(1, None, []).fit_transform(X)
