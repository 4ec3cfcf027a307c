"""Constraints on the labels of samples: what breaks them, their inequalities, and their errors."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from global_constraints import constraints, is_satisfied
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.layout import Lists, Ragged, Rows
from sklearn_crcrf.labels import AtLeast, AtMost, Exactly, Implies, Linear, SameLabel
from sklearn_crcrf.labels.constraints.global_constraint import Groups, Samples, group_ids

CLASSES = np.array(["A", "B", "C"])


def samples_of(lengths, links=None):
    return Samples(Lists(np.append(0, np.cumsum(lengths)).astype(int)), links, CLASSES)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_what_breaks_a_constraint(lengths, data):
    constraint = data.draw(constraints(lengths))
    bound = constraint.bind(samples_of(lengths), "subject_to[0]")
    n_tokens = sum(lengths)
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_tokens, max_size=n_tokens)), int)
    expected = [
        not is_satisfied(constraint, i, CLASSES[y[start:stop]].tolist())
        for i, (start, stop) in enumerate(pairwise(bound.offsets))
    ]
    assert bound.broken_samples(y).tolist() == np.flatnonzero(expected).tolist()
    # Parts of the samples are broken as in the whole.
    first = data.draw(st.integers(0, len(lengths)))
    last = data.draw(st.integers(first, len(lengths)))
    start, stop = bound.offsets[[first, last]]
    part = bound.take(first, last).broken_samples(y[start:stop])
    assert part.tolist() == np.flatnonzero(expected[first:last]).tolist()


def satisfies(inequalities, z):
    """Whether any values of the added variables satisfy the inequalities."""
    rest = inequalities.upper - inequalities.of_labels @ z
    if inequalities.of_added.shape[1] == 0:
        return (rest >= -1e-9).all()
    costs = np.zeros(inequalities.of_added.shape[1])
    return linprog(costs, inequalities.of_added, rest, bounds=(0, 1)).status == 0


@given(st.lists(st.integers(0, 3), min_size=1, max_size=2), st.data())
def test_inequalities_are_satisfied_by_what_breaks_no_constraint(lengths, data):
    constraint = data.draw(constraints(lengths))
    bound = constraint.bind(samples_of(lengths), "subject_to[0]")
    inequalities, n_tokens = bound.inequalities(), sum(lengths)
    for _ in range(4):
        y = np.array(
            data.draw(st.lists(st.integers(0, 2), min_size=n_tokens, max_size=n_tokens)), int
        )
        z = np.eye(3)[y].ravel()
        assert satisfies(inequalities, z) == (len(bound.broken_samples(y)) == 0)


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_penalties_are_not_below_zero_for_what_satisfies(lengths, data):
    constraint = data.draw(constraints(lengths))
    bound = constraint.bind(samples_of(lengths), "subject_to[0]")
    inequalities, n_tokens = bound.inequalities(), sum(lengths)
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_tokens, max_size=n_tokens)), int)
    multipliers = np.random.default_rng(n_tokens).random(len(inequalities.upper))
    penalty, constant = inequalities.penalties(multipliers)
    if len(bound.broken_samples(y)) == 0:
        assert constant - penalty @ np.eye(3)[y].ravel() >= -1e-9


def test_children_of_each_parent():
    # The first sample: 0 is the parent of 1 and 2, and 2 of 3; the second sample: 5 of 4.
    parent, child = np.array([0, 0, 2, 5]), np.array([1, 2, 3, 4])
    samples = samples_of([4, 2], (parent, child))
    bound = AtMost("A", 1, per="parent").bind(samples, "subject_to[0]")
    for y, broken in (("BAABBB", [0]), ("ABAAAB", []), ("AABABB", []), ("BAAAAA", [0])):
        assert (
            bound.broken_samples(np.array(["ABC".index(label) for label in y])).tolist() == broken
        )
    at_least = AtLeast("A", 1, per="parent").bind(samples, "subject_to[0]")
    assert at_least.broken_samples(np.zeros(6, dtype=int)).tolist() == []
    assert at_least.broken_samples(np.array([0, 0, 1, 1, 0, 1])).tolist() == [0]


def test_there_are_no_parents_in_sequences():
    with pytest.raises(ValueError, match=r'^subject_to\[2\].per="parent" needs tokens that have'):
        AtMost("A", 1, per="parent").bind(samples_of([2]), "subject_to[2]")


def test_names_of_groups_in_every_layout():
    offsets = np.array([0, 2, 3])
    expected = [0, -1, 0]
    assert group_ids([["x", None], ["x"]], Lists(offsets), "per").tolist() == expected
    ragged = SequenceArray(np.array([5, -1, 5]), offsets)
    assert group_ids(ragged, Ragged(offsets), "per").tolist() == expected
    rows = Rows(offsets, np.array([1, 2, 0]))
    for names in ([1.5, 1.5, np.nan], pd.Series([("a", 1), ("a", 1), None])):
        assert group_ids(names, rows, "per").tolist() == expected
    groups = Groups.of(np.array([0, 2]), np.array([0, 0]), offsets)
    assert groups.sample.tolist() == [0, 1]


@for_each(
    ("per", "message"),
    [
        ([["x"]], r"^X has 2 sequences, but subject_to\[0\].per has 1"),
        ([["x"], ["x"]], r"^sequence 0 has 2 tokens in X, but 1 in subject_to\[0\].per"),
        (3, r"^subject_to\[0\].per must be a list of sequences"),
        ([["x", []], ["x"]], r"^subject_to\[0\].per, sequence 0, position 1: the name of a group"),
    ],
)
def test_groups_that_do_not_fit(per, message):
    with pytest.raises(ValueError, match=message):
        AtMost("A", 1, per=per).bind(samples_of([2, 1]), "subject_to[0]")


@for_each("labels", ["A", ["A"], np.array("A"), np.array(["A"]), {"A"}])
def test_labels_are_one_or_many(labels):
    assert AtMost(labels, 1).labels == ["A"]


@for_each(
    ("make", "message"),
    [
        (lambda: AtMost("A", -1), "^k must be an integer of 0 or more, got -1"),
        (lambda: AtMost("A", True), "^k must be an integer"),
        (lambda: Exactly("A", 1.0), "^k must be an integer"),
        (lambda: AtLeast([], 1), "^labels must not be empty"),
        (lambda: AtLeast("A", 1, per="head"), '^per must be "sample", "parent" or names'),
        (lambda: Implies("A", []), "^then_any must not be empty"),
        (lambda: Linear({}), "^coefficients must be a mapping from labels to numbers, and not em"),
        (lambda: Linear(["A"], 0), "^coefficients must be a mapping"),
        (lambda: Linear({"A": 1}), "^lower and upper must be numbers"),
        (lambda: Linear({"A": 1}, 2, 1), "lower <= upper"),
        (lambda: Linear({"A": 1}, np.nan, 1), "^lower and upper must be numbers"),
        (lambda: Linear({"A": 1}, "1"), "^lower and upper must be numbers"),
        (lambda: SameLabel("word"), '^groups must be "sample", "parent" or names'),
        (lambda: SameLabel("sample", of="BIO"), "^of must be one of IOB1, IOB2, IOBES"),
        (lambda: SameLabel("sample", of=["A"]), "^of must be a mapping or a function"),
    ],
)
def test_what_is_no_constraint(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@for_each(
    ("constraint", "message"),
    [
        (AtMost(["A", "X"], 1), r"^subject_to\[0\]: the label 'X' is not among the classes"),
        (Implies("A", {"X"}), "the label 'X' is not among the classes"),
        (Linear({"X": 1}, 0), "the label 'X' is not among the classes"),
        (Linear({("A",): 1}, 0), r"the label \('A',\) is not among the classes"),
        (SameLabel("sample", of={"X": 1}), r"^subject_to\[0\].of: the label 'X' is not among"),
        (SameLabel("sample", of="IOB2"), "label 'A' does not fit the scheme IOB2"),
        (Linear({"A": np.inf}, 0), r"^subject_to\[0\].coefficients\['A'\] must be finite"),
        (Linear({"A": [[1, np.nan]]}, 0), r"sequence 0, position 1: it must be finite, but is nan"),
        (Linear({"A": [["a", "b"]]}, 0), r"coefficients\['A'\] must hold numbers"),
        (Linear({"A": [[1]]}, 0), "sequence 0 has 2 tokens in X, but 1 in"),
    ],
)
def test_constraints_that_do_not_fit(constraint, message):
    with pytest.raises(ValueError, match=message):
        constraint.bind(samples_of([2]), "subject_to[0]")


def test_sums_of_rounded_numbers():
    bound = Linear({"A": 0.1, "B": 0.2}, upper=0.3).bind(samples_of([2]), "subject_to[0]")
    assert len(bound.broken_samples(np.array([0, 1]))) == 0
    assert bound.broken_samples(np.array([1, 1])).tolist() == [0]


def test_kinds_of_a_scheme():
    classes = np.array(["B-LOC", "B-PER", "I-PER", "O"])
    samples = Samples(Lists(np.array([0, 2])), None, classes)
    bound = SameLabel("sample", of="IOB2").bind(samples, "subject_to[0]")
    broken = [bool(len(bound.broken_samples(np.array(y)))) for y in ([0, 1], [1, 2], [0, 3])]
    assert broken == [True, False, False]


def test_no_label_has_a_kind():
    bound = SameLabel("sample", of={}).bind(samples_of([2]), "subject_to[0]")
    assert len(bound.broken_samples(np.array([0, 1]))) == 0
    assert satisfies(bound.inequalities(), np.eye(3)[[0, 1]].ravel())


@for_each(
    ("constraint", "text"),
    [
        (AtMost("A", 1), "AtMost(['A'], 1)"),
        (Exactly(np.array([1, 2]), 1, per="parent"), "Exactly([1, 2], 1, per='parent')"),
        (AtLeast(("A", "B"), 2, per=[[1]]), "AtLeast(['A', 'B'], 2, per=...)"),
        (Implies("A", "B", per="parent"), "Implies(['A'], ['B'], per='parent')"),
        (SameLabel([[1]]), "SameLabel(...)"),
        (SameLabel("sample", of="IOB2"), "SameLabel('sample', of='IOB2')"),
        (Linear({"A": 1, "B": [[1]]}, upper=2), "Linear({'A': 1, 'B': ...}, -inf, 2.0)"),
    ],
)
def test_text(constraint, text):
    assert repr(constraint) == text


def test_labels_that_are_too_deep_to_be_hashed_are_refused():
    endless = reduce(lambda inner, _: (inner,), range(200_000), "N")
    for make in (lambda: AtMost([endless], 1), lambda: Implies("N", [endless])):
        with pytest.raises(ValueError, match="is not hashable"):
            make()
