import copy
import pickle
import re
from itertools import chain, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, train_test_split
from sklearn.utils import _safe_indexing, resample, shuffle

from sklearn_crcrf import SequenceArray, as_sequences
from sklearn_crcrf.data.ragged import locate
from sklearn_crcrf.data.sequences import is_table
from sklearn_crcrf.data.symbols import SymbolTable

nested_lists = st.lists(st.lists(st.text("abc", max_size=2), max_size=4), max_size=6)

LISTS = [["a", "b"], [], ["c"], ["b", "c", "d"], []]
OFFSETS = [0, 2, 2, 3, 6, 6]


def labels():
    return np.array(["a", "b", "c", "b", "c", "d"], dtype=object)


def rows():
    return np.arange(12.0).reshape(6, 2)


def symbols():
    return SymbolTable([[0], [1], [2], [1], [2], [3]], [["a", "b", "c", "d"]], ["word"])


DATA = [labels, rows, lambda: sp.csr_array(rows()), lambda: sp.csr_matrix(rows()), symbols]


@pytest.fixture(params=DATA, ids=["labels", "rows", "csr_array", "csr_matrix", "symbols"])
def array(request):
    return SequenceArray(request.param(), OFFSETS)


def plain(data):
    """Tokens as a list, whatever they are stored in."""
    if isinstance(data, SymbolTable):
        return data.column("word").tolist()
    return (data.toarray() if sp.issparse(data) else data).tolist()


def nested(array):
    return [plain(sequence) for sequence in array]


def keys_of(n):
    integers = st.integers(-n, n - 1) if n else st.nothing()
    return st.one_of(
        st.slices(n),
        st.lists(integers, max_size=2 * n),
        st.lists(integers, max_size=2 * n).map(lambda key: np.array(key, dtype=np.intp)),
        st.lists(st.booleans(), min_size=n, max_size=n).map(lambda key: np.array(key, dtype=bool)),
    )


def pick(items, key):
    if isinstance(key, slice):
        return items[key]
    if isinstance(key, np.ndarray) and key.dtype == bool:
        return [item for item, chosen in zip(items, key, strict=True) if chosen]
    return [items[i] for i in key]


@given(st.data(), nested_lists)
def test_indexing_is_that_of_a_list(data, lists):
    array = SequenceArray.from_sequences(lists)
    key = data.draw(keys_of(len(lists)))
    expected = pick(lists, key)
    for chosen in (array[key], array[key, ...]):
        assert isinstance(chosen, SequenceArray)
        assert chosen.tolist() == expected
        assert chosen == SequenceArray.from_sequences(expected)
    for i in range(-len(lists), len(lists)):
        assert array[i].tolist() == array[np.int64(i)].tolist() == lists[i]


@given(st.data())
@pytest.mark.parametrize("make", DATA)
def test_indexing_of_all_kinds_of_data(make, data):
    array = SequenceArray(make(), OFFSETS)
    key = data.draw(keys_of(len(OFFSETS) - 1))
    chosen = array[key]
    assert nested(chosen) == pick(nested(array), key)
    assert type(chosen.data) is type(array.data)
    assert chosen.shape == (len(chosen), *array.shape[1:])


@given(nested_lists)
def test_containers_behaviour(lists):
    array = SequenceArray.from_sequences(lists)
    assert len(array) == len(lists)
    assert array.shape == (len(lists),)
    assert array.ndim == 1
    assert array.lengths.tolist() == list(map(len, lists))
    assert array.tolist() == lists
    assert [sequence.tolist() for sequence in array] == lists
    objects = np.asarray(array)
    assert objects.shape == (len(lists),)
    assert objects.dtype == object
    assert [sequence.tolist() for sequence in objects] == lists


@given(st.lists(nested_lists, min_size=1, max_size=3))
def test_concatenation_of_sequences(parts):
    joined = np.concatenate([SequenceArray.from_sequences(lists) for lists in parts])
    assert joined.tolist() == list(chain.from_iterable(parts))
    assert joined == np.hstack([SequenceArray.from_sequences(lists) for lists in parts])


def test_concatenation_of_sequences_with_all_kinds_of_data(array):
    for axis in (0, -array.ndim):
        joined = np.concatenate([array[3:], array[:2], array], axis=axis)
        assert nested(joined) == nested(array)[3:] + nested(array)[:2] + nested(array)
        assert type(joined.data) is type(array.data)


@for_each("make", DATA[1:4])
@for_each("other", DATA[1:4])
def test_concatenation_of_attributes(make, other):
    a, b = SequenceArray(make(), OFFSETS), SequenceArray(other() * 10, OFFSETS)
    for joined in (np.hstack([a, b]), np.concatenate([a, b], 1), np.concatenate([a, b], axis=-1)):
        assert joined.shape == (5, 4)
        assert joined.offsets.tolist() == OFFSETS
        assert plain(joined.data) == np.hstack([rows(), rows() * 10]).tolist()


def test_concatenation_of_columns_of_symbols():
    tags = SymbolTable([[0], [0], [1], [0], [1], [1]], [["N", "V"]], ["tag"])
    joined = np.hstack([SequenceArray(symbols(), OFFSETS), SequenceArray(tags, OFFSETS)])
    assert joined.data.names == ("word", "tag")
    assert joined[3].column("tag").tolist() == ["N", "V", "V"]


def test_what_cannot_be_concatenated():
    a = SequenceArray(rows(), OFFSETS)
    with pytest.raises(ValueError, match="same lengths"):
        np.concatenate([a, SequenceArray(rows(), [0, 6])], axis=1)
    with pytest.raises(TypeError, match="only with another SequenceArray"):
        np.concatenate([a, [["a"]]])
    with pytest.raises(ValueError, match="out of bounds"):
        np.concatenate([SequenceArray(labels(), OFFSETS)] * 2, axis=1)
    with pytest.raises(TypeError):
        np.vstack([a, a])


def test_copy_pickle_and_equality(array):
    for other in (
        array.copy(),
        copy.copy(array),
        copy.deepcopy(array),
        pickle.loads(pickle.dumps(array)),
    ):
        assert other == array
        assert nested(other) == nested(array)
        assert type(other.data) is type(array.data)
    assert array != array[::-1]
    assert array != array[:-1]
    assert array != SequenceArray(array.data, [0, 2, 2, 3, 5, 6])
    assert array != nested(array)


@for_each("make", DATA)
@for_each("other", DATA)
def test_equality_is_about_values_and_kind(make, other):
    a, b = SequenceArray(make(), OFFSETS), SequenceArray(other(), OFFSETS)
    sparse = {DATA[2], DATA[3]}
    assert (a == b) is (make is other or {make, other} <= sparse)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_arrays_of_different_width_differ(make):
    narrow, wide = (SequenceArray(make(np.ones((6, n))), OFFSETS) for n in (1, 2))
    assert narrow != wide


def test_copy_shares_no_memory():
    array = SequenceArray(rows(), OFFSETS)
    copied = array.copy()
    copied.data[:] = 0
    copied.offsets[1] = 1
    assert array == SequenceArray(rows(), OFFSETS)


def test_slices_are_views():
    array = SequenceArray(rows(), OFFSETS)
    assert np.shares_memory(array[1:4].data, array.data)
    assert not np.shares_memory(array[[1, 2, 3]].data, array.data)


@pytest.mark.parametrize("key", [slice(3, 1), slice(9, None), slice(None, -9), slice(2, 2)])
def test_empty_slices(array, key):
    assert nested(array[key]) == []
    assert array[key].shape == (0, *array.shape[1:])


def test_read_only_arrays(array):
    for part in (array.offsets, getattr(array.data, "codes", array.data)):
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
    assert nested(array[1:]) == nested(array[[1, 2, 3, 4]])
    assert as_sequences(array).X is array
    assert nested(np.concatenate([array, array])) == nested(array) * 2


def test_other_sparse_formats_become_csr():
    for data in (sp.coo_array(rows()), sp.csc_matrix(rows())):
        array = SequenceArray(data, OFFSETS)
        assert array.data.format == "csr"
        assert array[2].toarray().tolist() == [[4.0, 5.0]]


@pytest.mark.parametrize("key", [5, -6, [5], [-6], np.ones(4, bool), None, np.zeros((1, 1), int)])
def test_keys_out_of_range(array, key):
    with pytest.raises(IndexError):
        array[key]


def test_only_sequences_are_indexed(array):
    with pytest.raises(IndexError, match="indexed by sequence only"):
        array[0, 1]


@for_each(
    ("offsets", "message"),
    [
        ([], "start at 0"),
        ([1, 6], "start at 0"),
        ([[0, 6]], "one-dimensional"),
        ([0, 4, 3, 6], "must not decrease"),
        ([0, 3, 5], "offsets end at 5, but data has 6 tokens"),
        ([0, 7], "offsets end at 7, but data has 6 tokens"),
        ([0.0, 6.0], "offsets must be integers"),
        (["0", "6"], "offsets must be integers"),
    ],
)
def test_wrong_offsets(offsets, message):
    with pytest.raises(ValueError, match=message):
        SequenceArray(labels(), offsets)


@for_each(
    ("lengths", "message"),
    [
        ([3, 4], "lengths sum to 7, but data has 6 tokens"),
        ([7, -1], r"lengths\[1\] is negative"),
        ([3.0, 3.0], "lengths must be integers"),
        ([], "lengths sum to 0"),
    ],
)
def test_wrong_lengths(lengths, message):
    with pytest.raises(ValueError, match=message):
        SequenceArray.from_lengths(labels(), lengths)


@for_each("data", [["a", "b"], None, "ab", np.array("a")])
def test_data_that_is_no_array(data):
    with pytest.raises(ValueError, match="data must be an array of tokens"):
        SequenceArray(data, [0, 2])


@given(st.lists(st.integers(0, 3), min_size=1).filter(sum))
def test_locate(lengths):
    offsets = np.cumsum([0, *lengths])
    places = [(i, t) for i, length in enumerate(lengths) for t in range(length)]
    assert [locate(offsets, token) for token in range(offsets[-1])] == places


# What scikit-learn does with samples


@pytest.fixture(params=DATA, ids=["labels", "rows", "csr_array", "csr_matrix", "symbols"])
def many(request):
    return SequenceArray.from_lengths(request.param()[np.arange(56) % 6], np.arange(16) % 8)


def test_train_test_split(many):
    numbers = np.arange(len(many))
    X_train, X_test, i_train, i_test = train_test_split(many, numbers, random_state=0)
    assert nested(X_train) == [nested(many)[i] for i in i_train]
    assert nested(X_test) == [nested(many)[i] for i in i_test]


@pytest.mark.parametrize("splitter", [KFold(4, shuffle=True, random_state=0), GroupKFold(4)])
def test_splitters(many, splitter):
    groups = np.arange(len(many)) // 2 if isinstance(splitter, GroupKFold) else None
    tested = []
    for train, test in splitter.split(many, groups=groups):
        assert sorted([*train, *test]) == list(range(len(many)))
        assert nested(_safe_indexing(many, test)) == [nested(many)[i] for i in test]
        tested.extend(test)
    assert sorted(tested) == list(range(len(many)))


def test_shuffle_and_resample(many):
    numbers = np.arange(len(many))
    for mix in (shuffle, resample):
        mixed, order = mix(many, numbers, random_state=0)
        assert nested(mixed) == [nested(many)[i] for i in order]


@pytest.mark.parametrize("key", [[2, 0], np.array([1]), slice(1, 3), [True, *[False] * 15], (0, 2)])
def test_safe_indexing(many, key):
    chosen = list(key) if not isinstance(key, slice) else key
    expected = pick(nested(many), np.array(chosen) if isinstance(key, list) else chosen)
    assert nested(_safe_indexing(many, key)) == expected
    assert plain(_safe_indexing(many, 3)) == nested(many)[3]


# Every accepted input, and the way back


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


# What is refused


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


def test_from_sequences_names_the_wrong_one():
    with pytest.raises(ValueError, match=r"sequences, sequence 1: .* is of type str"):
        SequenceArray.from_sequences([["a"], "b"])


@for_each("X", [None, "the dog", b"a", {"a": 1}, {"a"}, iter([["a"]])])
def test_containers_without_sequences_are_refused(X):
    with pytest.raises(
        ValueError, match="X must be a list of sequences, a SequenceArray, an array"
    ):
        as_sequences(X)


def test_tokens_that_are_numbers_are_explained():
    with pytest.raises(ValueError, match="tokens that are numbers must be written as strings"):
        as_sequences([[1, 2], [2, 3]], [[0, 1], [1, 0]])
