"""Smoothed co-occurrence rates: every zero count is filled from a broader estimate.

A state score is a sum of rows of one sparse matrix over (attribute, label) pairs, each row
multiplied by an exponent; see :func:`~sklearn_crcrf.counts.rows.association`.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.contributions import Contributions, attribute_contributions, transition_contributions
from ..counts import Table, Template
from ..counts.edge_types import EDGE_TYPE, TYPED_PAIRS
from ..counts.observations import ATTRIBUTES, Encoder, Observations
from ..counts.prepared_links import PreparedLinks
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
from ..counts.triangles import TRIANGLES
from ..segments.roles import Roles
from ..structures import (
    ScoreGradient,
    Scores,
    SemiMarkovChain,
    Structure,
    TokenTransitions,
)
from .contributions import attribute_names, edge_contributions, state_contributions
from .estimates import Estimate, smooth
from .experts import ContextExpert, EdgeExpert, Experts, Symbols, edge_experts, given_templates
from .exponents import Entry, Exponents, state_entries
from .link_gains import LinkGains
from .model import Statistics, spelling_keys, word_kinds
from .prepared import Prepared
from .segment_rates import EVIDENCE, SegmentRates, with_segments
from .transitions import (
    LABEL_PAIRS,
    Transitions,
    have_direction,
    label_transitions,
    pairs_of_links,
)
from .triangle_rates import TriangleRates, exact_units
from .type_rates import TypeRates

__all__ = ["SmoothedModel"]

# The prior of an estimate counts as much as this number of observations.
WORD_STRENGTH = 0.3
CONTEXT_STRENGTH = 2.0
# Default exponent of the rates of types of links, beyond the common rates. In graphs with cycles it
# multiplies the exponent of all rates.
EDGE_TYPE_EXPONENT, GRAPH_TYPE_EXPONENT = 0.5, 1.0
# The exponents of rates that may only raise a transition.
RAISING = ("edges", "cliques", "edge types")
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
    experts : Experts
        Only the experts that were counted take part.
    are_segments : bool
        Whether the labels are labels of segments, on which default exponents depend.
    roles : Roles, optional
        The labels of segments, if segments were counted.
    """

    type_rates: TypeRates | None = None  # of models that were stored before links had types
    segments: Any = None  # SegmentRates, if segments are counted
    triangle_rates: TriangleRates | None = None  # of models that were stored before these were
    # How often words were predicted, and the tagger that predicts them from the second time on.
    n_predictions = 0
    word_tagger: Any = None

    def __init__(
        self,
        statistics: Statistics,
        spelling: type,
        *,
        strength: float,
        mu_oov: float,
        exponents: Mapping[str, float],
        experts: Experts,
        are_segments: bool,
        roles: Roles | None = None,
    ):
        self.statistics = statistics
        self._strength = max(strength, WEAKEST)
        if roles is not None:
            given = statistics.counts, statistics.word, roles
            self.segments = SegmentRates(*given, self._strength)
        contexts = [e for e in experts.contexts if e.template in statistics.counts]
        # Only estimates that serve as priors are kept.
        of_edges = given_templates(self._edge_experts())
        self._priors: set[Template | None] = {*of_edges, *(expert.broader for expert in contexts)}
        of_words = self._fit_words(spelling)
        self.exponents = self._default_exponents(contexts, mu_oov, experts.exponents(are_segments))
        self.exponents.update(exponents)
        for name in RAISING:
            if name in self.exponents.names and self.exponents[name] < 0.0:
                raise ValueError(f"exponents: {name!r} must not be negative, got {exponents[name]}")
        self.state = self._fit_state(of_words, contexts)
        for template in of_edges:
            if template not in self._estimates:
                self._fit_estimate(template, None)
        self.transitions = self._fit_transitions()
        self._fit_edges()
        self.type_rates = self._fit_types()
        self.triangle_rates = self._fit_triangles()
        del self._priors, self._estimates  # as large as the counts, and not needed to predict

    def __getstate__(self) -> dict[str, Any]:
        of_predictions = "n_predictions", "word_tagger"
        return {k: v for k, v in super().__getstate__().items() if k not in of_predictions}

    @staticmethod
    def templates(
        encoder: Encoder, exponents: Mapping[str, float] | None, experts: Experts
    ) -> list[Template]:
        """The templates that are counted if these exponents are set; None for all templates."""
        templates = [
            Template(((encoder.names[0], 0),)),
            *experts.templates(exponents),
            *([LABEL_PAIRS, TRIANGLES] if encoder.links == "any" else []),
            *([TYPED_PAIRS] if encoder.edge_types is not None else []),
        ]
        return list(dict.fromkeys(templates))

    def prepare(self, observations: Observations, structure: Structure) -> Prepared:
        """Look up the attributes of tokens."""
        word, kind = word_kinds(self.statistics.n_seen, observations)
        window = observations.window(structure)
        n_spelling = len(self.spelling.names)
        rows = np.empty((len(word), self.state.exponents.shape[1]), dtype=np.int32)
        rows[:, :n_spelling] = self.spelling.rows(observations.spelling)[observations.word]
        found = [word, *(i.rows(window.symbols(t)) for t, i in self._contexts)]
        for slot, (row, start) in enumerate(zip(found, self.state.starts[1:], strict=True)):
            rows[:, n_spelling + slot] = np.where(row < 0, -1, row + start)
        n_links = len(structure.links()[0])
        edges = np.empty((n_links, len(self._edges)), dtype=np.int32)
        for slot, (template, index) in enumerate(self._edges):
            edges[:, slot] = index.rows(window.of_links(template))
        links = PreparedLinks.of(structure, edges, observations.edge_types)
        if self.triangle_rates is not None:
            links = links.with_exact(exact_units(structure, self.statistics.n_labels))
        segments = None if self.segments is None else self.segments.rows(window)
        has_triangles = len(structure.triangles) > 0
        return Prepared(rows, kind, links, observations.attributes, segments, has_triangles)

    def structure(self, structure: Structure, types: np.ndarray | None) -> Structure:
        """The structure of the scores, given links and the ids of their types.

        Triangles have scores if the structure can have them, and they were counted.
        """
        rates, n_labels = self.triangle_rates, self.statistics.n_labels
        if rates is None or not structure.takes_triangles(n_labels):
            return structure
        return rates.on(structure, types)

    def link_gains(self, prepared: Prepared) -> LinkGains:
        """How far the attributes of links raise transition scores; exponents do not matter."""
        row, links = self._distinct(prepared.links)
        types = None if self.type_rates is None else self.type_rates.gains(links.types)
        edges, inner = self._edge_gains(links.edges), self.transitions.inner
        return LinkGains.of(row, edges, types, inner, links.is_exact)

    def scores(self, prepared: Prepared, gains: LinkGains | None = None) -> Scores:
        """Scores of prepared tokens, whose ``link_gains`` may be known."""
        state = self.state.scores(prepared.rows, prepared.kind)
        if prepared.attributes is not None:
            state += self.exponents["attributes"] * (prepared.attributes @ self.attributes)
        gains = self.link_gains(prepared) if gains is None else gains
        transitions = gains.token_transitions(*self._exponents_of(gains))
        common = _not_above(self.common_transitions(), transitions)
        scores = Scores(state, common, *self.boundaries(), transitions)
        if not prepared.has_triangles:
            return scores
        return scores._replace(own=self.exponents["cliques"] * self._triangle_scores())

    def with_segments(
        self, structure: SemiMarkovChain, scores: Scores, prepared: Prepared
    ) -> Scores:
        """The scores of a chain, and of its counted segments."""
        gains = self.segments.gains(prepared.segments, structure, scores)
        return with_segments(structure, scores, self._segment_exponents(), gains)

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
        is_exact = prepared.links.is_exact is not None and bool(prepared.links.is_exact.all())
        common, of_symbols, of_types = self._link_exponents(is_exact)
        inner, begin, end = self.transitions
        rows = np.where(prepared.links.edges < 0, -1, prepared.links.edges + self._edge_starts)
        edges = edge_contributions(
            self.edge_coef,
            rows,
            np.array([expert.exponent for expert in self._edge_experts()]),
            y,
            classes,
            attribute_names(
                [(t.symbols, i.keys) for t, i in self._edges],
                encoder,
                rows,
                encoder.links != "next",
            ),
            structure,
        )
        entries = [
            state_contributions(self.state, prepared, y, self.attribute_keys(), encoder),
            transition_contributions(
                inner, begin, end, y, classes, structure, common, exponents["boundary"]
            ),
            edges._replace(factor=of_symbols * edges.factor),
        ]
        if self.type_rates is not None:
            types = prepared.links.types, encoder.symbols(EDGE_TYPE)
            entries.append(self.type_rates.contributions(*types, y, classes, structure, of_types))
        if self.triangle_rates is not None:
            of_cliques = exponents["cliques"]
            entries.append(self.triangle_rates.contributions(structure, y, classes, of_cliques))
        if prepared.attributes is not None:
            names = [f"x{j}" for j in range(encoder.n_attributes)]
            given = prepared.attributes, self.attributes, y, names, exponents["attributes"]
            entries.append(attribute_contributions(*given))
        if self.segments is not None:
            found = prepared.segments, structure, self.scores(prepared)
            of_segments = self._segment_exponents()
            entries.append(self.segments.contributions(*found, y, of_segments, encoder))
        return Contributions.join(entries)

    def common_transitions(self) -> np.ndarray:
        """Transition scores that are the same for all tokens, (n_labels, n_labels)."""
        return self._link_exponents()[0] * self.transitions.inner

    def boundaries(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the first and of the last label, each (n_labels,)."""
        exponent = self.exponents["boundary"]
        return exponent * self.transitions.begin, exponent * self.transitions.end

    def _link_exponents(self, is_exact: bool = False) -> tuple[float, float, float]:
        """The exponents of common rates, and beyond these of rates by symbols and by types.

        In graphs with cycles "edges" is the exponent of all rates: evidence comes around whatever
        it depends on. In graphs that are factored exactly it is "cliques".
        """
        exponents, has_types = self.exponents, self.type_rates is not None
        of_edges = exponents["cliques" if is_exact else "edges"]
        of_types = exponents["edge types"] if has_types else 0.0
        if self.statistics.encoder.links == "any":
            return of_edges, of_edges, of_edges * of_types
        return exponents["transition"], of_edges, of_types

    def _exponents_of(self, gains: LinkGains) -> Sequence[float | np.ndarray]:
        """The exponents of common rates, and of rates by symbols and types, of each entry."""
        if gains.is_exact is None:
            return self._link_exponents()
        both = zip(self._link_exponents(is_exact=True), self._link_exponents(), strict=True)
        return [np.where(gains.is_exact, exact, other) for exact, other in both]

    def _triangle_scores(self) -> np.ndarray:
        """The tables of triangles one after another, before their exponent."""
        assert self.triangle_rates is not None
        return self.triangle_rates.coef.toarray().ravel()

    def _segment_exponents(self) -> np.ndarray:
        """The exponents of what was counted of segments, by kind of evidence."""
        return np.array([self.exponents[evidence.exponent] for evidence in EVIDENCE])

    def copy(self) -> "SmoothedModel":
        """The same model; its exponents can be set without changing this one."""
        twin = copy(self)
        twin.exponents, twin.state = copy(self.exponents), copy(self.state)
        twin.n_predictions, twin.word_tagger = 0, None
        return twin

    def set_exponents(self, values: np.ndarray) -> None:
        """Replace all exponents."""
        self.n_predictions, self.word_tagger = 0, None
        self.exponents.values = values
        self.state.exponents = self.exponents.table()

    def pullback(
        self,
        prepared: Prepared,
        scores: Scores,
        weight: ScoreGradient,
        gains: LinkGains | None = None,
    ) -> np.ndarray:
        """Gradient in the exponents, given the scores and the score gradient ``weight``."""
        gains = self.link_gains(prepared) if gains is None else gains
        state = self.state.pullback(prepared.rows, prepared.kind, weight.state)
        gradient = dict(zip(self.exponents.names, self.exponents.pullback(state), strict=True))
        entries = weight.token_transitions
        gradient["boundary"] = weight.begin @ self.transitions.begin
        gradient["boundary"] += weight.end @ self.transitions.end
        of_common = (weight.transition * self.transitions.inner).sum()
        if self.statistics.encoder.links == "any":
            gradient |= self._graph_pullback(of_common, entries, weight.own, gains)
        else:
            gradient["transition"] = of_common + entries @ gains.common
            gradient["edges"] = entries @ gains.edges
            if gains.types is not None:
                gradient["edge types"] = entries @ gains.types
        if prepared.attributes is not None:
            state_scores = prepared.attributes @ self.attributes
            gradient["attributes"] = state_scores.multiply(weight.state).sum()
        if self.segments is not None:
            gradient |= {evidence.exponent: 0.0 for evidence in EVIDENCE}  # not of the chain
        return np.array(list(gradient.values()))

    def _graph_pullback(
        self, of_common: float, entries: np.ndarray, of_triangles: np.ndarray, gains: LinkGains
    ) -> dict[str, float]:
        """Gradient in the exponents of rates, given the gradient in the scores of links."""
        rate, gradient = gains.common + gains.edges, {}
        if gains.types is not None:
            rate = rate + self.exponents["edge types"] * gains.types
            exponent, *_ = self._exponents_of(gains)
            gradient["edge types"] = (exponent * entries) @ gains.types
        if gains.is_exact is None:
            return gradient | {"edges": of_common + entries @ rate}
        gradient["edges"] = of_common + entries @ np.where(gains.is_exact, 0.0, rate)
        gradient["cliques"] = entries @ np.where(gains.is_exact, rate, 0.0)
        if of_triangles.size:
            gradient["cliques"] += of_triangles @ self._triangle_scores()
        return gradient

    def _fit_state(
        self, of_words: list[sp.csr_array], contexts: list[ContextExpert]
    ) -> StateWeights:
        """The weights of spelling and words, and of contexts, whose blocks are made one by one."""
        counts = self.statistics.counts
        self._contexts: list[Any] = []
        n_entries = [block.nnz for block in of_words]
        n_entries += [len(counts[expert.template].weights) for expert in contexts]
        blocks = chain(of_words, map(self._fit_context, contexts))
        return StateWeights(blocks, self.exponents.table(), sum(n_entries))

    def _default_exponents(
        self, contexts: list[ContextExpert], mu_oov: float, defaults: Mapping[str, float]
    ) -> Exponents:
        stats, has_cycles = self.statistics, self.statistics.encoder.links == "any"
        entries = state_entries(self.spelling, mu_oov, contexts, defaults)
        names = ["boundary", "edges"] if has_cycles else ["transition", "boundary", "edges"]
        entries += [Entry(name, defaults[name]) for name in names]
        if TRIANGLES in stats.counts:
            entries.append(Entry("cliques", 1.0))
        if stats.encoder.edge_types is not None:
            exponent = GRAPH_TYPE_EXPONENT if has_cycles else EDGE_TYPE_EXPONENT
            entries.append(Entry("edge types", exponent))
        if ATTRIBUTES in stats.counts:
            entries.append(Entry("attributes", self._fit_attributes()))
        if self.segments is not None:
            entries += [Entry(evidence.exponent, evidence.default) for evidence in EVIDENCE]
        return Exponents(entries, n_slots=len(self.spelling.names) + 1 + len(contexts))

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
        blocks.append(sp.csr_array((0, stats.n_labels**2)))
        self.edge_coef = sp.vstack([short_ids(block) for block in blocks], format="csr")

    def _fit_transitions(self) -> Transitions:
        """The rates of the labels of links, and of labels with the ends of a sequence."""
        stats = self.statistics
        counts, word, links = stats.counts, stats.word, stats.encoder.links
        if links == "any":
            pairs = pairs_of_links(counts[LABEL_PAIRS], self._are_directed())
            ends = Table(np.empty((0, 2), dtype=np.int32), np.empty(0))
        else:
            pairs = counts[Template(((word, 0),), (-1, 0))]
            ends = counts[Template(((word, 1),), linked=links != "next")]
        return label_transitions(pairs, ends, stats.label_prior, self._strength)

    def _fit_types(self) -> TypeRates | None:
        """The rates of the types of links, if links have types."""
        stats = self.statistics
        if stats.encoder.edge_types is None:
            return None
        pairs = stats.counts[TYPED_PAIRS]
        return TypeRates(
            pairs_of_links(pairs, self._are_directed()) if stats.encoder.links == "any" else pairs,
            len(stats.encoder.edge_types),
            np.exp(self.transitions.inner),
            stats.label_prior,
            self._strength,
        )

    def _fit_triangles(self) -> TriangleRates | None:
        """The rates of the labels of triangles, if these were counted."""
        stats, n = self.statistics, self.statistics.n_labels
        if TRIANGLES not in stats.counts:
            return None
        scores = self.transitions.inner[None]
        if self.type_rates is not None:
            gains = self.type_rates.coef.toarray().reshape(-1, n, n).transpose(0, 2, 1)
            scores = np.concatenate([scores, scores + self.exponents["edge types"] * gains])
        given = stats.counts[TRIANGLES], self._are_directed(), np.exp(scores)
        return TriangleRates(*given, stats.label_prior, self._strength)

    def _are_directed(self) -> bool:
        """Whether the direction of the links of graphs means anything."""
        stats = self.statistics
        return have_direction(stats.counts[LABEL_PAIRS], stats.n_labels)

    def _edge_experts(self) -> list[EdgeExpert]:
        """The experts on transitions that were counted."""
        encoder, counts = self.statistics.encoder, self.statistics.counts
        experts = edge_experts(encoder.names, encoder.links)
        return [expert for expert in experts if expert.template in counts]

    def _distinct(self, links: PreparedLinks) -> tuple[np.ndarray, PreparedLinks]:
        """The row of each link, and the attributes of the rows; links may share a row."""
        encoder = self.statistics.encoder
        if encoder.links == "next":
            return links.row(), links
        n_edges = [len(index) for _, index in self._edges]
        return links.distinct(n_edges, len(encoder.edge_types or ()))

    def _edge_gains(self, edges: np.ndarray) -> sp.csr_array:
        """Scores that the edges add to transitions, CSR of shape (n_rows, n_labels ** 2)."""
        used = edges >= 0
        indptr = np.append(0, np.cumsum(used.sum(axis=1)))
        columns = (edges + self._edge_starts)[used]
        shape = len(edges), self.edge_coef.shape[0]
        return sp.csr_array((np.ones(len(columns)), columns, indptr), shape) @ self.edge_coef


def _not_above(common: np.ndarray, transitions: TokenTransitions) -> np.ndarray:
    """Common scores that are not above the scores of links, if no link needs the common scores."""
    n, n_rows = len(common), len(transitions.indptr) - 1
    if n_rows == 0 or len(transitions.score) < n_rows * n * n:
        return common
    return np.minimum(common, transitions.score.reshape(n_rows, n, n).min(axis=0).T)
