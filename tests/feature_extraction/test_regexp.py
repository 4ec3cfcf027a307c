"""The regular expressions of Wapiti, against Python's."""

import re
import string
import time

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.feature_extraction._regexp import RegexpError, find, parse_regexp

CLASSES = {
    "a": "A-Za-z",
    "d": "0-9",
    "l": "a-z",
    "p": r"!-/:-@\[-`{-~",
    "s": r" \t\n\v\f\r",
    "u": "A-Z",
    "w": "A-Za-z0-9",
}
PYTHON = {".": "(?s:.)"}
PYTHON |= {f"\\{name}": f"[{inner}]" for name, inner in CLASSES.items()}
PYTHON |= {f"\\{name.upper()}": f"[^{inner}]" for name, inner in CLASSES.items()}

characters = st.sampled_from([*PYTHON, "a", "B", "1", "-", "^", "$", "\\.", "\\*", "\\\\", "\\$"])
items = st.lists(st.tuples(characters, st.sampled_from(["", "", "?", "*"])), max_size=6)
strings = st.lists(st.text("aB1-^$.*\\ \0", max_size=7), max_size=5)


def as_python(items, at_start, at_end):
    parts = []
    for i, (character, times) in enumerate(items):
        if character in PYTHON:
            part = PYTHON[character]
        elif character == "^" and i == 0 and not at_start:
            return None  # it would be taken for the start
        elif character == "$" and i == len(items) - 1 and not at_end and not times:
            return None
        else:
            part = re.escape(character.removeprefix("\\") or "\\")
        parts.append(part + ("*?" if times == "*" else times))
    return ("\\A" if at_start else "") + "".join(parts) + ("\\Z" if at_end else "")


def matched(expression, strings):
    start, stop = find(parse_regexp(expression), strings)
    return [None if a < 0 else s[a:b] for s, a, b in zip(strings, start, stop, strict=True)]


@given(items, st.booleans(), st.booleans(), strings)
def test_finds_what_python_finds(items, at_start, at_end, strings):
    pattern = as_python(items, at_start, at_end)
    if pattern is None:
        return
    expression = "^" * at_start + "".join(c + t for c, t in items) + "$" * at_end
    expected = [re.search(pattern, s) for s in strings]
    start, stop = find(parse_regexp(expression), strings)
    found = [None if a < 0 else (a, b) for a, b in zip(start, stop, strict=True)]
    assert found == [m and m.span() for m in expected]


@for_each("name", "adlpsuw")
def test_classes_are_those_of_c(name):
    ascii_only = [chr(i) for i in range(128) if not 28 <= i < 32]  # spaces for Python
    expected = [c if re.fullmatch(PYTHON["\\" + name], c) else None for c in ascii_only]
    assert matched("\\" + name, ascii_only) == expected
    others = [None if e else c for c, e in zip(ascii_only, expected, strict=True)]
    assert matched("\\" + name.upper(), ascii_only) == others
    assert set(string.punctuation) == {
        c for c, m in zip(ascii_only, matched("\\p", ascii_only), strict=True) if m
    }


def test_characters_are_those_of_unicode():
    assert matched("^\\u\\l\\l*", ["École", "中", "éa", "😀"]) == ["Éc", None, None, None]
    assert matched("\\p", ["«x", "x"]) == ["«", None]
    assert matched("^.?.?", ["😀中é", ""]) == ["😀中", ""]
    assert matched(".", ["\ud800"]) == ["\ud800"]


def test_prefixes_and_suffixes_of_the_examples_of_wapiti():
    words = ["running", "ab", ""]
    assert matched("^.?.?.?.?", words) == ["runn", "ab", ""]
    assert matched(".?.?.?$", words) == ["ing", "ab", ""]
    assert matched("^\\u*$", ["USA", "Usa", ""]) == ["USA", None, ""]
    assert matched("\\d*", ["a12"]) == [""]  # as few as possible
    assert matched("-.*$", ["a-b-c"]) == ["-b-c"]


def test_ends_count_only_at_the_ends():
    assert matched("a^$b", ["xa^$b"]) == ["a^$b"]
    assert matched("$*b", ["$$b"]) == ["$$b"]
    assert matched("", ["a"]) == [""]
    assert matched("^$", ["a", ""]) == [None, ""]


def test_no_strings():
    start, stop = find(parse_regexp("a"), [])
    assert len(start) == len(stop) == 0


@for_each(
    ("expression", "at"), [("*", 0), ("^?", 1), ("a**", 2), ("ab?*", 3), ("a\\", 1), ("\\*?a?*", 5)]
)
def test_errors_are_located(expression, at):
    with pytest.raises(RegexpError) as raised:
        parse_regexp(expression)
    assert raised.value.at == at


@pytest.mark.parametrize(
    "expression", ["a?" * 200 + "a" * 200, "a*" * 200 + "b", ".*" * 200 + "$b"]
)
def test_hostile_expressions_take_linear_time(expression):
    regexp, long = parse_regexp(expression), ["a" * 5000, "a" * 5000 + "c"]
    begin = time.process_time()
    start, _ = find(regexp, long)
    assert time.process_time() - begin < 10
    assert np.array_equal(start >= 0, [expression.startswith("a?")] * 2)
