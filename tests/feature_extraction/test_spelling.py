import re
import unicodedata

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.feature_extraction.spelling import (
    DEFAULT_FEATURES,
    SIMPLE_FEATURES,
    spelling_table,
)

words = st.lists(
    st.text(st.characters(), max_size=12) | st.text("aB1-.Éß\u0301中", max_size=14), max_size=8
)


def column(words, feature):
    table = spelling_table(words, [feature])
    assert table.names == (feature,)
    assert len(set(table.categories[0])) == len(table.categories[0])
    return table.column(feature).tolist()


def character_class(c):
    if c.isupper() or c.istitle():
        return "X"
    if c.islower():
        return "x"
    if c.isalpha():
        return "c"
    if c.isdigit():
        return "d"
    return "" if unicodedata.category(c).startswith("M") else c


def collapsed(word):
    # The classes are first moved to letters that no word of these tests contains.
    classes = [character_class(c) for c in word]
    kept = [c for i, c in enumerate(classes) if c not in "Xxcd" or c != "".join(classes[:i])[-1:]]
    return "".join(kept)


@given(words)
def test_against_one_word_at_a_time(words):
    reference = {
        "lower": str.lower,
        "long_shape": lambda w: "".join(map(character_class, w))[:12],
        "shape": lambda w: collapsed(w)[:8],
        "prefix2": lambda w: w[:2],
        "suffix3": lambda w: w.lower()[-3:] if len(w.lower()) >= 3 else "^" + w.lower(),
        "simple:hyphen": lambda w: str("-" in w),
        "simple:capital_or_digit": lambda w: str(w[:1].isupper() or w[:1].isdigit()),
        "simple:-ing": lambda w: str(w.endswith("ing")),
    }
    table = spelling_table(words, list(reference))
    for name, function in reference.items():
        assert table.column(name).tolist() == [function(w) for w in words], name


@for_each(
    ("feature", "expected"),
    [
        ("lower", ["mcdonald's", "e-mail-liste", "1984", "", "ärzte", "日本語", "-x-"]),
        ("shape", ["XxXx'x", "X-Xx-x", "d", "", "Xx", "c", "-x-"]),
        ("long_shape", ["XxXxxxxx'x", "X-Xxxx-xxxxx", "dddd", "", "Xxxxx", "ccc", "-x-"]),
        ("prefix3", ["McD", "E-M", "198", "", "Ärz", "日本語", "-x-"]),
        ("suffix4", ["ld's", "iste", "1984", "^", "rzte", "^日本語", "^-x-"]),
        (
            "capitalisation",
            ["initial", "initial+hyphen", "digit", "none", "initial", "none", "hyphen"],
        ),
        ("hyphen_part", ["", "liste", "", "", "", "", ""]),
    ],
)
def test_examples(feature, expected):
    words = ["McDonald's", "E-Mail-liste", "1984", "", "Ärzte", "日本語", "-x-"]
    assert column(words, feature) == expected


def test_shape_is_cut_after_collapsing():
    assert column(["a.b.c.d.e.f", "A" * 50 + "b"], "shape") == ["x.x.x.x.", "Xx"]


def test_combining_marks_do_not_break_a_run():
    decomposed = unicodedata.normalize("NFD", "élève")
    assert column([decomposed, "हिन्दी"], "shape") == ["x", "c"]


def test_simple_joins_its_binary_features():
    words = ["Being", "cities", "e-biology", "7-ed", "nation", "the"]
    assert column(words, "simple") == [
        "capital_or_digit+-ing",
        "-s+-ies",
        "hyphen+-ogy",
        "capital_or_digit+hyphen+-ed",
        "-ion+-tion",
        "none",
    ]
    table = spelling_table(words, SIMPLE_FEATURES)
    assert table.shape == (6, 11)
    for i, word in enumerate(column(words, "simple")):
        held = [n.removeprefix("simple:") for n in table.names if table.column(n)[i] == "True"]
        assert "+".join(held or ["none"]) == word


def test_a_suffix_determines_the_shorter_ones():
    words = ["ed", "xed", "walked", "d", ""]
    for k in range(1, 5):
        longer, shorter = column(words, f"suffix{k + 1}"), column(words, f"suffix{k}")
        assert [s[-k:] for s in longer] == shorter


def test_defaults_and_no_words():
    assert spelling_table(["a"]).names == DEFAULT_FEATURES
    empty = spelling_table([], [*DEFAULT_FEATURES, *SIMPLE_FEATURES, "long_shape", "simple"])
    assert empty.shape == (0, 25)
    assert spelling_table(["a", "b"], []).shape == (2, 0)
    assert empty.codes.dtype == np.int32


@for_each("name", ["suffix", "suffix0", "prefix-1", "stem", "simple:-x", 3])
def test_unknown_feature(name):
    with pytest.raises(ValueError, match=re.escape(f"no spelling feature {name!r}")):
        spelling_table(["a"], [name])
