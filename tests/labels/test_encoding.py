import pickle

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.labels.encoding import LabelIds, encode_labels, sort_labels

# Elsewhere -100 means that a token has no label, so it is refused.
scalars = st.one_of(
    st.text(max_size=3), st.integers(), st.booleans(), st.floats(allow_nan=False), st.binary()
).filter(lambda label: label != -100)
labels = st.one_of(scalars, st.tuples(scalars, scalars), st.frozensets(scalars, max_size=2))
nested = st.lists(st.lists(labels, max_size=4), max_size=5)


def sequences(y):
    return SequenceArray.from_sequences(y)


@given(nested)
def test_labels_are_those_that_were_numbered(y):
    classes, ids = encode_labels(sequences(y))
    flat = [label for sequence in y for label in sequence]
    assert [classes[i] for i in ids] == flat
    assert len(set(classes.tolist())) == len(classes) == len(set(flat))
    assert ids.dtype == np.int32


@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False)), unique=True))
def test_order_does_not_depend_on_where_labels_come_from(some):
    classes, rank = sort_labels(some)
    again, _ = sort_labels(some[::-1])
    assert classes.tolist() == again.tolist()
    assert [classes[r] for r in rank] == some


@given(st.lists(st.text(max_size=3), min_size=1, unique=True))
def test_strings_come_in_the_order_of_python(some):
    assert sort_labels(some)[0].tolist() == sorted(some)


@for_each(
    ("y", "dtype"),
    [
        ([["b", "a"]], "<U1"),
        ([[2, 1]], np.int64),
        ([[True, False]], bool),
        ([[1.5, 0.5]], float),
        ([np.array([2, 1], dtype=np.int16)], np.int64),
        ([["a", 1]], object),
        ([[(1, 2), (1, 3)]], object),
        ([["a\0", "b"]], object),
        ([[2**80, 1]], object),
    ],
)
def test_type_of_classes(y, dtype):
    classes, ids = encode_labels(sequences(y))
    assert classes.dtype == dtype
    assert classes[ids].tolist() == list(y[0])


@for_each("dtype", [np.int8, np.uint64, np.float32, bool, "U3", "S3"])
def test_arrays_of_labels(dtype):
    data = np.array([1, 0, 1]).astype(dtype)
    classes, ids = encode_labels(SequenceArray(data, [0, 1, 3]))
    assert classes.tolist() == sorted(set(data.tolist()))
    assert classes[ids].tolist() == data.tolist()


@for_each(
    "wrong",
    [None, float("nan"), np.float64("nan"), ["a"], {"a": 1}, np.datetime64("NaT")],
)
@for_each("right", ["a", 1])
def test_what_is_no_label_is_found(wrong, right):
    what = (
        "this estimator needs the labels of all" if wrong is None else "the label must be hashable"
    )
    with pytest.raises(ValueError, match=rf"^y, sequence 2, position 1: {what}"):
        encode_labels(sequences([[right], [], [right, wrong, wrong]]))


def test_nan_in_an_array_is_found():
    y = SequenceArray(np.array([1.0, 2.0, np.nan]), [0, 1, 3])
    with pytest.raises(ValueError, match=r"sequence 1, position 1.*nan"):
        encode_labels(y)


def test_missing_values_of_pandas_are_found():
    pd = pytest.importorskip("pandas")
    for missing in (pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="sequence 0, position 1"):
            encode_labels(sequences([["a", missing]]))


def test_two_labels_per_token_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        encode_labels(SequenceArray(np.zeros((3, 2)), [0, 3]))


@given(st.lists(nested, max_size=4))
def test_ids_last(batches):
    numbers = LabelIds()
    seen = {}
    for y in batches:
        for label, i in zip(sequences(y).data.tolist(), numbers.learn(sequences(y)), strict=True):
            assert seen.setdefault(label, i) == i
    assert sorted(seen.values()) == list(range(len(seen)))
    classes, rank = numbers.classes(list(seen.values()))
    assert {label: classes[rank[i]] for label, i in seen.items()} == {
        label: label for label in seen
    }


def test_labels_that_left_have_no_rank():
    numbers = LabelIds()
    ids = numbers.learn(sequences([["c", "a", "b"]]))
    classes, rank = numbers.classes(ids[:2])
    assert classes.tolist() == ["a", "c"]
    assert rank[ids].tolist() == [1, 0, -1]


def test_declared_labels():
    numbers = LabelIds(["c", "a", "c"])
    assert numbers.classes([])[0].tolist() == ["a", "c"]
    numbers.require(["a", "c"])
    with pytest.raises(ValueError, match="not the same as in the first call"):
        numbers.require(["a"])
    with pytest.raises(ValueError, match="y, sequence 1, position 0: the label 'b' is not among"):
        numbers.learn(sequences([["a"], ["b"]]))
    assert LabelIds(np.array([2, 1])).classes([])[0].dtype.kind == "i"
    assert LabelIds([(1, 2), (0, 1)]).classes([])[0].tolist() == [(0, 1), (1, 2)]


@for_each("classes", [[], [None], ["a", float("nan")], [["a"]]])
def test_declared_labels_must_be_labels(classes):
    with pytest.raises(ValueError, match=r"^classes"):
        LabelIds(classes)


def test_lookup_learns_nothing():
    numbers = LabelIds()
    numbers.learn(sequences([["a"]]))
    with pytest.raises(ValueError, match="'b' is not among the classes"):
        numbers.lookup(sequences([["a", "b"]]))
    assert numbers.classes([0])[0].tolist() == ["a"]


def test_copies_and_pickles_are_separate():
    numbers = LabelIds()
    numbers.learn(sequences([["a", (1, 2)]]))
    for twin in (numbers.copy(), pickle.loads(pickle.dumps(numbers))):
        assert twin.lookup(sequences([[(1, 2), "a"]])).tolist() == (
            numbers.lookup(sequences([[(1, 2), "a"]])).tolist()
        )
        twin.learn(sequences([["new"]]))
        with pytest.raises(ValueError, match="'new'"):
            numbers.lookup(sequences([["new"]]))
