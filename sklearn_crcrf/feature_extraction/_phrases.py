"""Phrases of several tokens, searched at all places of a text at once."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ..data.vocabulary import Vocabulary
from ..utils.soundness import Array, Fact, Requirement, indices

__all__ = ["Phrases", "leftmost"]


class Phrases:
    """A set of phrases, as a tree of their tokens.

    Parameters
    ----------
    phrases : list of sequences of str
    """

    def __init__(self, phrases: list[Sequence[str]]):
        self.vocabulary = Vocabulary()
        tokens = self.vocabulary.add([*chain.from_iterable(phrases)]).astype(np.int64)
        lengths = np.fromiter(map(len, phrases), np.int64, len(phrases))
        place = np.cumsum(lengths) - lengths
        node = np.zeros(len(phrases), dtype=np.int64)
        # Every level has a key for each pair of a node of the previous level and the next token,
        # and whether a phrase ends there.
        self.levels: list[tuple[np.ndarray, np.ndarray]] = []
        while len(lengths) and lengths.max() > len(self.levels):
            going_on = lengths > len(self.levels)
            lengths, place, node = lengths[going_on], place[going_on], node[going_on]
            keys, node = np.unique(self._keys(node, tokens[place]), return_inverse=True)
            is_end = np.zeros(len(keys), dtype=bool)
            is_end[node[lengths == len(self.levels) + 1]] = True
            self.levels.append((keys, is_end))
            place = place + 1

    def requirements(self) -> Iterator[Requirement]:
        """Requirements of a set of phrases."""
        yield Fact("vocabulary", isinstance(self.vocabulary, Vocabulary), "must be a Vocabulary")
        n_nodes = 1
        for depth, (keys, is_end) in enumerate(self.levels):
            yield indices(f"levels[{depth}]", keys, (len(keys),), n_nodes * len(self.vocabulary))
            yield Fact(f"levels[{depth}]", len(keys) > 0, "must not be empty")
            yield Array(f"levels[{depth}]", is_end, (len(keys),), kind="b")
            n_nodes = len(keys)

    def longest(self, tokens: np.ndarray, following: np.ndarray) -> np.ndarray:
        """The length of the longest phrase that begins at each token, 0 if none does.

        Parameters
        ----------
        tokens : ndarray of shape (n_tokens,)
            Ids of the tokens in ``vocabulary``, -1 for unknown ones.
        following : ndarray of shape (n_tokens,)
            Number of tokens that follow each token in its sequence.

        Returns
        -------
        ndarray of int64 of shape (n_tokens,)
        """
        longest = np.zeros(len(tokens), dtype=np.int64)
        start = np.flatnonzero(tokens >= 0)
        node = np.zeros(len(start), dtype=np.int64)
        for depth, (keys, is_end) in enumerate(self.levels):
            token = tokens[start + depth]
            wanted = self._keys(node, token)
            node = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = (keys[node] == wanted) & (token >= 0)
            start, node = start[found], node[found]
            longest[start[is_end[node]]] = depth + 1
            inside = following[start] > depth
            start, node = start[inside], node[inside]
        return longest

    def _keys(self, node: np.ndarray, token: np.ndarray) -> np.ndarray:
        return node * len(self.vocabulary) + token


def leftmost(lengths: np.ndarray) -> np.ndarray:
    """Where matches begin if overlaps are resolved from left to right: the earlier match wins.

    Parameters
    ----------
    lengths : ndarray of shape (n_tokens,)
        The length of the match that begins at each token, 0 if none does.

    Returns
    -------
    ndarray of int64 of shape (n_taken,)
    """
    starts = np.flatnonzero(lengths)
    following = np.searchsorted(starts, starts + lengths[starts])
    jump = np.append(following, len(starts))
    taken = np.zeros(len(starts) + 1, dtype=bool)
    taken[0] = True
    # Each jump skips 1, 2, 4, ... matches.
    while True:
        taken[jump[taken]] = True
        if (jump == len(starts)).all():
            return starts[taken[:-1]]
        jump = jump[jump]
