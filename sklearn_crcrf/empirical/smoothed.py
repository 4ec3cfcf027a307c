"""Smoothed co-occurrence rates: every zero count is filled from a broader estimate.

A state score is a sum of rows of one sparse matrix over (attribute, label) pairs, each row
multiplied by an exponent; see :func:`~sklearn_crcrf.counts.rows.association`.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.contributions import Contributions, attribute_contributions, transition_contributions
from ..counts import ColumnWindow, Template
from ..counts.observations import ATTRIBUTES, Encoder, Observations, links_of
from ..counts.rows import (
    WEAKEST,
    KeyIndex,
    association,
    label_counts,
    pair_counts,
    place_rows,
    short_ids,
)
from ..counts.state_weights import StateWeights
from ..counts.storage import Storable
from ..structures import ScoreGradient, Scores, Structure, TokenTransitions
from .contributions import attribute_names, edge_contributions, state_contributions
from .estimates import Estimate, smooth
from .experts import ContextExpert, EdgeExpert, Symbols, edge_experts
from .exponents import Entry, Exponents, state_entries
from .model import Prepared, Statistics, are_first, spelling_keys, word_kinds
from .transitions import label_transitions

__all__ = ["SmoothedModel"]

# The prior of an estimate counts as much as this number of observations.
WORD_STRENGTH = 0.3
CONTEXT_STRENGTH = 2.0
# Exponent of the rates of labels with the beginning and the end of a sequence.
BOUNDARY_EXPONENT = 0.33
# Number of (word, label) pairs whose scores are computed at once.
BLOCK = 2**20


class SmoothedModel(Storable):
    """A chain whose scores are logarithms of smoothed estimates.

    Parameters
    ----------
    statistics : Statistics
    spelling : type
        The model of unseen words.
    strength : float
        Multiplies the strength of every prior, a number of observations.
    mu_oov : float
        Exponent of the distribution of an unseen word.
    exponents : mapping from name to float
        Exponents that differ from their defaults.
    experts : sequence of ContextExpert
        Only the experts that were counted take part.
    """

    def __init__(
        self,
        statistics: Statistics,
        spelling: type,
        *,
        strength: float,
        mu_oov: float,
        exponents: Mapping[str, float],
        experts: Sequence[ContextExpert],
    ):
        self.statistics = statistics
        self._strength = max(strength, WEAKEST)
        counted = [expert for expert in experts if expert.template in statistics.counts]
        self._fit_state(spelling, mu_oov, exponents, counted)
        word = statistics.word
        self.transitions = label_transitions(
            statistics.counts[Template(((word, 0),), (-1, 0))],
            statistics.counts[Template(((word, 1),), linked=statistics.encoder.linked)],
            statistics.label_prior,
            self._strength,
        )
        self._fit_edges()
        del self._priors, self._estimates  # as large as the counts, and not needed to predict

    @staticmethod
    def templates(
        encoder: Encoder,
        exponents: Mapping[str, float] | None,
        experts: Sequence[ContextExpert],
    ) -> list[Template]:
        """The templates that are counted if these exponents are set; None for all templates."""
        names = encoder.names
        used = [e.template for e in experts if exponents is None or _is_used(e, exponents)]
        edges = list(edge_experts(names, encoder.linked))
        of_edges = [template for edge in edges for template, _ in (edge.before, edge.here)]
        templates = [Template(((names[0], 0),)), *used, *(e.template for e in edges), *of_edges]
        return list(dict.fromkeys(templates))

    def prepare(self, observations: Observations, structure: Structure) -> Prepared:
        """Look up the attributes of tokens."""
        word, kind = word_kinds(self.statistics.n_seen, observations)
        links = links_of(structure)
        window = ColumnWindow(observations.columns, None, structure.offsets, links)
        n_spelling = len(self.spelling.names)
        rows = np.empty((len(word), self.state.exponents.shape[1]), dtype=np.int32)
        rows[:, :n_spelling] = self.spelling.rows(observations.spelling)[observations.word]
        found = [word, *(i.rows(window.symbols(t)) for t, i in self._contexts)]
        for slot, (row, start) in enumerate(zip(found, self.state.starts[1:], strict=True)):
            rows[:, n_spelling + slot] = np.where(row < 0, -1, row + start)
        edges = np.stack([i.rows(window.symbols(t)) for t, i in self._edges], axis=1)
        return Prepared(rows, kind, edges, are_first(structure), observations.attributes)

    def scores(self, prepared: Prepared) -> Scores:
        """Scores of prepared tokens."""
        state = self.state.scores(prepared.rows, prepared.kind)
        if prepared.attributes is not None:
            state += self.exponents["attributes"] * (prepared.attributes @ self.attributes)
        inner = self.common_transitions()
        gains = self._edge_gains(prepared)
        gains.data *= self.exponents["edges"]
        row = np.where(prepared.first, -1, np.arange(len(prepared.first)))
        return Scores(
            state,
            inner,
            *self.boundaries(),
            TokenTransitions.from_gains(row, gains, inner),
        )

    @property
    def coef(self) -> sp.csr_array:
        """Weights of attributes; the columns of a sparse X come last."""
        if ATTRIBUTES not in self.statistics.counts:
            return self.state.coef
        return sp.vstack([self.state.coef, self.attributes], format="csr")

    def attribute_keys(self) -> list[tuple[Symbols, np.ndarray]]:
        """For each slot: the symbols of its attributes, and their ids for each row."""
        word = self.statistics.word
        words = ((word, 0),), np.arange(self.statistics.by_word.shape[0])[:, None]
        return [*spelling_keys(self.spelling, word), words, *self.contexts()]

    def contexts(self) -> list[tuple[Symbols, np.ndarray]]:
        """:meth:`attribute_keys` of the context experts alone."""
        return [(template.symbols, index.keys) for template, index in self._contexts]

    def contributions(
        self, prepared: Prepared, y: np.ndarray, classes: np.ndarray, structure: Structure
    ) -> Contributions:
        """The contributions that sum to the score of a labelling of one unit."""
        encoder, exponents = self.statistics.encoder, self.exponents
        outer = exponents["transition"], exponents["boundary"]
        inner, begin, end = self.transitions
        rows = np.where(prepared.edges < 0, -1, prepared.edges + self._edge_starts)
        edges = edge_contributions(
            self.edge_coef,
            rows,
            np.array([expert.exponent for expert in self._edge_experts()]),
            y,
            classes,
            attribute_names(
                [(t.symbols, i.keys) for t, i in self._edges], encoder, rows, encoder.linked
            ),
            structure,
        )
        entries = [
            state_contributions(self.state, prepared, y, self.attribute_keys(), encoder),
            transition_contributions(inner, begin, end, y, classes, structure, *outer),
            edges._replace(factor=exponents["edges"] * edges.factor),
        ]
        if prepared.attributes is not None:
            names = [f"x{j}" for j in range(encoder.n_attributes)]
            given = prepared.attributes, self.attributes, y, names, exponents["attributes"]
            entries.append(attribute_contributions(*given))
        return Contributions.join(entries)

    def common_transitions(self) -> np.ndarray:
        """Transition scores that are the same for all tokens, (n_labels, n_labels)."""
        return self.exponents["transition"] * self.transitions.inner

    def boundaries(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the first and of the last label, each (n_labels,)."""
        exponent = self.exponents["boundary"]
        return exponent * self.transitions.begin, exponent * self.transitions.end

    def copy(self) -> "SmoothedModel":
        """The same model; its exponents can be set without changing this one."""
        twin = copy(self)
        twin.exponents, twin.state = copy(self.exponents), copy(self.state)
        return twin

    def set_exponents(self, values: np.ndarray) -> None:
        """Replace all exponents."""
        self.exponents.values = values
        self.state.exponents = self.exponents.table()

    def pullback(self, prepared: Prepared, scores: Scores, weight: ScoreGradient) -> np.ndarray:
        """Gradient in the exponents, given the scores and the score gradient ``weight``."""
        state = self.state.pullback(prepared.rows, prepared.kind, weight.state)
        gradient = dict(zip(self.exponents.names, self.exponents.pullback(state), strict=True))
        labels = scores.token_transitions.previous, scores.token_transitions.current
        raised = scores.token_transitions.score - scores.transition[labels]
        gradient["transition"] = (weight.transition * self.transitions.inner).sum()
        gradient["transition"] += weight.token_transitions @ self.transitions.inner[labels]
        gradient["boundary"] = weight.begin @ self.transitions.begin
        gradient["boundary"] += weight.end @ self.transitions.end
        gradient["edges"] = weight.token_transitions @ raised / self.exponents["edges"]
        if prepared.attributes is not None:
            state_scores = prepared.attributes @ self.attributes
            gradient["attributes"] = state_scores.multiply(weight.state).sum()
        return np.array(list(gradient.values()))

    def _fit_state(
        self,
        spelling: type,
        mu_oov: float,
        exponents: Mapping[str, float],
        experts: Sequence[ContextExpert],
    ) -> None:
        """Weights of the spelling, the words and their contexts, and their exponents."""
        stats = self.statistics
        edges = self._edge_experts()
        # Only estimates that serve as priors are kept.
        self._priors: set[Template | None] = {expert.broader for expert in experts}
        self._priors |= {template for edge in edges for template, _ in (edge.before, edge.here)}
        blocks = self._fit_words(spelling)
        self._contexts: list[Any] = []
        blocks += [self._fit_context(expert) for expert in experts]
        for template, _ in (given for edge in edges for given in (edge.before, edge.here)):
            if template not in self._estimates:
                self._fit_estimate(template, None)
        entries = state_entries(self.spelling, 1.0, mu_oov, experts)
        entries += [Entry("transition", 1.0), Entry("boundary", BOUNDARY_EXPONENT)]
        entries += [Entry("edges", 1.0)]
        if ATTRIBUTES in stats.counts:
            entries.append(Entry("attributes", self._fit_attributes()))
        self.exponents = Exponents(entries, n_slots=len(self.spelling.names) + 1 + len(experts))
        self.exponents.update(exponents)
        if self.exponents["edges"] < 0.0:  # an edge may only raise a transition
            raise ValueError(f"exponents: 'edges' must not be negative, got {exponents['edges']}")
        self.state = StateWeights(blocks, self.exponents.table())

    def _fit_words(self, spelling: type) -> list[sp.csr_array]:
        """Weights of the spelling, and of words relative to their spelling."""
        stats, strength = self.statistics, WORD_STRENGTH * self._strength
        self.spelling = spelling(
            stats.encoder.lexicon, stats.by_word, stats.label_prior, self._strength
        )
        unseen = self._probability_unseen()
        words = KeyIndex(np.arange(stats.by_word.shape[0], dtype=np.int32)[:, None])
        probability = smooth(stats.by_word, unseen, strength)
        this_word = Template(((stats.word, 0),))
        self._estimates = {this_word: Estimate(words, stats.by_word, probability)}
        return [self.spelling.coef, association(stats.by_word, unseen, strength)]

    def _fit_context(self, expert: ContextExpert) -> sp.csr_array:
        """Estimate one expert; return its weights relative to its prior."""
        index, counts, prior = self._fit_estimate(expert.template, expert.broader)
        self._contexts.append((expert.template, index))
        return association(counts, prior, CONTEXT_STRENGTH * self._strength)

    def _fit_estimate(
        self, template: Template, broader: Template | None
    ) -> tuple[KeyIndex, sp.csr_array, np.ndarray]:
        """The index and the label counts of a template, and the prior of each count.

        The prior is the estimate of a broader template, or the label distribution. The estimate
        is kept if it is a prior itself.
        """
        stats = self.statistics
        keys, counts = label_counts(stats.counts[template], stats.n_labels)
        index = KeyIndex(keys)
        if broader is None:
            prior = stats.label_prior[counts.indices]
        else:
            shared = [template.symbols.index(symbol) for symbol in broader.symbols]
            symbols = np.repeat(keys[:, shared], np.diff(counts.indptr), axis=0)
            prior = self._estimates[broader].at(list(symbols.T), counts.indices)
        if template in self._priors:
            probability = smooth(counts, prior, CONTEXT_STRENGTH * self._strength)
            self._estimates[template] = Estimate(index, counts, probability)
        return index, counts, prior

    def _fit_attributes(self) -> float:
        """Fit weights of the columns of X; return their exponent.

        The more attributes a token has, the smaller the exponent.
        """
        stats = self.statistics
        table = stats.counts[ATTRIBUTES]
        keys, counts = label_counts(table, stats.n_labels)
        weights = association(
            counts, stats.label_prior[counts.indices], CONTEXT_STRENGTH * self._strength
        )
        self.attributes = place_rows(weights, keys[:, 0], stats.encoder.n_attributes)
        per_token = table.weights.sum() / max(stats.n_seen.sum(), 1.0)
        return max(per_token, 1.0) ** -0.5

    def _probability_unseen(self) -> np.ndarray:
        """P(y | spelling of w) for each entry (w, y) of the counts by word."""
        by_word, spelling = self.statistics.by_word, self.spelling
        rows = spelling.rows(self.statistics.encoder.lexicon.spelling)
        weights = StateWeights([spelling.coef], spelling.exponents[None, :])
        values = np.empty(by_word.nnz)
        step = max(1, BLOCK // by_word.shape[1])
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            scores = weights.scores(block, np.zeros(len(block), dtype=np.int8))
            np.exp(scores - scores.max(axis=1, keepdims=True), out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            indptr = by_word.indptr[start : start + len(block) + 1]
            word = np.repeat(np.arange(len(block)), np.diff(indptr))
            entries = slice(indptr[0], indptr[-1])
            values[entries] = scores[word, by_word.indices[entries]]
        return values

    def _fit_edges(self) -> None:
        """Compute how far symbols raise the scores of label pairs above label bigrams.

        The prior of a pair is CR(y; y') p(y | x) p(y' | x'). All probabilities of one rate are
        conditioned on the same features, and estimated on the same sample ([ECRN] III-D).
        """
        stats = self.statistics
        rate = np.exp(self.transitions.inner)
        blocks, self._edges = [], []
        for expert in self._edge_experts():
            keys, counts = pair_counts(stats.counts[expert.template], stats.n_labels)
            labels = np.divmod(counts.indices, stats.n_labels)[::-1]
            symbols = np.repeat(keys, np.diff(counts.indptr), axis=0)
            prior = rate[labels]
            for (template, position), label in zip(
                [expert.before, expert.here], labels, strict=True
            ):
                prior = prior * self._estimates[template].at([symbols[:, position]], label)
            gains = association(counts, prior, expert.strength * self._strength)
            gains.data *= expert.exponent
            blocks.append(gains)
            self._edges.append((expert.template, KeyIndex(keys)))
        self._edge_starts = np.cumsum([0, *(b.shape[0] for b in blocks[:-1])], dtype=np.int32)
        self.edge_coef = sp.vstack([short_ids(block) for block in blocks], format="csr")

    def _edge_experts(self) -> list[EdgeExpert]:
        encoder = self.statistics.encoder
        return list(edge_experts(encoder.names, encoder.linked))

    def _edge_gains(self, prepared: Prepared) -> sp.csr_array:
        """Scores that the edges add to transitions, CSR of shape (n_tokens, n_labels ** 2)."""
        used = (prepared.edges >= 0) & ~prepared.first[:, None]
        indptr = np.append(0, np.cumsum(used.sum(axis=1)))
        columns = (prepared.edges + self._edge_starts)[used]
        shape = len(prepared.edges), self.edge_coef.shape[0]
        return sp.csr_array((np.ones(len(columns)), columns, indptr), shape) @ self.edge_coef


def _is_used(expert: ContextExpert, exponents: Mapping[str, float]) -> bool:
    names = [expert.name, f"{expert.name}/seldom", f"{expert.name}/unseen"]
    return any([expert.known, expert.unseen, *(name in exponents for name in names)])
