"""Plain frequencies with back-off: the fully empirical training of the papers.

A seen word is scored by its own frequencies, an unseen one by the frequencies of its spelling. The
same holds for a pair of neighbouring words; if both were seen, but never together, it is scored by
the frequencies of pairs of labels. If only one was seen, it can count itself, with the spelling of
the other. Events of frequency zero have probability zero, or are floored.

References
----------
.. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013,
   doi:10.1109/ICMLA.2013.23.
.. [2] Zhu et al., "Closed Form Maximum Likelihood Estimator of Conditional Random Fields",
   2013, eqs. 12 and 13, hdl:2066/227018.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions, entries_at, transition_names
from ...counts import Template
from ...counts.observations import Encoder, Observations
from ...counts.prepared import Prepared, PreparedLinks
from ...counts.rows import FLOOR, Rows, StateWeights, pair_counts, sum_rows
from ...structures import Scores, Structure, TokenTransitions
from ...utils.soundness import Array, Fact, Requirement, below, sparse
from .contributions import attribute_names, state_contributions
from .half_known import HalfKnownRates
from .model import N_KINDS, CountedModel, Entry, Exponents, Statistics, entry_values, state_entries
from .signature_spelling import N_SIGNATURES

# Exponents of words, which need no spelling if they are known.
WORDS = {"word": 1.0, "word/seldom": 1.0}
LABELS_ONLY = np.iinfo(np.int32).max
"""Stands for the row of known words that never occurred next to each other."""


class FrequencyModel(CountedModel):
    """A chain whose scores are logarithms of frequencies.

    Parameters
    ----------
    statistics : Statistics
    spelling : type
        The model of unseen words, and of pairs of neighbours with an unseen word.
    strength : float
        Strength of the prior of the spelling model, if it has one.
    mu_oov : float
        Exponent of the distribution of an unseen word ([2]_, 4.5).
    exponents : mapping from name to float
        Exponents that differ from their defaults.
    floor : float
        Replaces the logarithm of zero; may be -inf.
    known_neighbour : {"spelling", "word"}
        What a rate sees of the known word, if the other one is unseen.
    """

    half_known: HalfKnownRates | None = None

    @staticmethod
    def templates(encoder: Encoder) -> list[Template]:
        """Return the templates of the events that are counted."""
        word = encoder.names[0]
        pair = Template(((word, -1), (word, 0)), (-1, 0), encoder.links != "next")
        return [Template(((word, 0),)), pair]

    def __init__(
        self,
        statistics: Statistics,
        spelling: type,
        strength: float,
        mu_oov: float,
        exponents: Mapping[str, float],
        floor: float,
        known_neighbour: str = "spelling",
    ):
        self.statistics = stats = statistics
        self._floor = floor
        self.spelling = spelling(stats, strength)
        frequency = stats.by_word.data / np.repeat(stats.n_seen, np.diff(stats.by_word.indptr))
        words = stats.by_word.copy()
        words.data = np.log(frequency) - FLOOR
        entries = [*state_entries(self.spelling, mu_oov, [], WORDS), Entry("edges", 1.0)]
        self.exponents = Exponents(entries, n_slots=len(self.spelling.names) + 1)
        self.exponents.update(exponents)
        blocks, n_entries = [self.spelling.coef, words], self.spelling.coef.nnz + words.nnz
        self.state = StateWeights(blocks, self.exponents.table(), n_entries)
        # Unseen words have all labels, unless their spelling has frequencies of zero.
        self._has_zeros = np.array([True, True, self.spelling.has_zeros])
        self._fit_pairs(frequency, known_neighbour)

    def prepare(self, observations: Observations) -> Prepared:
        """Look up the attributes of tokens."""
        rows, kind = self._rows(observations)
        window, structure = observations.window(), observations.structure
        pair = self.templates(self.statistics.encoder)[1]
        edge = self._index.rows(window.of_links(pair))
        # If a word is unseen, the spelling of both counts, which higher numbers code.
        code = self._pairs.shape[0] + self.spelling.pair_codes(window, pair)
        links = np.stack(structure.links())
        known = rows[links, -1] >= 0
        if self.half_known is not None:
            words = np.where(known, rows[links, -1] - self.state.starts[1], -1)
            half = self.half_known.codes(words, rows[links, 0])
            code = np.where(half >= 0, self._pairs.shape[0] + N_SIGNATURES**2 + half, code)
        edge = np.where(edge >= 0, edge, np.where(known.all(axis=0), LABELS_ONLY, code))
        return Prepared(rows, kind, PreparedLinks.of(structure, [edge]))

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

    def contributions(
        self, prepared: Prepared, y: np.ndarray, classes: np.ndarray, structure: Structure
    ) -> Contributions:
        """Return the contributions that sum to the score of a labelling of one unit."""
        keys, encoder = self.attribute_keys(), self.statistics.encoder
        state = state_contributions(self.state, prepared, y, keys, encoder, self._has_zeros)
        edges = self._edge_contributions(prepared, y, classes, structure)
        return Contributions.join([state, edges])

    def common_transitions(self) -> np.ndarray:
        """Transition scores that are the same for all tokens, (n_labels, n_labels)."""
        n_labels = self.statistics.n_labels
        return np.full((n_labels, n_labels), self._floor)

    def boundaries(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the first and of the last label, each (n_labels,): always zero."""
        n_labels = self.statistics.n_labels
        return np.zeros(n_labels), np.zeros(n_labels)

    def requirements(
        self, encoder: Encoder, classes: np.ndarray, more: Sequence[int] = ()
    ) -> Iterator[Requirement]:
        yield from super().requirements(encoder, classes)
        n = len(classes)
        yield Fact("_floor", self._floor in (FLOOR, -np.inf), f"must be {FLOOR} or -inf")
        yield Array("_has_zeros", self._has_zeros, (N_KINDS,), kind="b")
        yield from encoder.indexed("_index", [(self.templates(encoder)[1], self._index)])
        shape = len(self._index), n * n
        yield from sparse("_pairs", self._pairs, shape, has_order=True)
        yield from sparse("_label_pairs", self._label_pairs, (1, n * n), has_order=True)
        yield from below("spelling", self.spelling.pair_requirements(n))
        half_known = self.half_known
        is_known = half_known is None or isinstance(half_known, HalfKnownRates)
        yield Fact("half_known", is_known, "must be None or HalfKnownRates")
        if half_known is not None:
            of_rates = half_known.requirements(self.spelling, len(encoder.lexicon))
            yield from below("half_known", of_rates)

    def _fit_pairs(self, frequency: np.ndarray, known_neighbour: str) -> None:
        """Logarithms of CR(y; y' | x, x') of the words seen next to each other ([2]_, eq. 13)."""
        stats, n = self.statistics, self.statistics.n_labels
        template = self.templates(stats.encoder)[1]
        self._index, rows = pair_counts(stats.counts[template], n)
        keys, by_pair, by_word = self._index.keys, rows.csr(), Rows.of(stats.by_word)
        scores = np.log(rows.data)
        scores -= rows.repeat(np.log(rows.sums()))
        labels = np.divmod(rows.indices, n)[::-1]
        for words, label in zip(keys.T, labels, strict=True):
            scores -= np.log(entry_values(by_word, frequency, rows.repeat(words), label))
        self._pairs = _with_data(by_pair, scores)
        both = sum_rows(by_pair, np.zeros(len(keys), dtype=np.int64), 1)
        joint, (current, previous) = both.data / both.data.sum(), np.divmod(both.indices, n)
        before, after = np.bincount(previous, joint, n), np.bincount(current, joint, n)
        rate = joint / (before[previous] * after[current])  # of the label pairs that occurred
        self._label_pairs = _with_data(both, np.log(rate))
        lexicon = stats.encoder.lexicon
        self.spelling.fit_pairs(lexicon, keys, by_pair)
        if known_neighbour == "word":
            given = self.spelling, lexicon, keys, by_pair, by_word, frequency
            self.half_known = HalfKnownRates(*given)
            largest = len(keys) + N_SIGNATURES**2 + self.half_known.n_codes
            if largest >= LABELS_ONLY:
                raise ValueError(f'known_neighbour="word": {len(lexicon)} words are too many')

    def _edge_gains(self, prepared: Prepared) -> tuple[np.ndarray, sp.csr_array]:
        """Find the row of each token, and log CR minus the floor for the rows in use."""
        wanted = prepared.links.edges[:, 0]
        used, row = np.unique(wanted, return_inverse=True)
        n_pairs = self._pairs.shape[0]
        codes = used[(used >= n_pairs) & (used < LABELS_ONLY)] - n_pairs
        rates = self._rates_of_codes(codes)
        backed_off = _with_data(rates, np.log(rates.data))
        blocks = [self._pairs[used[(used >= 0) & (used < n_pairs)]], backed_off, self._label_pairs]
        gains = sp.vstack(blocks, format="csr")
        gains.data = self.exponents["edges"] * gains.data - FLOOR
        first = np.count_nonzero(used < 0)
        row -= first
        empty = np.diff(gains.indptr) == 0
        row = np.where((row >= 0) & empty[row], gains.shape[0] - 1, row)
        return row, gains

    def _rates_of_codes(self, codes: np.ndarray) -> sp.csr_array:
        """Rates of pairs with an unseen word, CSR of shape (n_codes, n_labels ** 2)."""
        if self.half_known is None:
            return self.spelling.co_occurrence(codes)
        first = np.searchsorted(codes, N_SIGNATURES**2)
        of_spelling = self.spelling.co_occurrence(codes[:first])
        of_words = self.half_known.co_occurrence(codes[first:] - N_SIGNATURES**2)
        return sp.vstack([of_spelling, of_words], format="csr")

    def _edge_contributions(
        self, prepared: Prepared, y: np.ndarray, classes: np.ndarray, structure: Structure
    ) -> Contributions:
        """Make one contribution for each transition, named by its condition."""
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
        given[wanted >= n_pairs + N_SIGNATURES**2] = "known word and spelling"
        given[row == gains.shape[0] - 1] = "labels"
        pairs = zip(transition_names(y[previous], y[current], classes), given, strict=True)
        names = [f"{labels} | {condition}" for labels, condition in pairs]
        return Contributions.of("transition", current, names, score / factor, factor)


def _with_data(matrix: sp.csr_array, data: np.ndarray) -> sp.csr_array:
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
