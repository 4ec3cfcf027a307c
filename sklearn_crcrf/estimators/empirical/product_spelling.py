"""Unknown words as a product of experts on their spelling."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...counts import ColumnWindow, Table, Template
from ...counts.counts import aggregate
from ...counts.lexicon import Lexicon
from ...counts.rows import Rows, Storable, association, label_counts, stack_rows
from ...utils.soundness import Array, Fact, Requirement, indices, sparse
from .model import Statistics, smooth

# Words seen at most this often stand in for unknown words; sums of probabilities are rounded.
RARE = 15 + 1e-6


class SpellingExpert(NamedTuple):
    """One attribute of the spelling, and its exponent.

    The prior of its estimate is the estimate of the attribute ``shorter``, or the label
    distribution of all rare words if there is none.
    """

    feature: str
    exponent: float
    shorter: str | None = None


EXPERTS = (
    SpellingExpert("suffix1", 0.63),
    SpellingExpert("suffix2", 0.63, shorter="suffix1"),
    SpellingExpert("suffix3", 0.63, shorter="suffix2"),
    SpellingExpert("suffix4", 0.63, shorter="suffix3"),
    SpellingExpert("suffix5", 0.63, shorter="suffix4"),
    SpellingExpert("prefix1", 0.33),
    SpellingExpert("prefix3", 0.23),
    SpellingExpert("prefix4", 0.0),
    SpellingExpert("shape", 0.83),
    SpellingExpert("long_shape", 0.0),
    SpellingExpert("lower", 0.63),
    SpellingExpert("simple", 0.35),
)
EXPONENTS = np.array([1.0, *(expert.exponent for expert in EXPERTS)])


class ProductSpelling(Storable):
    """P(y | spelling) ~ p(y) prod_k CR(y; f_k) ** alpha_k, a product of co-occurrence rates.

    All estimates use rare words only. Suffixes of increasing length form a chain: each estimate is
    the prior of the next.

    Parameters
    ----------
    statistics : Statistics
        Of words with the spelling features of this class.
    strength : float
        Each prior counts as much as this number of observations.

    Attributes
    ----------
    names : list of str
        Names of the slots; a word has at most one row of ``coef`` in each.
    exponents : ndarray of shape (n_slots,)
    coef : CSR of shape (n_rows, n_labels)
        Weights, not negative.
    """

    features = tuple(expert.feature for expert in EXPERTS)
    symbols: dict[str, Sequence[str]] = {}
    has_zeros = False

    def __init__(self, statistics: Statistics, strength: float):
        table, of_labels = rare_counts(statistics)
        base = label_base(of_labels, statistics.label_prior)
        index, rates = label_counts(table, len(base))
        # Where symbols have rows, from the feature and symbol of each row after the first.
        spelled = statistics.encoder.lexicon.spelling[_rare_entries(statistics)[0]]
        sizes, keys = 1 + spelled.max(axis=0, initial=-1), index.keys
        self._places = np.append(0, np.cumsum(sizes)).astype(np.int32)
        self._rows = np.full(self._places[-1] + 1, -1, dtype=np.int32)
        self._rows[self._places[keys[:, 0]] + keys[:, 1]] = np.arange(1, len(keys) + 1)
        rows = self.rows(spelled)[:, 1:] - 1
        shorter = np.full(len(keys), -1, dtype=np.int32)
        for k, expert in enumerate(EXPERTS):
            if expert.shorter is not None:
                shorter[rows[:, k]] = rows[:, self.features.index(expert.shorter)]
        prior = base[rates.indices]
        smooth(rates, rates.sums(), prior, strength, shorter)
        blocks = [
            Rows.of(sp.csr_array(above_rarest(base[None]))),
            association(rates, prior, strength),
        ]
        self.names = ["label", *self.features]
        self.exponents = EXPONENTS
        self.coef = stack_rows(blocks, sum(len(block.data) for block in blocks))[0]

    def rows(self, spelling: np.ndarray) -> np.ndarray:
        """Rows of ``coef`` for words with these spelling ids.

        Parameters
        ----------
        spelling : int ndarray of shape (n_words, n_features)

        Returns
        -------
        ndarray of shape (n_words, n_slots), int32
            -1 where a slot has no row for a word.
        """
        rows = np.zeros((len(spelling), len(self.features) + 1), dtype=np.int32)
        known = (spelling >= 0) & (spelling < np.diff(self._places))
        rows[:, 1:] = self._rows[np.where(known, spelling + self._places[:-1], -1)]
        return rows

    def symbol_rows(self, slot: int, n_symbols: int) -> np.ndarray:
        """Return the row of each of the symbols of a feature, int32; -1 for those without one."""
        rows = self._rows[self._places[slot] : self._places[slot + 1]]
        return np.append(rows, np.full(n_symbols - len(rows), -1, dtype=np.int32))

    def attribute_keys(self) -> list[tuple[tuple[str, ...], np.ndarray]]:
        """For each slot: its features, and the symbol ids of its rows, (n_rows, n_features)."""
        tables = (self._rows[begin:end] for begin, end in pairwise(self._places))
        keys = [np.flatnonzero(table >= 0).astype(np.int32)[:, None] for table in tables]
        names = [(feature,) for feature in self.features]
        return [((), np.empty((1, 0), dtype=np.int32)), *zip(names, keys, strict=True)]

    def fit_pairs(self, lexicon: Lexicon, words: np.ndarray, counts: sp.csr_array) -> None:
        """Store an empty row: this model has no estimates for pairs of words."""
        self._no_pairs = sp.csr_array((1, counts.shape[1]))

    def pair_codes(self, window: ColumnWindow, pair: Template) -> np.ndarray:
        """Return the same code for all pairs."""
        return np.zeros_like(window.of_links(pair)[0])

    def co_occurrence(self, codes: np.ndarray) -> sp.csr_array:
        """Empty rows, unlike in
        :class:`~sklearn_crcrf.estimators.empirical.signature_spelling.JointSpelling`.
        """
        return self._no_pairs[codes]

    def requirements(self, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
        """Yield the requirements of estimates for single words."""
        has_same = [*lexicon.features] == self.names[1:]
        yield Fact("names", has_same, "must be the features of the lexicon")
        sizes = [len(lexicon.vocabulary(feature)) for feature in lexicon.features]
        yield Array("exponents", self.exponents, (len(sizes) + 1,))
        yield indices("_places", self._places, (len(sizes) + 1,), sum(sizes) + 1)
        given = np.diff(self._places)
        fits = self._places[0] == 0 and bool((given >= 0).all() and (given <= sizes).all())
        yield Fact("_places", fits, f"must rise by no more than {sizes}")
        rows = self._rows
        yield indices("_rows", rows, (int(self._places[-1]) + 1,), 2**31, -1)
        known = np.flatnonzero(rows >= 0)
        in_order = np.array_equal(rows[known], np.arange(1, len(known) + 1)) and rows[-1] == -1
        yield Fact("_rows", in_order, "must rise by 1 where they are not -1")
        yield from sparse("coef", self.coef, (1 + len(known), n_labels))

    def pair_requirements(self, n_labels: int) -> Iterator[Requirement]:
        """Yield the requirements of estimates for pairs of labels."""
        yield from sparse("_no_pairs", self._no_pairs, (1, n_labels**2))


def is_rare(n_seen: np.ndarray) -> np.ndarray:
    """Tell which words stand in for unknown words."""
    return (n_seen > 0) & (n_seen <= RARE)


def rare_counts(statistics: Statistics) -> tuple[Table, np.ndarray]:
    """Count the spelling of rare words with labels, and the labels of rare words.

    Returns
    -------
    table : Table
        Events are the number of a feature, its symbol, and a label.
    of_labels : ndarray of shape (n_labels,)
    """
    (word, labels, weights), n = _rare_entries(statistics), len(EXPERTS)
    number = np.repeat(np.arange(n, dtype=np.int32), len(labels))
    columns = number, statistics.encoder.lexicon.spelling[word].T.ravel(), np.tile(labels, n)
    table = aggregate(columns, np.tile(weights, n), len(number))
    # Without rare words the sums would be integers.
    return table, np.bincount(labels, weights, len(statistics.label_prior)).astype(float)


def _rare_entries(statistics: Statistics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the rare words with their labels, and how often they have them."""
    by_word, seen = Rows.of(statistics.by_word), statistics.n_seen
    used = by_word.repeat(is_rare(seen))
    word = by_word.repeat(np.arange(len(seen)))[used]
    return word, by_word.indices[used], by_word.data[used]


def label_base(of_labels: np.ndarray, label_prior: np.ndarray) -> np.ndarray:
    """Estimate the probabilities of the labels of rare words, (..., n_labels)."""
    base = of_labels + label_prior
    return base / base.sum(axis=-1, keepdims=True)


def above_rarest(base: np.ndarray) -> np.ndarray:
    """Return the weights of the labels of rare words: how much likelier than the rarest label."""
    return np.log(base / base.min(axis=-1, keepdims=True))
