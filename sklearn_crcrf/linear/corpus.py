"""Training sequences, in the order and the pieces in which objectives go through them."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..data.ragged import joined_ranges, longest_first
from ..structures import Chain

__all__ = ["Chunk", "Corpus", "transition_counts"]

# Sequences go through a criterion in chunks of about so many scores; the sums over their tokens
# are made in blocks of chunks.
CHUNK, BLOCK = 2**18, 2**19
# Fewer tokens do not fill the rows of a product of matrices.
SMALLEST_CHUNK = 1000


class Chunk(NamedTuple):
    """Whole sequences, tokens ``start`` to ``stop``, that go through a criterion together."""

    start: int
    stop: int
    structure: Chain
    y: np.ndarray
    weight: np.ndarray


class Corpus(NamedTuple):
    """Labelled sequences of one token or more.

    Parameters
    ----------
    X : CSR or ndarray of shape (n_tokens, n_attributes)
    y : ndarray of shape (n_tokens,), int32
        Label ids, -1 where only ``allowed`` says what is known.
    offsets : ndarray of shape (n_sequences + 1,), int64
    weight : ndarray of shape (n_sequences,)
    allowed : bool ndarray of shape (n_tokens, n_labels), optional
        Which labels each token may have.
    """

    X: Any
    y: np.ndarray
    offsets: np.ndarray
    weight: np.ndarray
    allowed: np.ndarray | None = None

    def take(self, sequences: np.ndarray) -> "Corpus":
        """Some of the sequences, in the order given."""
        start, stop = self.offsets[sequences], self.offsets[sequences + 1]
        offsets = np.append(0, np.cumsum(stop - start))
        tokens = joined_ranges(start, stop - start)
        allowed = None if self.allowed is None else self.allowed[tokens]
        return Corpus(self.X[tokens], self.y[tokens], offsets, self.weight[sequences], allowed)

    def longest_first(self) -> "Corpus":
        """The sequences by decreasing length, without those that are empty or weigh nothing."""
        counts = (np.diff(self.offsets) > 0) & (self.weight != 0)
        order = longest_first(self.offsets)
        return self.take(order[counts[order]])

    def chunks(self, n_labels: int) -> list[list[Chunk]]:
        """All sequences in blocks of chunks."""
        chunk_tokens = max(SMALLEST_CHUNK, CHUNK // n_labels)
        n_chunks = -(-int(self.offsets[-1]) // chunk_tokens)
        # Of an even number of equal ones, two threads have the same to do.
        n_chunks += n_chunks % 2 if n_chunks > 1 else 0
        chunks = self._cut(_shares(self.offsets, n_chunks))
        stops = np.array([0, *(chunk.stop for chunk in chunks)])
        cuts = [0, *_ends(stops, max(chunk_tokens, BLOCK // n_labels))]
        return [chunks[a:b] for a, b in pairwise(cuts)]

    def batches(self, size: int) -> list[Chunk]:
        """All sequences in batches of so many."""
        n_sequences = len(self.weight)
        return self._cut([*range(size, n_sequences, size), n_sequences])

    def _cut(self, ends: list[int]) -> list[Chunk]:
        """Chunks that end before these sequences."""
        chunks, first = [], 0
        for last in ends:
            start, stop = int(self.offsets[first]), int(self.offsets[last])
            structure = Chain(self.offsets[first : last + 1] - start)
            y = self.y[start:stop]
            if (y < 0).any():
                y = self.allowed[start:stop]
            chunks.append(Chunk(start, stop, structure, y, self.weight[first:last]))
            first = last
        return chunks


def _shares(offsets: np.ndarray, n_shares: int) -> list[int]:
    """Where to cut sequences into so many runs of about as many tokens, or fewer runs."""
    wanted = offsets[-1] * np.arange(1, n_shares + 1) // n_shares
    return np.unique(np.searchsorted(offsets, wanted)).tolist()


def _ends(offsets: np.ndarray, n_tokens: int) -> list[int]:
    """Where to cut sequences into runs of at most so many tokens, but one sequence at least."""
    ends, first = [], 0
    while first < len(offsets) - 1:
        fitting = int(np.searchsorted(offsets, offsets[first] + n_tokens, "right")) - 1
        first = max(first + 1, fitting)
        ends.append(first)
    return ends


def transition_counts(corpus: Corpus, n_labels: int) -> np.ndarray:
    """How often labels that are known follow each other, of shape (n_labels, n_labels)."""
    is_first = np.zeros(len(corpus.y) + 1, dtype=bool)
    is_first[corpus.offsets] = True
    previous, current = corpus.y[:-1], corpus.y[1:]
    inside = ~is_first[1:-1] & (previous >= 0) & (current >= 0)
    counts = np.zeros((n_labels, n_labels))
    np.add.at(counts, (previous[inside], current[inside]), 1.0)
    return counts
