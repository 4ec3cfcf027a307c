"""A text of any length from the Brown corpus: repeated, and perturbed so that it goes on growing.

Repeated as it is, the corpus would bring no new words and no new pairs after its first reading. In
every later reading

- each word that occurs once in Brown gets a new ending with probability ``RESPELLED``, so words go
  on growing as the square root of the tokens;
- each other word is replaced by another word of the same tag with probability ``REPLACED``, drawn
  as often as it occurs, so different events go on growing as the tokens to the power of 0.75.

The text is the same on every machine: it depends on the corpus, the seed and nothing else.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sklearn_crcrf.datasets import fetch_brown

__all__ = ["repeated_brown"]

RESPELLED = 0.55
REPLACED = 0.35


def repeated_brown(
    n_tokens: int, part_tokens: int = 250_000, seed: int = 0
) -> Iterator[tuple[list[list[str]], list[list[str]]]]:
    """Parts of the text, each made when it is asked for.

    Parameters
    ----------
    n_tokens : int
        Length of the text; the last sentence may exceed it.
    part_tokens : int
        Length of a part; its last sentence may exceed it.
    seed : int

    Yields
    ------
    X, y : lists of lists of str
        Words and tags of the sentences of a part.
    """
    X, y = fetch_brown(return_X_y=True)
    words, word = np.unique(np.concatenate(X), return_inverse=True)
    tag = np.unique(np.concatenate(y), return_inverse=True)[1]
    offsets = np.cumsum([0, *map(len, X)])
    by_tag = np.argsort(tag, kind="stable")
    starts, sizes = np.searchsorted(tag[by_tag], tag), np.bincount(tag)[tag]
    once = np.bincount(word)[word] == 1
    n_left, reading, first = n_tokens, 0, 0
    rng, text = np.random.default_rng(seed), words[word].astype(object)
    while n_left > 0:
        wanted = offsets[first] + min(part_tokens, n_left)
        last = min(int(np.searchsorted(offsets, wanted)), len(X))
        cuts = offsets[first : last + 1]
        yield [text[a:b].tolist() for a, b in pairwise(cuts)], y[first:last]
        n_left, first = n_left - int(cuts[-1] - cuts[0]), last
        if first == len(X):
            first, reading = 0, reading + 1
            chance = rng.random(len(word))
            drawn = by_tag[starts + (rng.random(len(word)) * sizes).astype(np.int64)]
            text = words[np.where(~once & (chance < REPLACED), word[drawn], word)].astype(object)
            respelled = once & (chance < RESPELLED)
            text[respelled] += _ending(reading)


def _ending(reading: int) -> str:
    """Letters that differ for every reading."""
    letters = ""
    while reading:
        reading, letter = divmod(reading - 1, 26)
        letters += chr(ord("a") + letter)
    return letters
