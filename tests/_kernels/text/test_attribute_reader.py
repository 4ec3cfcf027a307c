"""The attributes of tokens, as the vectorizer reads them."""

from collections import Counter, OrderedDict
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from cases import for_each
from sklearn_crcrf._kernels.text.strings import FrozenStrings, frozen_arrays
from sklearn_crcrf._kernels.text.tokens import AttributeReader

from sklearn_crcrf.feature_extraction import SequenceVectorizer

TOKENS = [
    "the",
    "",
    {},
    {"w": "the", "n": 2, "x": 0.5, "big": 2**40, "yes": True, "no": False},
    {"w": "日本", "日": "x", "é": "日", "\ud800": "\U0001d400", "a\0b": ""},
    {"nested": {"w": "a", "more": {"w": "b", "l": ["x", "y"]}}, "s": {"x", "y"}, "t": ("z",)},
    {"f": Fraction(1, 4), "np": np.float32(0.25), "b": np.bool_(True), "i": np.int8(3)},
    {"a": {"b": 1.0}, "a:b": 2.0},
    OrderedDict(w="the"),
    MappingProxyType({"w": "the"}),
    {"long": "x" * 5000, "the": 1},
    np.str_("the"),
]


def reader(strings, separator="=", lists=False, is_single=False):
    return AttributeReader(FrozenStrings(*frozen_arrays(strings)), separator, lists, is_single)


def test_it_reads_as_the_vectorizer():
    vectorizer = SequenceVectorizer()
    rows = vectorizer.fit_transform([TOKENS]).data
    found = reader(vectorizer.vocabulary_.symbols).attributes(TOKENS)
    for attributes, row in zip(found, rows, strict=True):
        summed = Counter()
        for number, value in attributes:
            summed[number] += value
        known = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        assert dict(summed) == {number: value for number, value in known if value != 0}


def test_false_is_left_out():
    assert reader(["a"]).attributes([{"a": False, "b": {"a": False}}]) == [[]]


@for_each("leaf", [{}, {"a": False}, {"a": "b"}])
def test_dicts_that_hold_the_next_one_twice(leaf):
    for _ in range(50):
        leaf = {"a": leaf, "b": leaf}
    with pytest.raises(ValueError, match=r"position 1: the feature dict has more than 1,048,576"):
        reader(["a"]).attributes([{"a": "b"}, leaf])


def test_unknown_attributes():
    assert reader(["a"]).attributes([{"a": 1, "b": 2}, "c", "a"]) == [
        [(0, 1.0), (-1, 2.0)],
        [(-1, 1.0)],
        [(0, 1.0)],
    ]


def test_another_separator_and_lists():
    found = reader(["w:the", "x"], ":", lists=True).attributes([{"w": "the"}, ["x", "x"], ["y"]])
    assert found == [[(0, 1.0)], [(1, 1.0), (1, 1.0)], [(-1, 1.0)]]


@pytest.mark.parametrize("tokens", ["the", b"the", {"the": 1}])
def test_no_list_of_tokens(tokens):
    with pytest.raises(TypeError, match="tokens must be a list of the tokens of one sequence"):
        reader(["a"]).attributes(tokens)


@for_each(
    ("token", "message"),
    [
        (None, "the token must be a str or a dict, but is None, of type NoneType"),
        (1, "the token must be a str or a dict"),
        (["a"], "the token must be a str or a dict"),
        ({1: "a"}, "a key of a feature dict must be a str, but is 1"),
        ({"a": {1: "a"}}, "a key of a feature dict must be a str"),
        ({"a": None}, "the value of 'a' must be a str, finite number, dict or list, but is None"),
        ({"a": 1j}, "the value of 'a' must be"),
        ({"a": ["b", 1]}, "the members of 'a' must be str, but is 1"),
        ({"a": np.zeros(3)}, "the value of 'a' must be"),
    ],
)
def test_what_is_no_attribute(token, message):
    with pytest.raises(TypeError, match=f"^tokens, position 1: {message}"):
        reader(["a"]).attributes(["a", token])


@for_each("value", [np.inf, float("nan"), 10**400, -np.inf])
def test_numbers_that_are_not_finite(value):
    with pytest.raises(ValueError, match=r"^tokens, position 0: the value of 'a' must be"):
        reader(["a"]).attributes([{"a": value}])


def test_numbers_too_large_for_single_precision():
    with pytest.raises(ValueError, match=r"^tokens, position 0: 1e\+39 is too large for float32"):
        reader(["a"], is_single=True).attributes([{"a": 1e39}])
    assert reader(["a"]).attributes([{"a": 1e39}]) == [[(0, 1e39)]]


def test_a_dict_that_changes_while_it_is_read():
    class Number(Fraction):
        def __float__(self):
            token.clear()
            token.update({f"new {i}": "x" for i in range(1000)})
            return 0.5

    token = {"a": Number(1), **{f"k{i}": "v" for i in range(100)}}
    found = reader(["a"]).attributes([token])
    assert found[0][0] == (0, 0.5)


def test_a_list_that_changes_while_it_is_read():
    class Number(Fraction):
        def __float__(self):
            tokens.clear()
            return 0.5

    tokens = [{"a": Number(1)}, "a", "a"]
    assert reader(["a"]).attributes(tokens) == [[(0, 0.5)], [(0, 1.0)], [(0, 1.0)]]


def test_a_very_long_string():
    long = "日" * 10**6
    assert reader([long, "k=" + long]).attributes([long, {"k": long}, long[:-1]]) == [
        [(0, 1.0)],
        [(1, 1.0)],
        [(-1, 1.0)],
    ]
