"""Every accepted input, the way back, and what is refused."""

import copy
import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from numpy.testing import assert_array_equal
from sequence_arrays import LISTS, OFFSETS, labels, nested_lists, plain, rows, symbols

from sklearn_crcrf import SequenceArray, as_sequences
from sklearn_crcrf.data.sequences import is_table


@given(nested_lists.filter(lambda lists: lists != [[""]]))
def test_lists_of_strings(lists):
    made = tuple(map(tuple, lists))
    array = np.empty(len(lists), dtype=object)
    array[:] = lists
    for X in (lists, made, array):
        sequences, labels, mirror = as_sequences(X, lists)
        assert sequences.tolist() == labels.tolist() == lists
        back = mirror(labels.data)
        assert back.shape == (len(lists),)
        assert back.dtype == object
        assert back.tolist() == lists


def test_lists_of_equal_lengths_stay_one_dimensional():
    _, _, mirror = as_sequences([["a", "b"], ["c", "d"]])
    assert mirror(np.array([1, 2, 3, 4])).tolist() == [[1, 2], [3, 4]]
    assert mirror(np.array([1, 2, 3, 4])).shape == (2,)
    assert mirror(np.ones((4, 3))).shape == (2,)


@pytest.mark.parametrize("X", [LISTS, [np.array(s, dtype=object) for s in LISTS]])
def test_mirror_of_probabilities(X):
    proba = np.arange(18.0).reshape(6, 3)
    back = as_sequences(X).mirror(proba)
    assert [p.shape for p in back] == [(2, 3), (0, 3), (1, 3), (3, 3), (0, 3)]
    assert_array_equal(np.concatenate(list(back)), proba)


def test_feature_dicts():
    X = [[{"w": "a"}, {"w": "b", "n": 1.0}], [{}]]
    assert as_sequences(X).X.tolist() == X


@for_each("X", [[], (), [[]], [[], []], np.empty(0, dtype=object), [()]])
def test_no_tokens(X):
    sequences, labels, mirror = as_sequences(X, X)
    assert len(sequences) == len(labels) == len(X)
    assert sequences.data.shape == (0,)
    assert mirror(np.empty(0)).tolist() == [[]] * len(X)
    assert mirror(np.empty((0, 3))).shape == (len(X),)


@for_each("dtype", [np.float64, np.float32, np.int64, np.int32])
@for_each("make", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_lists_of_rows(dtype, make):
    data = rows().astype(dtype)
    X = [make(data[a:b]) for a, b in pairwise(OFFSETS) if b > a]
    sequences, labels, mirror = as_sequences(X, [["x"] * s.shape[0] for s in X])
    assert sequences.lengths.tolist() == [2, 1, 3]
    assert sequences.data.dtype == dtype
    assert sp.issparse(sequences.data) is sp.issparse(X[0])
    assert plain(sequences.data) == data.tolist()
    assert mirror(labels.data).tolist() == [["x", "x"], ["x"], ["x", "x", "x"]]


def test_empty_sequences_among_rows():
    ints = rows().astype(np.int32)
    X = [[], ints[:2], np.empty((0, 2), np.int32), ints[2:], ()]
    sequences = as_sequences(X).X
    assert sequences.lengths.tolist() == [0, 2, 0, 4, 0]
    assert sequences.data.dtype == np.int32
    assert plain(as_sequences([[], sp.csr_array(ints), []]).X.data) == ints.tolist()


def test_symbol_tables_in_a_list():
    array = SequenceArray(symbols(), OFFSETS)
    joined = as_sequences(list(array)).X
    assert joined == array


def test_sequence_arrays(array):
    sequences, y, mirror = as_sequences(array, LISTS)
    assert sequences is array
    assert y.tolist() == LISTS
    assert mirror(labels()) == SequenceArray(labels(), OFFSETS)
    assert mirror(rows()) == SequenceArray(rows(), OFFSETS)
    given_array = SequenceArray(labels(), OFFSETS)
    assert as_sequences(array, given_array).y is given_array
    assert as_sequences(LISTS, given_array).y is given_array


@pytest.mark.filterwarnings("ignore:A column-vector y")
@for_each("make", [np.asarray, np.ndarray.tolist, sp.csr_array, sp.coo_matrix])
def test_tables(make):
    y = np.array([1, 0, 1, 1, 0, 2])
    sequences, labels, mirror = as_sequences(make(rows()), y)
    assert plain(sequences.data) == rows().tolist()
    assert sequences.lengths.tolist() == labels.lengths.tolist() == [1] * 6
    assert labels.data.dtype == y.dtype
    assert mirror(labels.data).tolist() == y.tolist()
    assert mirror(rows()).shape == (6, 2)
    assert as_sequences(make(rows()), labels).y is labels
    assert as_sequences(make(rows()), y[:, None].tolist()).y == labels


@for_each(
    ("X", "expected"),
    [
        ([[1, 2], [3, 4]], True),
        ([[np.int64(1)], [np.int64(2)]], True),
        ([[True], [False]], True),
        ([np.array([1.0, 2.0])], True),
        ([1, 2], True),
        (np.ones(3), True),
        (np.ones((3, 2)), True),
        (np.array([["a", "b"]]), True),
        (sp.csr_array(np.ones((3, 2))), True),
        ([["a"], ["b"]], False),
        ([[], ["b"]], False),
        ([np.array(["a"])], False),
        ([np.ones((2, 2))], False),
        ([sp.csr_array((0, 2)), sp.csr_array((1, 2))], False),
        ([], False),
        ([[]], False),
        (SequenceArray(np.ones((3, 2)), [0, 3]), False),
    ],
)
def test_is_table(X, expected):
    assert is_table(X) is expected


@for_each(
    "y",
    [
        [["x", "y"], ["z"]],
        (("x", "y"), ("z",)),
        [np.array(["x", "y"]), np.array(["z"])],
        SequenceArray(np.array(["x", "y", "z"]), [0, 2, 3]),
    ],
)
def test_labels(y):
    assert as_sequences([["a", "b"], ["c"]], y).y.tolist() == [["x", "y"], ["z"]]


def test_labels_in_a_rectangle():
    y = as_sequences([["a", "b"], ["c", "d"]], np.array([[0, 1], [1, 0]])).y
    assert y.tolist() == [[0, 1], [1, 0]]


@given(nested_lists)
def test_input_is_left_as_it_is(lists):
    before = copy.deepcopy(lists)
    as_sequences(lists, lists)
    SequenceArray.from_sequences(lists)
    assert lists == before


@for_each(
    ("X", "message"),
    [
        (["a", "b"], r"X must be a list of sequences, but is a list of str; .* \[X\]"),
        (("a", "b"), "but is a list of str"),
        (np.array(["a", "b"]), "but is a list of str"),
        (np.array(["a", "b"], dtype=object), "but is a list of str"),
        ([""], "but is a list of str"),
        ([{"w": "a"}], "but is a list of dict"),
        ([b"a"], "but is a list of bytes"),
        ([["a"], "bc"], "X, sequence 1: it must be a list of tokens .* is of type str"),
        ([["a"], [], None], "X, sequence 2: .* is of type NoneType"),
        ([None, ["a"]], "X, sequence 0: .* is of type NoneType"),
        ([["a"], 7], "X, sequence 1: .* is of type int"),
        ([["a"], {"b"}], "X, sequence 1: .* is of type set"),
        ([["a"], {"w": "b"}], "X, sequence 1: .* is of type dict"),
        ([["a"], (t for t in "ab")], "X, sequence 1: .* is of type generator"),
        ([["a"], np.array("b")], "X, sequence 1: .* is of type ndarray"),
        ([[1, 2], [3]], "X is a list of lists of numbers, .* its rows differ in length"),
        ([np.array([1, 2]), np.array([3])], "its rows differ in length"),
        ([[1, 2], None], "its rows differ in length"),
        ([np.ones((2, 3)), np.ones((1, 4))], "X, sequence 1: it has 4 attributes, but .* 3"),
        ([np.ones((2, 3)), ["a"]], "X, sequence 1: it must be a 2-D array"),
        ([["a"], np.ones((2, 3))], "X, sequence 0: it must be a 2-D array"),
        ([np.ones((2, 3)), np.ones((2, 3, 1))], "X, sequence 1: it must be a 2-D array"),
        ([np.ones((2, 3, 1))], "X, sequence 0: it must be a 2-D array"),
        ([1, 2], "Expected 2D array"),
        (np.ones((2, 2, 2, 2)), "dim 4"),
        ("ab", "but is a str"),
        (None, "but is None"),
        (np.empty((0, 3)), "0 sample"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1.0, 1j]]), "Complex"),
    ],
)
def test_refused_input(X, message):
    with pytest.raises(ValueError, match=message):
        as_sequences(X)


@for_each("value", [np.nan, np.inf, -np.inf])
@for_each("make", [np.asarray, sp.csr_array])
@for_each(("dtype", "column"), [(np.float64, 0), (np.float32, 1)])
def test_numbers_must_be_finite(value, make, dtype, column):
    X = [rows().astype(dtype), rows()[:0].astype(dtype), rows().astype(dtype)]
    X[2][4, column] = value
    for given_as in ([make(s) for s in X], SequenceArray.from_sequences([make(s) for s in X])):
        with pytest.raises(ValueError, match=f"X, sequence 2, position 4: {value} is not finite"):
            as_sequences(given_as)


@for_each(
    ("y", "message"),
    [
        ([["x"]], "X has 3 sequences, but y has 1"),
        ([["x"], ["y"], ["z"]], "sequence 0 has 2 tokens in X, but 1 in y"),
        ([["x", "y"], [], ["z", "z"]], "sequence 2 has 1 tokens in X, but 2 in y"),
        ([["x", "y"], ["x"], []], "sequence 1 has 0 tokens in X, but 1 in y"),
        (["xy", "", "z"], "y, sequence 0: it must be a list of tokens or labels"),
        (np.array(["x", "y", "z"]), "y, sequence 0: .* is of type str_"),
        (np.array([1, 2, 3]), "y, sequence 0: .* is of type int64"),
        ([["x", "y"], None, ["z"]], "y, sequence 1: .* is of type NoneType"),
        (
            [np.ones((2, 2)), [], np.ones((1, 2))],
            r"y must have one value per token, .* shape \(3, 2\)",
        ),
        (SequenceArray(np.arange(3), [0, 1, 1, 3]), "sequence 0 has 2 tokens in X, but 1"),
    ],
)
@for_each("wrap", [list, SequenceArray.from_sequences])
def test_labels_that_do_not_fit(y, message, wrap):
    X = wrap([["a", "b"], [], ["c"]])
    with pytest.raises(ValueError, match=message):
        as_sequences(X, y)
    with pytest.raises(ValueError, match=re.sub(r"\by\b", "allowed", message)):
        as_sequences(X, y, "allowed")


@for_each(
    ("y", "message"),
    [
        ([0, 1], r"inconsistent numbers of samples: \[3, 2\]"),
        ([[0, 1], [0, 1], [1, 0]], "y holds sequences"),
        (np.eye(3), "1d array"),
        (SequenceArray(np.arange(3), [0, 3]), "X has 3 sequences, but y has 1"),
    ],
)
def test_labels_that_do_not_fit_a_table(y, message):
    with pytest.raises(ValueError, match=message):
        as_sequences(np.ones((3, 2)), y)


@for_each("X", [None, "the dog", b"a", {"a": 1}, {"a"}, iter([["a"]])])
def test_containers_without_sequences_are_refused(X):
    with pytest.raises(
        ValueError, match="X must be a list of sequences, a SequenceArray, an array"
    ):
        as_sequences(X)


def test_tokens_that_are_numbers_are_explained():
    with pytest.raises(ValueError, match="tokens that are numbers must be written as strings"):
        as_sequences([[1, 2], [2, 3]], [[0, 1], [1, 0]])


@pytest.mark.parametrize("make", [list, np.array, lambda X: np.array(X, dtype=object)])
def test_sentences_must_be_split(make):
    for sentences in (["Marie Curie was born", "It rains"], ["Hello", "It rains"]):
        with pytest.raises(ValueError, match=r"split your sentences: \[sentence\.split"):
            as_sequences(make(sentences))
    with pytest.raises(ValueError, match=r"put it into a list: \[X\]"):
        as_sequences(make(["It", "rains"]))
    with pytest.raises(ValueError, match=r"y, sequence 0: .* split it, .*for text in y\]"):
        as_sequences([["It", "rains"]], ["O O"])
