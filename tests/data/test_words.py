"""Which column holds the words."""

from itertools import permutations
from zlib import crc32

import numpy as np
import pytest

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import symbolize
from sklearn_crcrf.data.words import find_words, words_of
from sklearn_crcrf.datasets import make_addresses

WORDS, LABELS = make_addresses(60, random_state=0)


def found(columns, sequences=WORDS):
    """The column of words, and its rivals, of columns in any order."""
    results = set()
    for order in [*permutations(columns)][:24]:
        X = [
            [{k: v for k in order if (v := columns[k](s, t)) is not None} for t in range(len(s))]
            for s in sequences
        ]
        words = find_words(SequenceArray(symbolize(flat := flattened(X)), flat.offsets))
        assert words_of(flat) == words.name
        results.add((words.name, *sorted(words.rivals)))
    assert len(results) == 1, "the order of the keys decides"
    name, *rivals = results.pop()
    return name, rivals


def flattened(X):
    return SequenceArray.from_sequences(X)


def word(s, t):
    return s[t]


@pytest.mark.parametrize(
    "other",
    [
        lambda s, t: 1.0,
        lambda s, t: "same",
        lambda s, t: t,
        lambda s, t: f"{t + 1}.",
        lambda s, t: f"w{t}",
        lambda s, t: s[t].isupper(),
        lambda s, t: 0.37 * crc32(s[t].encode()),
        lambda s, t: " ".join(s),
        lambda s, t: f"doc-{WORDS.index(s)}",
        lambda s, t: f"{crc32(repr((t, s)).encode()):08x}",
        lambda s, t: "Aa" if s[t].istitle() else "a",
        lambda s, t: s[t].lower(),
        lambda s, t: s[t - 1] if t else None,
        lambda s, t: s[t - 1] if t else "<s>",
        lambda s, t: s[t + 1] if t + 1 < len(s) else "</s>",
    ],
    ids=[
        *["bias", "constant", "position", "item", "code", "bool", "number", "text", "document"],
        *["hash", "shape", "lower", "previous", "marked", "next"],
    ],
)
def test_words_are_found_by_what_they_are(other):
    for name in ("a", "z"):
        assert found({name: other, "word": word}) == ("word", [])


def test_the_most_different_values_win_and_what_they_tell_is_no_rival():
    columns = {"a": lambda s, t: s[t].lower(), "b": word, "c": lambda s, t: s[t][-3:]}
    assert found(columns) == ("b", [])


def test_close_columns_are_rivals():
    clusters = {w: f"{w[::-1]}" for s in WORDS for w in s}
    other = {"x": word, "y": lambda s, t: clusters[s[t]]}
    assert found(other) == ("x", ["y"])
    assert found({"x": word, "y": word}) == ("x", [])
    before = {"x": lambda s, t: s[t - 1] if t else "<s>", "y": word}
    assert found(before)[1]


def test_joined_neighbours_are_no_words():
    def pair(s, t):
        return f"{s[t - 1] if t else ''}|{s[t]}"

    assert found({"token[-1]|token[0]": pair, "token[0]": word}) == ("token[0]", [])


def test_without_words_the_column_is_what_varies_and_does_not_count():
    codes = [[5, 3, 5], [7, 3], [1, 1, 3, 5]]
    columns = {"a": lambda s, t: t, "b": lambda s, t: s[t], "c": lambda s, t: True}
    assert found(columns, codes)[0] == "b"
    assert found({"a": lambda s, t: 1, "b": lambda s, t: True}, codes)[0] == "a"


def test_tokens_without_weight_do_not_count():
    names = [chr(97 + k % 20) for k in range(40)]
    tokens = [{"p": names[k], "q": "x" if k < 20 else chr(97 + k)} for k in range(40)]
    table = symbolize(flattened([tokens]))
    X = SequenceArray(table, [0, 40])
    counted = np.arange(40) < 30
    assert find_words(X).name == find_words(X, counted).name == "p"
    assert find_words(X, ~counted).name in ("p", "q")
    assert find_words(X, np.zeros(40, dtype=bool)).name in table.names
