"""Plain frequencies with back-off: the fully empirical training of the papers.

A seen word is scored by its own frequencies, an unseen one by the frequencies of its spelling. The
same holds for a pair of neighbouring words; if both were seen, but never together, it is scored by
the frequencies of pairs of labels. Events of frequency zero have probability zero, or are floored.

References
----------
.. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013.
.. [2] Zhu et al., "Closed Form Maximum Likelihood Estimator of CRFs", 2013, eqs. 12 and 13.
"""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions, entries_at, transition_names
from ...counts import ColumnWindow, Template
from ...counts.observations import Encoder, Observations
from ...counts.prepared_links import PreparedLinks
from ...counts.rows import FLOOR, Rows, StateWeights, Storable, pair_counts, sum_rows
from ...structures import Scores, Structure, TokenTransitions
from .contributions import attribute_names, state_contributions
from .experts import Symbols
from .exponents import Entry, Exponents, state_entries
from .model import Statistics, entry_values, spelling_keys, word_kinds
from .prepared import Prepared

__all__ = ["FrequencyModel"]

# Exponents of words, which need no spelling if they are known.
WORDS = {"word": 1.0, "word/seldom": 1.0}
LABELS_ONLY = np.iinfo(np.int32).max
"""Stands for the row of known words that never occurred next to each other."""


class FrequencyModel(Storable):
    """A chain whose scores are logarithms of frequencies.

    Parameters
    ----------
    statistics : Statistics
    spelling : type
        The model of unseen words, and of pairs of neighbours with an unseen word.
    floor : float
        Replaces the logarithm of zero; may be -inf.
    strength : float
        Strength of the prior of the spelling model, if it has one.
    mu_oov : float
        Exponent of the distribution of an unseen word ([2]_, 4.5).
    exponents : mapping from name to float
        Exponents that differ from their defaults.
    """

    segments: None = None

    @staticmethod
    def templates(encoder: Encoder) -> list[Template]:
        """The templates of the events that are counted."""
        word = encoder.names[0]
        pair = Template(((word, -1), (word, 0)), (-1, 0), encoder.links != "next")
        return [Template(((word, 0),)), pair]

    def __init__(
        self,
        statistics: Statistics,
        spelling: type,
        *,
        floor: float = FLOOR,
        strength: float = 1.0,
        mu_oov: float = 1.0,
        exponents: Mapping[str, float] | None = None,
    ):
        self.statistics = stats = statistics
        self._floor = floor
        self.spelling = spelling(stats.encoder.lexicon, stats.by_word, stats.label_prior, strength)
        frequency = stats.by_word.data / np.repeat(stats.n_seen, np.diff(stats.by_word.indptr))
        words = stats.by_word.copy()
        words.data = np.log(frequency) - FLOOR
        self.exponents = Exponents(
            [*state_entries(self.spelling, mu_oov, [], WORDS), Entry("edges", 1.0)],
            n_slots=len(self.spelling.names) + 1,
        )
        self.exponents.update(exponents or {})
        blocks, n_entries = [self.spelling.coef, words], self.spelling.coef.nnz + words.nnz
        self.state = StateWeights(blocks, self.exponents.table(), n_entries)
        # Unseen words have all labels, unless their spelling has frequencies of zero.
        self._has_zeros = np.array([True, True, self.spelling.has_zeros])
        self._fit_pairs(frequency)

    def prepare(self, observations: Observations, structure: Structure) -> Prepared:
        """Look up the attributes of tokens."""
        word, kind = word_kinds(self.statistics.n_seen, observations)
        spelling = self.spelling.rows(observations.spelling)[observations.word]
        rows = np.column_stack([spelling, np.where(word < 0, -1, word + self.state.starts[1])])
        window = observations.window(structure)
        edges = self._edge_rows(window, word >= 0, structure)[:, None]
        return Prepared(rows.astype(np.int32), kind, PreparedLinks.of(structure, edges))

    def scores(self, prepared: Prepared) -> Scores:
        """Scores of prepared tokens."""
        n_labels = self.statistics.n_labels
        state = self.state.scores(prepared.rows, prepared.kind)
        exponent = np.where(self._has_zeros, self.state.exponents.sum(axis=1), 0.0)
        floor = FLOOR * exponent[prepared.kind][:, None]
        state[(state == 0.0) & (floor < 0.0)] = -np.inf
        # Weights are stored minus the floor, but scores must include it: over a long sequence,
        # the difference would add up.
        state += floor
        row, gains = self._edge_gains(prepared)
        edges = TokenTransitions.from_gains(row, gains, np.full((n_labels, n_labels), FLOOR))
        return Scores(state, self.common_transitions(), *self.boundaries(), edges)

    @property
    def coef(self) -> sp.csr_array:
        """Weights of attributes: logarithms of frequencies, without entries for zeros."""
        coef = self.state.coef.copy()
        floored = 0 if self.spelling.has_zeros else self.state.starts[1]
        coef.data[coef.indptr[floored] :] += FLOOR
        return coef

    def attribute_keys(self) -> list[tuple[Symbols, np.ndarray]]:
        """For each slot: the symbols of its attributes, and their ids for each row."""
        word = self.statistics.word
        words = ((word, 0),), np.arange(self.statistics.by_word.shape[0])[:, None]
        return [*spelling_keys(self.spelling, word), words]

    def contributions(
        self, prepared: Prepared, y: np.ndarray, classes: np.ndarray, structure: Structure
    ) -> Contributions:
        """The contributions that sum to the score of a labelling of one unit."""
        keys, encoder = self.attribute_keys(), self.statistics.encoder
        state = state_contributions(self.state, prepared, y, keys, encoder, self._has_zeros)
        return Contributions.join(
            [state, self._edge_contributions(prepared, y, classes, structure)]
        )

    def common_transitions(self) -> np.ndarray:
        """Transition scores that are the same for all tokens, (n_labels, n_labels)."""
        n_labels = self.statistics.n_labels
        return np.full((n_labels, n_labels), self._floor)

    def boundaries(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the first and of the last label, each (n_labels,): always zero."""
        n_labels = self.statistics.n_labels
        return np.zeros(n_labels), np.zeros(n_labels)

    def _fit_pairs(self, frequency: np.ndarray) -> None:
        """Logarithms of CR(y; y' | x, x') of the words seen next to each other ([2]_, eq. 13)."""
        stats = self.statistics
        template = self.templates(stats.encoder)[1]
        self._index, rows = pair_counts(stats.counts[template], stats.n_labels)
        keys, by_pair, by_word = self._index.keys, rows.csr(), Rows.of(stats.by_word)
        scores = np.log(rows.data)
        scores -= rows.repeat(np.log(rows.sums()))
        labels = np.divmod(rows.indices, stats.n_labels)[::-1]
        for words, label in zip(keys.T, labels, strict=True):
            scores -= np.log(entry_values(by_word, frequency, rows.repeat(words), label))
        self._pairs = _with_data(by_pair, scores)
        everything = sum_rows(by_pair, np.zeros(len(keys), dtype=np.int64), 1)
        self._label_pairs = _with_data(everything, np.log(_label_rate(everything, stats.n_labels)))
        self.spelling.fit_pairs(stats.encoder.lexicon, keys, by_pair)

    def _edge_rows(
        self, window: ColumnWindow, is_known: np.ndarray, structure: Structure
    ) -> np.ndarray:
        """The row of each pair of words; higher numbers code pairs of spellings.

        The spelling counts if a word is unseen.
        """
        pair = self.templates(self.statistics.encoder)[1]
        row = self._index.rows(window.of_links(pair))
        code = self._pairs.shape[0] + self.spelling.pair_codes(window, pair)
        previous, current = structure.links()
        both_known = is_known[current] & is_known[previous]
        return np.where(row >= 0, row, np.where(both_known, LABELS_ONLY, code)).astype(np.int32)

    def _edge_gains(self, prepared: Prepared) -> tuple[np.ndarray, sp.csr_array]:
        """The row of each token, and log CR minus the floor for the rows in use."""
        wanted = prepared.links.edges[:, 0]
        used, row = np.unique(wanted, return_inverse=True)
        n_pairs = self._pairs.shape[0]
        codes = used[(used >= n_pairs) & (used < LABELS_ONLY)] - n_pairs
        rates = self.spelling.co_occurrence(codes)
        backed_off = _with_data(rates, np.log(rates.data))
        blocks = [self._pairs[used[(used >= 0) & (used < n_pairs)]], backed_off, self._label_pairs]
        gains = sp.vstack(blocks, format="csr")
        gains.data = self.exponents["edges"] * gains.data - FLOOR
        first = np.count_nonzero(used < 0)
        row -= first
        empty = np.diff(gains.indptr) == 0
        row = np.where((row >= 0) & empty[row], gains.shape[0] - 1, row)
        return row, gains

    def _edge_contributions(
        self, prepared: Prepared, y: np.ndarray, classes: np.ndarray, structure: Structure
    ) -> Contributions:
        """One contribution for each transition, named by its condition."""
        previous, current = structure.links()
        row, gains = self._edge_gains(prepared)
        rows, n_pairs = structure.rows_of_links(), self._pairs.shape[0]
        row, wanted = row[rows], prepared.links.edges[rows, 0]
        pair = y[current].astype(np.int64) * len(classes) + y[previous]
        above = entries_at(gains, row, pair)
        score = np.where(above != 0, above + FLOOR, self._floor)
        exponent = self.exponents["edges"]
        factor = np.where((above != 0) & (exponent != 0), exponent, 1.0)
        template = self.templates(self.statistics.encoder)[1]
        words = np.where(wanted < n_pairs, wanted, -1)
        encoder = self.statistics.encoder
        keys = [(template.symbols, self._index.keys)]
        given = attribute_names(keys, encoder, words, encoder.links != "next")
        given[words < 0] = "spelling"
        given[row == gains.shape[0] - 1] = "labels"
        pairs = zip(transition_names(y[previous], y[current], classes), given, strict=True)
        names = [f"{labels} | {condition}" for labels, condition in pairs]
        return Contributions.of("transition", current, names, score / factor, factor)


def _with_data(matrix: sp.csr_array, data: np.ndarray) -> sp.csr_array:
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _label_rate(counts: sp.csr_array, n_labels: int) -> np.ndarray:
    """CR(y; y') of the label pairs that occurred."""
    joint = counts.data / counts.data.sum()
    current, previous = np.divmod(counts.indices, n_labels)
    before = np.bincount(previous, joint, n_labels)
    after = np.bincount(current, joint, n_labels)
    return joint / (before[previous] * after[current])
