import itertools

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from label_schemes import LETTERS, labels_of
from numpy.testing import assert_array_equal

from sklearn_crcrf.labels import Constraints, as_constraints, convert_scheme, segment_constraints
from sklearn_crcrf.structures import Chain

schemes = st.sampled_from(sorted(LETTERS))


def all_classes(scheme):
    return np.array(labels_of(scheme))


def is_allowed(constraints, y):
    """One path, one transition after another."""
    if len(y) == 0:
        return True
    steps = (constraints.transition[i, j] for i, j in itertools.pairwise(y))
    return bool(constraints.begin[y[0]] and constraints.end[y[-1]] and all(steps))


@st.composite
def random_constraints(draw):
    """Constraints at random, labels of a few sequences, and their offsets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(0, 4), max_size=5))
    share = draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    constraints = Constraints(*(rng.random(shape) < share for shape in ((n, n), n, n)))
    return (
        constraints,
        rng.integers(0, n, sum(lengths)),
        np.append(0, np.cumsum(lengths, dtype=np.int64)),
    )


@for_each("scheme", sorted(LETTERS))
@for_each("length", [1, 2, 3])
def test_allowed_labels_are_those_that_a_strict_reader_writes_again(scheme, length):
    classes = all_classes(scheme)
    constraints = segment_constraints(classes, scheme)
    for y in itertools.product(range(len(classes)), repeat=length):
        labels = [classes[list(y)].tolist()]
        is_proper = convert_scheme(labels, scheme, scheme, reading="strict") == labels
        assert is_allowed(constraints, y) == is_proper, labels


def test_order_of_classes_and_missing_ones_change_nothing():
    full = all_classes("IOBES")
    which = np.array([4, 0, 2, 1])
    some = segment_constraints(full[which], "IOBES")
    every = segment_constraints(full, "IOBES")
    assert_array_equal(some.transition, every.transition[np.ix_(which, which)])
    assert_array_equal(some.begin, every.begin[which])
    assert_array_equal(some.end, every.end[which])


def test_labels_without_a_type_have_one_of_their_own():
    allowed = segment_constraints(["B", "I", "I-X"], "IOB2").transition
    assert allowed[:, 1].tolist() == [True, True, False]
    assert allowed[:, 2].tolist() == [False, False, True]


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2"])
def test_label_that_fits_no_scheme(scheme):
    with pytest.raises(ValueError, match=f"^classes: label 'E-X' does not fit the scheme {scheme}"):
        segment_constraints(["O", "E-X"], scheme)
    with pytest.raises(ValueError, match="label 3 does not fit"):
        segment_constraints([3], scheme)


@given(random_constraints())
def test_scores_of_what_is_allowed_are_zero(case):
    constraints, _, _ = case
    for allowed, scores in zip(constraints, constraints.scores(), strict=True):
        assert scores.shape == allowed.shape and scores.dtype == np.float64
        assert_array_equal(scores == 0, allowed)
        assert np.isneginf(scores[~allowed]).all()


@given(random_constraints())
def test_violations_are_the_tokens_that_no_allowed_path_has(case):
    constraints, y, offsets = case
    expected = []
    for a, b in itertools.pairwise(offsets):
        path = y[a:b]
        for t in range(b - a):
            begins = t == 0 and not constraints.begin[path[t]]
            follows = t > 0 and not constraints.transition[path[t - 1], path[t]]
            ends = t == b - a - 1 and not constraints.end[path[t]]
            if begins or follows or ends:
                expected.append(a + t)
    assert constraints.violations(y, *Chain(offsets).links()).tolist() == expected
    paths = (y[a:b] for a, b in itertools.pairwise(offsets))
    assert (not expected) == all(is_allowed(constraints, path) for path in paths)


def test_everything_is_allowed_next_to_an_unknown_label():
    nothing = Constraints(*(np.zeros(shape, dtype=bool) for shape in ((2, 2), 2, 2)))
    links = Chain(np.array([0, 3, 3, 5])).links()
    assert nothing.violations(np.array([-1, 1, -1, -1, 0]), *links).tolist() == [4]
    links = Chain(np.array([0, 3])).links()
    assert nothing.violations(np.array([-1, 1, -1]), *links).tolist() == []


def test_no_constraints():
    assert as_constraints(None, np.array(["a"])) is None


@given(schemes)
def test_constraints_by_name_of_the_scheme(scheme):
    classes = all_classes(scheme)
    wanted = segment_constraints(classes, scheme)
    for given_as in (scheme, wanted):
        for a, b in zip(as_constraints(given_as, classes), wanted, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("classes", [np.array(["a", "b", "c"]), np.array([1, 5, 7])])
def test_constraints_by_followers(classes):
    a, b, c = classes.tolist()
    constraints = as_constraints({b: {a, c}, c: []}, classes)
    assert constraints.transition.astype(int).tolist() == [[1, 1, 1], [1, 0, 1], [0, 0, 0]]
    assert constraints.begin.all() and constraints.end.all()


@given(random_constraints())
def test_constraints_by_array(case):
    transition = case[0].transition
    for given_as in (transition, transition.tolist()):
        constraints = as_constraints(given_as, np.arange(len(transition)))
        assert_array_equal(constraints.transition, transition)
        assert constraints.begin.all() and constraints.end.all()


@for_each(
    ("wrong", "message"),
    [
        ("BIO", "^constraints must be one of IOB1, IOB2, .*, IO, got 'BIO'"),
        ({"a": ["c"]}, r"^constraints: the label 'c' is not among the classes \['a', 'b'\]"),
        ({"c": ["a"]}, "^constraints: the label 'c' is not among"),
        ({"a": "ab"}, "^constraints: the followers of 'a' must be a collection of labels"),
        ({"a": 3}, "^constraints: the followers of 'a' must be a collection"),
        ({"a": [{}]}, "^constraints: the label {} is not among the classes"),
        (np.ones((2, 3), dtype=bool), r"^constraints must be a bool array of shape \(2, 2\)"),
        (np.ones((2, 2)), "^constraints must be a bool array .* of type float64"),
        (3, "^constraints must be a bool array"),
        (Constraints([[True] * 2] * 2, [True], [True] * 2), r"^constraints.begin .* \(1,\)"),
    ],
)
def test_what_are_no_constraints(wrong, message):
    with pytest.raises(ValueError, match=message):
        as_constraints(wrong, np.array(["a", "b"]))


def test_scheme_that_the_classes_do_not_fit():
    with pytest.raises(ValueError, match="label 'a' does not fit the scheme IOB2"):
        as_constraints("IOB2", np.array(["a", "b"]))
