"""Unknown words as a product of experts on their spelling."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...counts import ColumnWindow, Template
from ...counts.lexicon import Lexicon
from ...counts.rows import KeyIndex, association, rank_rows, sum_rows
from ...counts.storage import Storable
from .estimates import entry_values, smooth

__all__ = ["ProductSpelling"]

# Words seen at most this often stand in for unknown words.
RARE = 15


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


class ProductSpelling(Storable):
    """P(y | spelling) ~ p(y) prod_k CR(y; f_k) ** alpha_k, a product of co-occurrence rates.

    All estimates use rare words only. Suffixes of increasing length form a chain: each estimate is
    the prior of the next.

    Parameters
    ----------
    lexicon : Lexicon
        A lexicon with the spelling features of this class.
    counts : CSR of shape (n_words, n_labels)
        How often each word of the lexicon has each label.
    label_prior : ndarray of shape (n_labels,)
        Label probabilities of all words.
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

    def __init__(self, lexicon: Lexicon, counts: sp.csr_array, label_prior, strength: float):
        seen = counts.sum(axis=1)
        rare = np.flatnonzero((seen > 0) & (seen <= RARE))
        counts = counts[rare]
        base = counts.sum(axis=0) + label_prior
        base /= base.sum()
        blocks = [sp.csr_array(np.log(base / base.min())[None, :])]
        self._indexes = []
        estimates: dict[str, Any] = {}
        for feature, _, shorter in EXPERTS:
            column = lexicon.features.index(feature)
            keys, first, which = rank_rows(lexicon.spelling[rare][:, [column]])
            grouped = sum_rows(counts, which, len(keys))
            if shorter is None:
                prior = base[grouped.indices]
            else:
                shorter_of_word, of_shorter, estimate = estimates[shorter]
                row = np.repeat(shorter_of_word[first], np.diff(grouped.indptr))
                prior = entry_values(of_shorter, estimate, row, grouped.indices)
            blocks.append(association(grouped, prior, strength))
            self._indexes.append(KeyIndex(keys))
            estimates[feature] = which, grouped, smooth(grouped, prior, strength)
        self.names = ["label", *self.features]
        self.exponents = np.array([1.0, *(expert.exponent for expert in EXPERTS)])
        self.coef = sp.vstack(blocks, format="csr")
        self._starts = np.cumsum([b.shape[0] for b in blocks])

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
        rows = np.zeros((len(spelling), len(self.names)), dtype=np.int32)
        for j, (index, start) in enumerate(zip(self._indexes, self._starts[:-1], strict=True)):
            found = index.rows([spelling[:, j]])
            rows[:, j + 1] = np.where(found < 0, -1, found + start)
        return rows

    def attribute_keys(self) -> list[tuple[tuple[str, ...], np.ndarray]]:
        """For each slot: its features, and the symbol ids of its rows, (n_rows, n_features)."""
        label = (), np.empty((1, 0), dtype=np.int32)
        features = [(feature,) for feature in self.names[1:]]
        return [label, *zip(features, (index.keys for index in self._indexes), strict=True)]

    def fit_pairs(self, lexicon: Lexicon, words: np.ndarray, counts: sp.csr_array) -> None:
        """Store an empty row: this model has no estimates for pairs of words."""
        self._no_pairs = sp.csr_array((1, counts.shape[1]))

    def pair_codes(self, window: ColumnWindow, pair: Template) -> np.ndarray:
        """The same code for all pairs."""
        return np.zeros_like(window.of_links(pair)[0])

    def co_occurrence(self, codes: np.ndarray) -> sp.csr_array:
        """Empty rows, unlike in
        :class:`~sklearn_crcrf.estimators.empirical.signature_spelling.JointSpelling`.
        """
        return self._no_pairs[codes]
