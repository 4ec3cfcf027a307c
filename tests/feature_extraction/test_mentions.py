"""Numbers of phrases, and parts of names, against lists of words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.feature_extraction._found_columns import (
    LONGEST,
    Mentions,
    number_phrases,
    proper_parts,
)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.data())
def test_equal_phrases_have_equal_numbers(words, data):
    spans = [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    chosen = data.draw(st.lists(st.sampled_from(spans), max_size=10))
    start, end = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    numbers = number_phrases(np.array(words), start, end - start).tolist()
    phrases = [tuple(words[i:j]) for i, j in chosen]
    assert len(set(numbers)) == len(set(phrases))
    assert len(set(zip(numbers, phrases, strict=True))) == len(set(phrases))


def test_parts():
    names = Mentions(np.array([0, 5, 9]), np.array([3, 1, 2]), np.array([7, 8, 9]))
    parts = sorted(zip(*(array.tolist() for array in proper_parts(names)), strict=True))
    assert parts == [(0, 1, 7), (0, 2, 7), (1, 1, 7), (1, 2, 7), (2, 1, 7), (9, 1, 9), (10, 1, 9)]


def test_long_names_have_no_parts():
    names = Mentions(np.array([0]), np.array([LONGEST + 1]), np.array([1]))
    assert [len(array) for array in proper_parts(names)] == [0, 0, 0]
