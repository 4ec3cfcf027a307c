"""Phrases: runs of symbols that are found at all places of a text at once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ..utils.soundness import Fact, Requirement, indices
from .vocabulary import Vocabulary


class Phrases:
    """Runs of symbols, each with a number, as a tree of their symbols.

    Parameters
    ----------
    runs : sequence of tuples of str
        All different, none empty.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.data.phrases import Phrases
    >>> symbols = Phrases([("new", "york"), ("york",)])
    >>> text = symbols.numbered(["in", "new", "york"], np.arange(3))
    >>> symbols.find(text, np.array([2, 1, 0]))
    (array([2, 1]), array([1, 2]), array([1, 0]))
    """

    def __init__(self, runs: Sequence[tuple[str, ...]]):
        self.vocabulary = Vocabulary()
        self.n_runs = len(runs)
        tokens = self.vocabulary.add([*chain.from_iterable(runs)]).astype(np.int64)
        lengths = np.fromiter(map(len, runs), np.int64, len(runs))
        place, run = np.cumsum(lengths) - lengths, np.arange(len(runs))
        node = np.zeros(len(runs), dtype=np.int64)
        # Each level has a key for each pair of a node of the level before and a symbol, and the
        # number of the run that ends there, -1 for none.
        self.levels: list[tuple[np.ndarray, np.ndarray]] = []
        while len(run):
            keys, node = np.unique(self._keys(node, tokens[place]), return_inverse=True)
            ending = np.full(len(keys), -1, dtype=np.int64)
            ends = lengths[run] == len(self.levels) + 1
            ending[node[ends]] = run[ends]
            self.levels.append((keys, ending))
            place, run, node = place[~ends] + 1, run[~ends], node[~ends]

    @classmethod
    def frequent(cls, runs: Sequence[tuple[str, ...]], min_freq: int) -> "Phrases":
        """Return the different runs that occur at least ``min_freq`` times, in sorted order."""
        counts = Counter(runs)
        return cls(sorted(run for run, n in counts.items() if n >= min_freq and run))

    def names(self) -> list[tuple[str, ...]]:
        """Return the runs, in the order of their numbers."""
        symbols = self.vocabulary.symbols
        found: list[tuple[str, ...]] = [()] * self.n_runs
        prefixes: list[tuple[str, ...]] = [()]
        for keys, ending in self.levels:
            parents, tokens = np.divmod(keys, max(len(symbols), 1))
            pairs = zip(parents.tolist(), tokens.tolist(), strict=True)
            prefixes = [(*prefixes[parent], symbols[token]) for parent, token in pairs]
            for run, prefix in zip(ending.tolist(), prefixes, strict=True):
                if run >= 0:
                    found[run] = prefix
        return found

    def numbered(self, symbols: Sequence[str], codes: np.ndarray) -> np.ndarray:
        """Return tokens as ids of the vocabulary, -1 for unknown ones.

        Parameters
        ----------
        symbols : sequence of str
        codes : ndarray of shape (n_tokens,)
            The number of the symbol of each token, -1 for none.
        """
        return np.append(self.vocabulary.lookup(symbols), np.int32(-1))[codes].astype(np.int64)

    def find(
        self, tokens: np.ndarray, following: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where runs occur.

        Parameters
        ----------
        tokens : ndarray of shape (n_tokens,)
            As :meth:`numbered` returns them.
        following : ndarray of shape (n_tokens,)
            Number of tokens that follow each token in its sequence.

        Returns
        -------
        start, length, run : ndarray of shape (n_found,)
        """
        start = np.flatnonzero(tokens >= 0)
        node = np.zeros(len(start), dtype=np.int64)
        nothing = np.empty(0, dtype=np.int64)
        found = [(nothing, nothing, nothing)]
        for depth in range(len(self.levels)):
            start, node, run = self._step(depth, start, node, tokens[start + depth])
            ends = run >= 0
            found.append((start[ends], np.full(ends.sum(), depth + 1), run[ends]))
            inside = following[start] > depth
            start, node = start[inside], node[inside]
        start, length, run = map(np.concatenate, zip(*found, strict=True))
        return start, length, run

    def of_pairs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the numbers of runs of two symbols, -1 where the pair of two ids is none."""
        numbers = np.full(len(first), -1, dtype=np.int64)
        if len(self.levels) < 2:
            return numbers
        place = np.flatnonzero(first >= 0)
        node = np.zeros(len(place), dtype=np.int64)
        place, node, _ = self._step(0, place, node, first[place])
        place, node, run = self._step(1, place, node, second[place])
        numbers[place] = run
        return numbers

    def requirements(self) -> Iterator[Requirement]:
        """Require what holds of a sound object."""
        yield Fact("vocabulary", isinstance(self.vocabulary, Vocabulary), "must be a Vocabulary")
        n_nodes = 1
        for depth, (keys, ending) in enumerate(self.levels):
            yield indices(f"levels[{depth}]", keys, (len(keys),), n_nodes * len(self.vocabulary))
            yield Fact(f"levels[{depth}]", len(keys) > 0, "must not be empty")
            yield indices(f"levels[{depth}]", ending, (len(keys),), self.n_runs, -1)
            n_nodes = len(keys)

    def _keys(self, node: np.ndarray, token: np.ndarray) -> np.ndarray:
        return node * len(self.vocabulary) + token

    def _step(
        self, level: int, start: np.ndarray, node: np.ndarray, token: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find where a symbol goes on from a node, the nodes reached, and what ends there."""
        keys, ending = self.levels[level]
        wanted = self._keys(node, token)
        node = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = (keys[node] == wanted) & (token >= 0)
        return start[found], node[found], ending[node[found]]


def following_tokens(offsets: np.ndarray) -> np.ndarray:
    """Return the number of tokens after each token in its sequence."""
    lengths = np.diff(offsets)
    return np.repeat(offsets[1:], lengths) - 1 - np.arange(offsets[-1])
