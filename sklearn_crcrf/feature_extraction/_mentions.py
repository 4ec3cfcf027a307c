"""Names in a text, numbered by their words, and the parts of long names."""

from typing import NamedTuple

import numpy as np

from ..data.ragged import joined_ranges

__all__ = ["LONGEST", "Mentions", "number_phrases", "proper_parts"]

#: Parts of names of more tokens are left out.
LONGEST = 12


class Mentions(NamedTuple):
    """Names in a text.

    Attributes
    ----------
    start, length : ndarray of int64 of shape (n_mentions,)
        The first token, and the number of tokens.
    kind : ndarray of int64 of shape (n_mentions,)
        The number of the kind of name.
    """

    start: np.ndarray
    length: np.ndarray
    kind: np.ndarray

    def tokens(self) -> np.ndarray:
        """The tokens of all names, one name after the other."""
        return joined_ranges(self.start, self.length)


def number_phrases(words: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Equal numbers for equal phrases.

    Parameters
    ----------
    words : ndarray of int64 of shape (n_tokens,)
        The number of the word of each token, from 0 on.
    start, length : ndarray of int64 of shape (n_phrases,)
        The first token of each phrase, and its number of tokens, at least 1.

    Returns
    -------
    ndarray of int64 of shape (n_phrases,)

    Examples
    --------
    >>> number_phrases(np.array([5, 6, 5, 6, 5]), np.array([0, 2, 3, 4]), np.array([2, 2, 2, 1]))
    array([1, 1, 2, 0])
    """
    n_words = int(words.max(initial=0)) + 1
    number = words[start]
    for k in range(1, int(length.max(initial=1))):
        longer = np.flatnonzero(length > k)
        pairs = number[longer] * n_words + words[start[longer] + k]
        number[longer] = np.unique(pairs, return_inverse=True)[1]
    spans = length * (int(number.max(initial=0)) + 1) + number
    return np.unique(spans, return_inverse=True)[1]


def proper_parts(mentions: Mentions) -> Mentions:
    """All runs of tokens of names that are shorter than the name, with its kind."""
    kept = (mentions.length > 1) & (mentions.length <= LONGEST)
    start, length, kind = (array[kept] for array in mentions)
    parts = []
    for k in range(1, int(length.max(initial=0))):
        longer = length > k
        n_parts = length[longer] - k + 1
        starts = joined_ranges(start[longer], n_parts)
        parts.append(Mentions(starts, np.full(len(starts), k), np.repeat(kind[longer], n_parts)))
    if not parts:
        return Mentions(start[:0], length[:0], kind[:0])
    return Mentions(*map(np.concatenate, zip(*parts, strict=True)))
