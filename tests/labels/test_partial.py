import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.layout import Lists, Ragged
from sklearn_crcrf.labels.encoding import encode_labels
from sklearn_crcrf.labels.partial import encode_allowed, encode_partial_labels

words = st.sampled_from(["a", "b", "c", "d"])
mixed = st.sampled_from(["a", 1, (1, "a"), 2.5, b"b", np.int64(7)])


def partial(labels):
    sets = st.sets(labels, min_size=1, max_size=3)
    return st.one_of(labels, st.none(), sets, sets.map(frozenset))


def nested(labels):
    return st.lists(st.lists(labels, max_size=5), max_size=5)


def sequences(y):
    return SequenceArray.from_sequences(y)


def options_of(label, classes):
    if label is None:
        return set(classes)
    return set(label) if isinstance(label, (set, frozenset)) else {label}


@given(st.one_of(nested(partial(words)), nested(partial(mixed))))
def test_options_of_every_token_are_those_that_were_given(y):
    flat = [label for sequence in y for label in sequence]
    named = set().union(*(options_of(label, []) for label in flat))
    if not named and flat:
        return
    classes, ids, allowed = encode_partial_labels(sequences(y))
    assert classes.tolist() == encode_labels(sequences([list(named)]))[0].tolist()
    is_partial = [label is None or isinstance(label, (set, frozenset)) for label in flat]
    assert (allowed is not None) == any(is_partial)
    assert ids.dtype == np.int32
    assert_array_equal(ids < 0, is_partial)
    assert [classes[i] for i in ids if i >= 0] == [
        label for label, hidden in zip(flat, is_partial, strict=True) if not hidden
    ]
    if allowed is not None:
        assert allowed.shape == (len(flat), len(classes)) and allowed.dtype == bool
        for label, row in zip(flat, allowed, strict=True):
            assert set(classes[row].tolist()) == options_of(label, classes.tolist())


@given(nested(st.one_of(words, mixed)))
def test_known_labels_are_encoded_as_ever(y):
    classes, ids, allowed = encode_partial_labels(sequences(y))
    wanted, wanted_ids = encode_labels(sequences(y))
    assert classes.tolist() == wanted.tolist() and classes.dtype == wanted.dtype
    assert_array_equal(ids, wanted_ids)
    assert allowed is None


@given(nested(partial(words)))
def test_given_classes_are_the_columns(y):
    classes, ids, allowed = encode_partial_labels(sequences(y), ["d", "x", "b", "a", "c"])
    assert classes.tolist() == ["a", "b", "c", "d", "x"]
    flat = [label for sequence in y for label in sequence]
    for t, label in enumerate(flat):
        options = options_of(label, classes)
        if allowed is None:
            assert classes[ids[t]] == label
        else:
            assert set(classes[allowed[t]].tolist()) == options


def test_numbers_stay_numbers():
    y = sequences([[2, None, {np.int64(5)}], [{1, 2}]])
    classes, ids, allowed = encode_partial_labels(y)
    assert classes.tolist() == [1, 2, 5] and classes.dtype == np.int64
    assert ids.tolist() == [1, -1, -1, -1]
    assert allowed.astype(int).tolist() == [[0, 1, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("dtype", ["U1", np.int8, bool])
def test_arrays_of_known_labels(dtype):
    y = SequenceArray(np.array([1, 0, 1]).astype(dtype), [0, 1, 3])
    classes, ids, allowed = encode_partial_labels(y)
    assert classes[ids].tolist() == y.data.tolist() and allowed is None


@for_each("wrong", [set(), frozenset(), float("nan"), {float("nan")}, {None, "a"}, ["a"], {"a": 1}])
@for_each("before", ["a", 1, None, {"a", "b"}])
@for_each("classes", [None, ["a", "b", 1]])
def test_what_is_no_option_is_found(wrong, before, classes):
    y = sequences([[before], [], [before, wrong, wrong]])
    with pytest.raises(ValueError, match=r"^y, sequence 2, position 1: it must be a label, hash"):
        encode_partial_labels(y, classes)


def test_nan_in_an_array_is_found():
    y = SequenceArray(np.array([1.0, 2.0, np.nan]), [0, 1, 3])
    with pytest.raises(ValueError, match=r"^gold, sequence 1, position 1: .*nan"):
        encode_partial_labels(y, name="gold")


@for_each("unknown", ["x", {"x"}, frozenset({"a", "x"})])
@for_each("before", ["a", None])
def test_label_that_is_not_among_the_classes_is_found(unknown, before):
    y = sequences([[before], [], [before, unknown]])
    message = r"^y, sequence 2, position 1: the label 'x' is not among the classes \['a', 'b'\]"
    with pytest.raises(ValueError, match=message):
        encode_partial_labels(y, ["b", "a"])


def test_unknown_labels_alone_have_no_classes():
    with pytest.raises(ValueError, match=r"^y: all labels are None"):
        encode_partial_labels(sequences([[None], [None]]))
    classes, ids, allowed = encode_partial_labels(sequences([[None], [None]]), ["a", "b"])
    assert classes.tolist() == ["a", "b"] and ids.tolist() == [-1, -1] and allowed.all()


def test_two_labels_per_token_are_refused():
    y = SequenceArray(np.zeros((3, 2)), [0, 3])
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        encode_partial_labels(y)
    with pytest.raises(ValueError, match=r"^allowed must .* shape \(3, 2\)"):
        Ragged(y.offsets).flat(y, "allowed")


@given(nested(partial(words)))
def test_allowed_labels(y):
    classes = np.array(["a", "b", "c", "d", "e"])
    labels = sequences(y)
    allowed = encode_allowed(labels, classes)
    assert allowed.shape == (len(labels.data), 5) and allowed.dtype == bool
    for label, row in zip(labels.data, allowed, strict=True):
        assert set(classes[row].tolist()) == options_of(label, classes.tolist())


def test_columns_of_allowed_labels_are_in_the_order_of_the_classes():
    allowed = encode_allowed(sequences([["b", {"a"}]]), np.array(["b", "a"]))
    assert allowed.tolist() == [[True, False], [False, True]]


@for_each(
    ("allowed", "message"),
    [
        ([["a"]], "^X has 2 sequences, but allowed has 1"),
        ([["a", None], [None]], "^sequence 1 has 2 tokens in X, but 1 in allowed"),
        ([["a", None], [None, "x"]], "^allowed, sequence 1, position 1: the label 'x' is not"),
        ([["a", None], [set(), "x"]], "^allowed, sequence 1, position 0: it must be a label"),
        ([["a", None], {"a", "b"}], "^allowed, sequence 1: it must be a list"),
    ],
)
def test_what_cannot_be_allowed(allowed, message):
    with pytest.raises(ValueError, match=message):
        encode_allowed(Lists(np.array([0, 2, 4])).flat(allowed, "allowed"), np.array(["a", "b"]))
