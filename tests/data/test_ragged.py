"""Arrays of sequences: indices, copies, and what scikit-learn does with samples."""

import copy
import pickle
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from sequence_arrays import DATA, OFFSETS, labels, nested, nested_lists, plain, rows, symbols
from sklearn.model_selection import GroupKFold, KFold, train_test_split
from sklearn.utils import _safe_indexing, resample, shuffle

from sklearn_crcrf import SequenceArray, as_sequences
from sklearn_crcrf.data.ragged import locate
from sklearn_crcrf.data.symbols import SymbolTable


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


def test_from_sequences_names_the_wrong_one():
    with pytest.raises(ValueError, match=r"sequences, sequence 1: .* is of type str"):
        SequenceArray.from_sequences([["a"], "b"])


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("words", np.array(["a"], dtype=object)),
        ("words", np.array([1])),
        ("words", np.empty(0, dtype=object)),
        ("dicts", np.array([{"word": "a"}], dtype=object)),
        ("columns", SymbolTable([[0]], [["a"]], ["word"])),
        ("columns", np.array([[1, "a"]], dtype=object)),
        ("numbers", np.array([[1, 2.5]], dtype=object)),
        ("numbers", np.eye(2)),
        ("numbers", np.empty((0, 2))),
        ("attributes", sp.csr_array(np.eye(2))),
    ],
)
def test_kinds_of_tokens(kind, data):
    X = SequenceArray(data, [0, data.shape[0]])
    assert X.kind == X[[0]].kind == kind
