"""Text split into tokens."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.apps.annotation import Pool
from sklearn_crcrf.apps.annotation.pool import BLANKS, split_words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Ann sings.", ["Ann", "sings", "."]),
        ("don't, 3.5 %", ["don't", ",", "3.5", "%"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("cafe\u0301 🙂!", ["cafe\u0301", "🙂", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        (" \t ", []),
        ("נמ\u200cשמ", ["נמ\u200cשמ"]),
        ("Donau\u00addampf 8\u00ad", ["Donau\u00addampf", "8\u00ad"]),
        ("I \u2764\ufe0f it", ["I", "\u2764\ufe0f", "it"]),
        ("👨\u200d👩\u200d👧👍\U0001f3fd!", ["👨\u200d👩\u200d👧", "👍\U0001f3fd", "!"]),
        ("🇩🇪🇫🇷 🇩", ["🇩🇪", "🇫🇷", "🇩"]),
        ("\ufeffHello \u200e(\u200fa)", ["\ufeffHello", "\u200e(\u200f", "a", ")"]),
        ("a \u200d \u0301 \u00ad", ["a"]),
        ("คน\u200bดี", ["คน", "ดี"]),
        ("1\ufe0f\u20e3 e\u0301-e\u0301", ["1\ufe0f\u20e3", "e\u0301-e\u0301"]),
        ("a\ue000 \ue001", ["a", "\ue000", "\ue001"]),
        ("a\0b \x01 \u3164 c\n", ["a", "b", "c"]),
    ],
)
def test_words(text, tokens):
    assert split_words(text) == tokens


def test_characters_keep_the_marks_that_combine_with_them():
    pool = Pool.of_lines(["e\u0301 👩\u200d💻猫"], characters=True)
    assert pool.sentences == [["e\u0301", "👩\u200d💻", "猫"]]
    assert pool.search("👩\u200d💻猫") == [0]


def test_search_ignores_case_and_stops_at_the_limit():
    pool = Pool.of_lines(["The dog", "a Dog", "cats"])
    assert pool.search("DOG") == [0, 1]
    assert pool.search("dog", limit=1) == [0]
    assert pool.search("dog", among=range(1, 2)) == [1]


@given(st.text(max_size=30))
def test_tokens_are_parts_of_the_text_that_can_be_seen(text):
    for characters in (False, True):
        tokens = [
            token for tokens in Pool.of_lines([text], characters).sentences for token in tokens
        ]
        rest = text
        for token in tokens:
            _, found, rest = rest.partition(token)
            assert found and not found.isspace()
            assert not {unicodedata.category(c) for c in found} <= {"Cc", "Cf", "Mn", "Me", "Mc"}
        seen = [c for c in text if unicodedata.category(c)[0] in "LNPS" and c not in BLANKS]
        assert [c for token in tokens for c in token if c in seen] == seen
