"""The words of a corpus as ids, and the ids of their spelling features."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any

import numpy as np

from ..data.vocabulary import Vocabulary
from ..utils.soundness import Fact, Requirement, indices
from ..utils.spelling import marked, spelling_feature

UNKNOWN = -2
"""The id of every symbol that was not seen in training."""

# Number of words whose spelling features are computed at once.
BLOCK = 2**12


class Lexicon:
    """Numbers words and the features of their spelling.

    Parameters
    ----------
    features : sequence of str
        Spelling features, as in :func:`~sklearn_crcrf.feature_extraction.spelling.spelling_table`.
    symbols : mapping from feature to list of str, optional
        Symbols of a feature that are numbered first, whether seen or not.

    Examples
    --------
    >>> lexicon = Lexicon(["suffix1"])
    >>> lexicon.add(["walks", "talks"])
    array([0, 1], dtype=int32)
    >>> lexicon.lookup(["talks", "stalks", "stalk"])
    (array([ 1, -2, -2], dtype=int32), array([[ 0],
           [ 0],
           [-2]], dtype=int32))
    """

    def __init__(
        self, features: Sequence[str], symbols: Mapping[str, Sequence[str]] = MappingProxyType({})
    ):
        self.features = tuple(features)
        self.words = Vocabulary()
        self._spellings = [Vocabulary(symbols.get(f, ())) for f in self.features]
        self.spelling = np.empty((0, len(self.features)), dtype=np.int32)

    _room: np.ndarray | None = None  # where the spelling can grow

    def __len__(self) -> int:
        return len(self.words)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_room"}

    @property
    def vocabularies(self) -> list[Vocabulary]:
        """The vocabularies of the words and of all spelling features."""
        return [self.words, *self._spellings]

    def copy(self) -> "Lexicon":
        """Return the same ids; either copy can then learn more without the other."""
        twin = copy(self)
        twin.words = self.words.copy()
        twin._spellings = [vocabulary.copy() for vocabulary in self._spellings]
        return twin

    def vocabulary(self, feature: str) -> Vocabulary:
        """Return the symbols of a spelling feature."""
        return self._spellings[self.features.index(feature)]

    def requirements(self) -> Iterator[Requirement]:
        """Yield the requirements of a lexicon."""
        are_known = all(isinstance(known, Vocabulary) for known in self.vocabularies)
        yield Fact("_vocabularies", are_known, "must be Vocabularies")
        yield Fact("features", len(self._spellings) == len(self.features), "must have symbols")
        shape = len(self.words), len(self.features)
        yield indices("spelling", self.spelling, shape, 2**31)
        for name, ids in zip(self.features, self.spelling.T, strict=True):
            yield indices(f"spelling, {name!r},", ids, shape[:1], len(self.vocabulary(name)))

    def add(self, words: Sequence[str]) -> np.ndarray:
        """Ids of unique words; new words are given the next ids."""
        n_before = len(self)
        ids = self.words.add(words)
        new = [word for word, i in zip(words, ids, strict=True) if i >= n_before]
        self._append(self._spell(new, Vocabulary.add))
        return ids

    def add_all(self, other: "Lexicon") -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Give the next ids to the new words of another lexicon, in the order of their ids.

        The other one may lack spelling features; only these are made again.

        Returns
        -------
        ids : ndarray of int32
            The new id of each word of the other lexicon.
        spellings : dict of ndarray of int32
            The new ids of the symbols of each spelling feature of the other lexicon.
        """
        n_before, words = len(self), other.words.symbols
        ids = self.words.add(words)
        is_new = ids >= n_before
        added = np.empty((np.count_nonzero(is_new), len(self.features)), dtype=np.int32)
        missing = [j for j, feature in enumerate(self.features) if feature not in other.features]
        if missing:
            new = [words[i] for i in np.flatnonzero(is_new).tolist()]
            added[:, missing] = self._spell(new, Vocabulary.add, missing)
        spellings = {}
        for known, feature in zip(other.spelling[is_new].T, other.features, strict=True):
            spellings[feature] = self.vocabulary(feature).add(other.vocabulary(feature).symbols)
            added[:, self.features.index(feature)] = spellings[feature][known]
        self._append(added)
        return ids, spellings

    def take(
        self, words: np.ndarray, spellings: Sequence[np.ndarray]
    ) -> tuple["Lexicon", list[np.ndarray]]:
        """Take some of the words, and of the symbols of each spelling feature, in a given order.

        Parameters
        ----------
        words : ndarray of int
            Ids of words.
        spellings : sequence of ndarray of int
            Ids of the symbols of each feature, at least those of the words.

        Returns
        -------
        lexicon : Lexicon
        ids : list of ndarray of int32
            The new id of each word and of each symbol of the features, -1 of those left out.
        """
        twin = copy(self)
        pairs = zip(self.vocabularies, [words, *spellings], strict=True)
        (twin.words, *twin._spellings), ids = zip(*(v.take(some) for v, some in pairs), strict=True)
        twin.spelling = np.empty((len(words), len(self.features)), dtype=np.int32)
        for j, new in enumerate(ids[1:]):
            twin.spelling[:, j] = new[self.spelling[words, j]]
        return twin, [*ids]

    def lookup(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of unique words and of their spelling features, UNKNOWN if never seen.

        Returns
        -------
        ids : ndarray of shape (n_words,), int32
        spelling : ndarray of shape (n_words, n_features), int32
        """
        ids = mark_unknown(self.words.lookup(words))
        spelling = np.empty((len(ids), len(self.features)), dtype=np.int32)
        known = ids >= 0
        if known.all():
            return ids, self.spelling[ids]
        spelling[known] = self.spelling[ids[known]]
        unknown = [words[i] for i in np.flatnonzero(~known).tolist()]
        spelling[~known] = mark_unknown(self._spell(unknown, Vocabulary.lookup))
        return ids, spelling

    def _append(self, rows: np.ndarray) -> None:
        """Append rows to the spelling, with room for more, so that a few cost a few."""
        n, room = len(self.spelling), self._room
        if room is None or len(room) < n + len(rows) or not room.flags.writeable:
            room = np.empty((n + max(len(rows), n // 4), len(self.features)), dtype=np.int32)
            room[:n] = self.spelling
            self._room = room
        room[n : n + len(rows)] = rows
        self.spelling = room[: n + len(rows)]

    def _spell(
        self, words: list[str], encode: Callable, chosen: Sequence[int] | None = None
    ) -> np.ndarray:
        """Number the spelling features of words, in blocks, so that few strings exist at once.

        By default of all features, else of the chosen ones.
        """
        places = range(len(self.features)) if chosen is None else chosen
        spelling = np.empty((len(words), len(places)), dtype=np.int32)
        for start in range(0, len(words), BLOCK):
            block = words[start : start + BLOCK]
            lower, rows = marked(block), slice(start, start + BLOCK)
            for j, place in enumerate(places):
                symbols = spelling_feature(self.features[place])(block, lower)
                spelling[rows, j] = encode(self._spellings[place], symbols)
        return spelling


def mark_unknown(ids: np.ndarray) -> np.ndarray:
    """Ids from a look-up, with UNKNOWN where nothing was found."""
    return np.where(ids < 0, np.int32(UNKNOWN), ids)
