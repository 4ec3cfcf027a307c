"""The estimates of a smoothed model, each filled in from a broader estimate."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...counts import BOUNDARY, Table, Template
from ...counts.counts import cut
from ...counts.links import TYPED_PAIRS
from ...counts.observations import ATTRIBUTES
from ...counts.rows import (
    KeyIndex,
    Rows,
    StateWeights,
    association,
    label_counts,
    pair_counts,
    place_rows,
    stack_rows,
)
from ...counts.triangles import TRIANGLES
from ...utils.memory import release_freed_memory
from .experts import ContextExpert, EdgeExpert, given_templates
from .model import Estimate, Exponents, Statistics, probabilities, smooth
from .transitions import (
    LABEL_PAIRS,
    Transitions,
    TypeRates,
    have_direction,
    label_transitions,
    linked_labels,
    pairs_of_links,
)
from .triangle_rates import TriangleRates

# The prior of an estimate counts as much as this number of observations.
WORD_STRENGTH = 0.3
CONTEXT_STRENGTH = 2.0
# Number of (word, label) pairs whose scores are computed at once.
BLOCK = 2**20
# Number of counted events from which rates of pairs are computed at once.
EVENTS = 2**17
# From this number of counted events on, freed memory is returned to the system at once, although
# the system has to clear it again.
MANY_EVENTS = 2**23


class Smoothing:
    """Turns counts into the weights of a smoothed model.

    Estimates that are priors of others are kept while this object is: they are as large as the
    counts, and nothing but the weights is needed to predict.

    Parameters
    ----------
    statistics : Statistics
    spelling : type
        The model of unseen words.
    contexts : list of ContextExpert
    edges : list of EdgeExpert
    strength : float
        Multiplies the strength of every prior, a number of observations.

    Attributes
    ----------
    spelling : object
        The fitted model of unseen words.
    """

    def __init__(
        self,
        statistics: Statistics,
        spelling: type,
        contexts: list[ContextExpert],
        edges: list[EdgeExpert],
        strength: float,
    ):
        self.spelling = spelling(statistics, strength)
        self._statistics, self._strength = statistics, strength
        self._contexts, self._edges = contexts, edges
        self._is_large = statistics.counts.n_events >= MANY_EVENTS
        self._priors = {*given_templates(edges), *(expert.broader for expert in contexts)}
        self._estimates: dict[Template, Estimate] = {}

    def state_weights(self, exponents: np.ndarray) -> tuple[StateWeights, list[Any]]:
        """Return weights of spelling and words, and of contexts, and the index of each context."""
        stats = self._statistics
        of_words = [Rows.of(self.spelling.coef), self._of_words()]
        n_entries = [len(block.data) for block in of_words]
        n_entries += [len(stats.counts[expert.template].weights) for expert in self._contexts]
        indices: list[Any] = []

        def of_context(expert: ContextExpert) -> Rows:
            self._release()
            index, counts, prior = self._estimate(expert.template, expert.broader)
            indices.append((expert.template, index))
            return association(counts, prior, CONTEXT_STRENGTH * self._strength)

        blocks = chain(of_words, map(of_context, self._contexts))  # made one by one
        return StateWeights(blocks, exponents, sum(n_entries)), indices

    def _of_words(self) -> Rows:
        """Estimate the weights of words relative to their spelling."""
        stats, strength = self._statistics, WORD_STRENGTH * self._strength
        unseen, by_word = self._probability_unseen(), Rows.of(stats.by_word)
        words = KeyIndex(np.arange(by_word.shape[0], dtype=np.int32)[:, None])
        probability = smooth(by_word, stats.n_seen, unseen, strength)
        self._estimates[Template(((stats.word, 0),))] = Estimate(words, by_word, probability)
        return association(by_word, unseen, strength)

    def _estimate(
        self, template: Template, broader: Template | None
    ) -> tuple[KeyIndex, Rows, np.ndarray]:
        """Index and count the attributes of a template, and find the prior of each count.

        The prior is the estimate of a broader template, or the label distribution. The estimate
        is kept if it is a prior itself.
        """
        stats = self._statistics
        index, counts = label_counts(stats.counts[template], stats.n_labels)
        if broader is None:
            prior = stats.label_prior[counts.indices]
        else:
            events = stats.counts[template].events[counts.indptr[:-1]]
            shared = [template.symbols.index(symbol) for symbol in broader.symbols]
            prior = self._estimates[broader].at([events[:, k] for k in shared], counts)
        if template in self._priors:
            strength = CONTEXT_STRENGTH * self._strength
            probability = smooth(counts, counts.sums(), prior, strength)
            self._estimates[template] = Estimate(index, counts, probability)
        return index, counts, prior

    def attribute_weights(self) -> sp.csr_array:
        """Return the weights of the columns of X, CSR of shape (n_attributes, n_labels)."""
        stats = self._statistics
        index, counts = label_counts(stats.counts[ATTRIBUTES], stats.n_labels)
        prior = stats.label_prior[counts.indices]
        weights = association(counts, prior, CONTEXT_STRENGTH * self._strength)
        return place_rows(weights, index, stats.encoder.n_weighted).csr()

    def attribute_exponent(self) -> float:
        """Return the default exponent of attributes: smaller, the more of them a token has.

        Attributes beside words mostly repeat what words and their spelling tell.
        """
        stats = self._statistics
        per_token = stats.counts[ATTRIBUTES].weights.sum() / max(stats.n_seen.sum(), 1.0)
        per_token = float(max(per_token, 1.0))
        return per_token**-0.5 if stats.encoder.bag is None else 0.25 / per_token

    def _probability_unseen(self) -> np.ndarray:
        """P(y | spelling of w) for each entry (w, y) of the counts by word."""
        by_word, spelling = self._statistics.by_word, self.spelling
        spelled = self._statistics.encoder.lexicon.spelling
        weights = StateWeights.of_one(spelling.coef, spelling.exponents[None, :])
        values = np.empty(by_word.nnz)
        step = max(1, BLOCK // by_word.shape[1])
        for start in range(0, len(spelled), step):
            block = spelling.rows(spelled[start : start + step])
            scores = probabilities(weights.scores(block, np.zeros(len(block), dtype=np.int8)))
            indptr = by_word.indptr[start : start + len(block) + 1]
            word = np.repeat(np.arange(len(block)), np.diff(indptr))
            entries = slice(indptr[0], indptr[-1])
            values[entries] = scores[word, by_word.indices[entries]]
        return values

    def edge_weights(self, inner: np.ndarray) -> tuple[sp.csr_array, list[Any]]:
        """How far symbols raise the scores of label pairs above label bigrams, ``inner``.

        The prior of a pair is CR(y; y') p(y | x) p(y' | x'). All probabilities of one rate are
        conditioned on the same features, and estimated on the same sample ([ECRN] III-D). They are
        known once there are :meth:`state_weights`.
        """
        for template in given_templates(self._edges):
            if template not in self._estimates:
                self._estimate(template, None)
        n_entries, indices = 0, []
        for expert in self._edges:
            self._release()
            events = self._statistics.counts[expert.template].events
            is_link = events[:, -2] != BOUNDARY
            n_entries += int(is_link.sum())
            indices.append((expert.template, KeyIndex(events[is_link, :-2])))
        rate = np.exp(inner)
        gains = (self._gains_of(expert, rate) for expert in self._edges)
        blocks = chain(*gains, [Rows.empty(inner.size)])
        return stack_rows(blocks, n_entries)[0], indices

    def _gains_of(self, expert: EdgeExpert, rate: np.ndarray) -> Iterator[Rows]:
        """Estimate the weights of one expert relative to its prior, some rows at a time."""
        stats = self._statistics
        self._release()
        for part in cut(stats.counts[expert.template], len(expert.template.symbols), EVENTS):
            index, counts = pair_counts(part, stats.n_labels)
            labels, keys = np.divmod(counts.indices, stats.n_labels)[::-1], index.keys
            prior = rate[labels]
            pairs = zip([expert.before, expert.here], labels, strict=True)
            for (template, position), label in pairs:
                wanted = counts._replace(indices=label)
                prior *= self._estimates[template].at([keys[:, position]], wanted)
            gains = association(counts, prior, expert.strength * self._strength)
            yield gains._replace(data=np.multiply(gains.data, expert.exponent, out=gains.data))

    def _release(self) -> None:
        """Return the memory of intermediate results to the system, if that is worth the time."""
        if self._is_large:
            release_freed_memory()

    def transitions(self) -> Transitions:
        """Return the rates of the labels of links, and of labels with the ends of a sequence."""
        stats = self._statistics
        counts, word, links = stats.counts, stats.word, stats.encoder.links
        if links == "any":
            pairs = pairs_of_links(counts[LABEL_PAIRS], self._are_directed())
            ends = Table(np.empty((0, 2), dtype=np.int32), np.empty(0))
        else:
            pairs = counts[Template(((word, 0),), (-1, 0))]
            ends = counts[Template(((word, 1),), linked=links != "next")]
        counted = linked_labels(pairs, ends, stats.n_labels)
        return label_transitions(*counted, stats.label_prior, self._strength)

    def type_rates(self, inner: np.ndarray) -> TypeRates | None:
        """Return the rates of the types of links, if links have types."""
        stats, types = self._statistics, self._statistics.encoder.edge_types
        if types is None:
            return None
        pairs = stats.counts[TYPED_PAIRS]
        if stats.encoder.links == "any":
            pairs = pairs_of_links(pairs, self._are_directed())
        return TypeRates(pairs, len(types), np.exp(inner), stats.label_prior, self._strength)

    def triangle_rates(
        self, inner: np.ndarray, type_rates: TypeRates | None, exponents: Exponents
    ) -> TriangleRates | None:
        """Return the rates of the labels of triangles, if these were counted."""
        stats, n = self._statistics, self._statistics.n_labels
        if TRIANGLES not in stats.counts:
            return None
        scores = inner[None]
        if type_rates is not None:
            gains = type_rates.coef.toarray().reshape(-1, n, n).transpose(0, 2, 1)
            scores = np.concatenate([scores, scores + exponents["edge types"] * gains])
        table, is_directed, rates = stats.counts[TRIANGLES], self._are_directed(), np.exp(scores)
        return TriangleRates(table, is_directed, rates, stats.label_prior, self._strength)

    def _are_directed(self) -> bool:
        """Tell whether the direction of the links of graphs means anything, for all or by type."""
        stats = self._statistics
        tables = [stats.counts[t] for t in (LABEL_PAIRS, TYPED_PAIRS) if t in stats.counts]
        return any(map(have_direction, tables))
