"""Statistics of words, and estimates of P(label | attribute), of both kinds of models."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._kernels.sparse.columns import find_entries
from ...counts import Counts, Template
from ...counts.observations import Encoder, Observations
from ...counts.rows import (
    FREQUENT,
    SELDOM,
    UNSEEN,
    KeyIndex,
    Rows,
    Storable,
    label_counts,
    place_rows,
)

__all__ = [
    "Estimate",
    "Statistics",
    "entry_values",
    "smooth",
    "spelling_keys",
    "word_kinds",
    "word_kinds_of",
]

# Words seen at most this often have their own exponents.
SELDOM_SEEN = 10


class Statistics(Storable):
    """Counts, with frequently used statistics of words and labels.

    Attributes
    ----------
    word : str
        The column that holds the words.
    by_word : CSR of shape (n_words, n_labels)
        How often each word has each label.
    n_seen : ndarray of shape (n_words,)
        How often each word was seen.
    label_prior : ndarray of shape (n_labels,)
        Label probabilities, smoothed so that no label has probability zero.
    """

    def __init__(self, encoder: Encoder, counts: Counts, n_labels: int):
        self.encoder = encoder
        self.counts = counts
        self.n_labels = n_labels
        self.word = encoder.names[0]
        by_word = self.words_at(0)
        self.by_word, self.n_seen = by_word.csr(), by_word.sums()
        total = np.bincount(by_word.indices, by_word.data, n_labels)
        self.label_prior = (total + 0.1) / (total.sum() + 0.1 * n_labels)

    def words_at(self, offset: int) -> Rows:
        """How often each label occurs with each word at an offset, (n_words, n_labels)."""
        index, counts = label_counts(self.counts[Template(((self.word, offset),))], self.n_labels)
        return place_rows(counts, index, len(self.encoder.lexicon))


def spelling_keys(spelling, word: str) -> list[tuple[tuple[tuple[str, int], ...], np.ndarray]]:
    """For each spelling slot: the symbols of its attributes, and their ids for each row."""
    return [
        (tuple((f"{word}:{feature}", 0) for feature in features), ids)
        for features, ids in spelling.attribute_keys()
    ]


def word_kinds(n_seen: np.ndarray, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
    """Word ids of the tokens, -1 for unseen words, and the kind of each word."""
    ids = np.where(observations.ids < 0, len(n_seen), observations.ids)
    times = np.append(n_seen, 0.0)[ids]
    known = np.where(times > 0, ids, -1).astype(np.int32)
    return known[observations.word], word_kinds_of(times)[observations.word]


def word_kinds_of(n_seen: np.ndarray) -> np.ndarray:
    """The kinds of words seen ``n_seen`` times, int8."""
    kind = np.select([n_seen > SELDOM_SEEN, n_seen > 0], [FREQUENT, SELDOM], UNSEEN)
    return kind.astype(np.int8)


class Estimate(NamedTuple):
    """P(y | attribute), for each label y that occurred with the attribute.

    Parameters
    ----------
    keys : KeyIndex
        The row of each attribute.
    counts : Rows of shape (n_attributes, n_labels)
    probability : ndarray of shape (n_entries,)
        P(label | attribute) for each entry of ``counts``.
    """

    keys: KeyIndex
    counts: Rows
    probability: np.ndarray

    def at(self, symbols: Sequence[np.ndarray], wanted: Rows) -> np.ndarray:
        """The probabilities of the entries of rows, given the symbols of each row.

        Each combination must have occurred.
        """
        rows = wanted.repeat(self.keys.rows(symbols))
        return entry_values(self.counts, self.probability, rows, wanted.indices)


def smooth(counts: np.ndarray, total: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    """(c + k q) / (n + k) for every count c of n; q is its prior, k the strength."""
    return (counts + strength * prior) / (total + strength)


def entry_values(
    counts: Rows, values: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """``values`` of the entries (rows[k], columns[k]) of ``counts``.

    Raises
    ------
    ValueError
        If there is no such entry: rounding can lose one if weights of very different sizes are
        counted and forgotten.
    """
    places = np.empty(len(rows), dtype=np.int64)
    of_counts = counts.indptr.astype(np.int64, copy=False), counts.indices
    wanted = (np.ascontiguousarray(ids, dtype=np.int32) for ids in (rows, columns))
    if not find_entries(*of_counts, *wanted, places):
        raise ValueError(
            "sample_weight: the weights differ so much in size that rounded counts of words "
            "and of label pairs contradict each other"
        )
    return values[places]
