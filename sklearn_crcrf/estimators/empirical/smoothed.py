"""Smoothed co-occurrence rates: every zero count is filled from a broader estimate.

A state score is a sum of rows of one sparse matrix over (attribute, label) pairs, each row
multiplied by an exponent; see :func:`~sklearn_crcrf.counts.rows.association`.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions, attribute_contributions, transition_contributions
from ...counts import Template
from ...counts.labelled import ATTRIBUTES
from ...counts.links import EDGE_TYPE, TYPED_PAIRS
from ...counts.observations import Encoder, Observations
from ...counts.prepared_links import PreparedLinks
from ...counts.rows import (
    WEAKEST,
    Storable,
)
from ...counts.triangles import TRIANGLES
from ...labels.segments.roles import Roles
from ...structures import (
    ScoreGradient,
    Scores,
    SemiMarkovChain,
    Structure,
    TokenTransitions,
)
from .contributions import attribute_names, edge_contributions, state_contributions
from .experts import ContextExpert, EdgeExpert, Experts, Symbols, edge_experts
from .exponents import Entry, Exponents, state_entries
from .link_gains import LinkGains
from .model import Statistics, spelling_keys, word_kinds
from .prepared import Prepared
from .segment_rates import EVIDENCE, SegmentRates, with_segments
from .smoothing import Smoothing
from .transitions import (
    LABEL_PAIRS,
)
from .triangle_rates import exact_units

__all__ = ["SmoothedModel"]

# Default exponent of the rates of types of links, beyond the common rates. In graphs with cycles it
# multiplies the exponent of all rates.
EDGE_TYPE_EXPONENT, GRAPH_TYPE_EXPONENT = 0.5, 1.0
# The exponents of rates that may only raise a transition.
RAISING = ("edges", "cliques", "edge types")


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

    segments: Any = None  # SegmentRates, if segments are counted
    # Whether words were predicted, and the tagger that predicts them from the second time on.
    has_predicted = False
    may_have_tagger = True
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
        strength = max(strength, WEAKEST)
        if roles is not None:
            self.segments = SegmentRates(statistics.counts, statistics.word, roles, strength)
        contexts = [e for e in experts.contexts if e.template in statistics.counts]
        smoothing = Smoothing(statistics, spelling, contexts, self._edge_experts(), strength)
        self.spelling = smoothing.spelling
        self.exponents = self._default_exponents(
            smoothing, contexts, mu_oov, experts.exponents(are_segments)
        )
        self.exponents.update(exponents)
        for name in RAISING:
            if name in self.exponents.names and self.exponents[name] < 0.0:
                raise ValueError(f"exponents: {name!r} must not be negative, got {exponents[name]}")
        self.state, self._contexts = smoothing.state_weights(self.exponents.table())
        self.transitions = smoothing.transitions()
        self.edge_coef, self._edges = smoothing.edge_weights(self.transitions.inner)
        sizes = [len(index) for _, index in self._edges[:-1]]
        self._edge_starts = np.cumsum([0, *sizes], dtype=np.int32)
        self.type_rates = smoothing.type_rates(self.transitions.inner)
        of_types = self.type_rates, self.exponents
        self.triangle_rates = smoothing.triangle_rates(self.transitions.inner, *of_types)

    def __getstate__(self) -> dict[str, Any]:
        of_predictions = "has_predicted", "may_have_tagger", "word_tagger"
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
            names = encoder.attribute_names
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
        twin.has_predicted, twin.word_tagger = False, None
        return twin

    def set_exponents(self, values: np.ndarray) -> None:
        """Replace all exponents."""
        self.has_predicted, self.word_tagger = False, None
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

    def _default_exponents(
        self,
        smoothing: Smoothing,
        contexts: list[ContextExpert],
        mu_oov: float,
        defaults: Mapping[str, float],
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
            self.attributes = smoothing.attribute_weights()
            entries.append(Entry("attributes", smoothing.attribute_exponent()))
        if self.segments is not None:
            entries += [Entry(evidence.exponent, evidence.default) for evidence in EVIDENCE]
        return Exponents(entries, n_slots=len(self.spelling.names) + 1 + len(contexts))

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
