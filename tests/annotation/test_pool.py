"""Text split into tokens."""

import pytest

from sklearn_crcrf.annotation import Pool
from sklearn_crcrf.annotation.pool import split_words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Ann sings.", ["Ann", "sings", "."]),
        ("don't, 3.5 %", ["don't", ",", "3.5", "%"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("cafe\u0301 🙂!", ["cafe\u0301", "🙂", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        (" \t ", []),
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
