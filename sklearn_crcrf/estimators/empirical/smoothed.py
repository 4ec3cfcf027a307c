"""Smoothed co-occurrence rates: every zero count is filled from a broader estimate.

A state score is a sum of rows of one sparse matrix over (attribute, label) pairs, each row
multiplied by an exponent; see :func:`~sklearn_crcrf.counts.rows.association`.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions, attribute_contributions, transition_contributions
from ...base.weights import NamedWeights, Weights
from ...counts import Template
from ...counts.links import EDGE_TYPE, TYPED_PAIRS
from ...counts.observations import ATTRIBUTES, Encoder, Observations
from ...counts.prepared import Prepared, PreparedLinks
from ...counts.rows import FREQUENT, WEAKEST
from ...counts.triangles import TRIANGLES
from ...labels.segments.roles import Roles
from ...structures import ScoreGradient, Scores, SemiMarkovChain, Structure, TokenTransitions
from ...utils.soundness import Array, Fact, Requirement, below, sparse
from .contributions import attribute_names, edge_contributions, state_contributions
from .experts import ContextExpert, EdgeExpert, Experts, edge_experts
from .link_gains import LinkGains
from .model import CountedModel, Entry, Exponents, Statistics, Symbols, state_entries, word_kinds_of
from .segment_rates import EVIDENCE, SegmentRates, with_segments
from .smoothing import Smoothing
from .transitions import LABEL_PAIRS, TypeRates
from .triangle_rates import TriangleRates, exact_units

# Default exponent of the rates of types of links, beyond the common rates. In graphs with cycles it
# multiplies the exponent of all rates.
EDGE_TYPE_EXPONENT, GRAPH_TYPE_EXPONENT = 0.5, 1.0
# The exponents of rates that may only raise a transition.
RAISING = ("edges", "cliques", "edge types")


class SmoothedModel(CountedModel):
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
    defaults : mapping from name to float
        Default exponents of experts.
    roles : Roles, optional
        The labels of segments, if segments were counted.
    """

    # The tagger that predicts words, once one was asked for; False if there can be none.
    word_tagger: Any = None

    def __init__(
        self,
        statistics: Statistics,
        spelling: type,
        strength: float,
        mu_oov: float,
        exponents: Mapping[str, float],
        experts: Experts,
        defaults: Mapping[str, float],
        roles: Roles | None = None,
    ):
        self.statistics = statistics
        strength = max(strength, WEAKEST)
        if roles is not None:
            self.segments = SegmentRates(statistics.counts, statistics.word, roles, strength)
        contexts = [e for e in experts.contexts if e.template in statistics.counts]
        edges = [e for e in experts.edges if e.template in statistics.counts]
        smoothing = Smoothing(statistics, spelling, contexts, edges, strength)
        self.spelling = smoothing.spelling
        self.exponents = self._default_exponents(smoothing, contexts, mu_oov, defaults)
        self.exponents.update(exponents)
        for name in RAISING:
            if name in self.exponents.names and self.exponents[name] < 0.0:
                raise ValueError(f"exponents: {name!r} must not be negative, got {exponents[name]}")
        self.state, self._contexts = smoothing.state_weights(self.exponents.table())
        self.transitions = smoothing.transitions()
        self.edge_coef, self._edges = smoothing.edge_weights(self.transitions.inner)
        inner = self.transitions.inner
        self.type_rates = smoothing.type_rates(inner)
        self.triangle_rates = smoothing.triangle_rates(inner, self.type_rates, self.exponents)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "word_tagger"}

    @staticmethod
    def templates(
        encoder: Encoder, exponents: Mapping[str, float] | None, experts: Experts
    ) -> list[Template]:
        """Return the templates that are counted with these exponents; None for all templates."""
        templates = [
            Template(((encoder.names[0], 0),)),
            *experts.templates(exponents),
            *([LABEL_PAIRS, TRIANGLES] if encoder.links == "any" else []),
            *([TYPED_PAIRS] if encoder.edge_types is not None else []),
        ]
        return list(dict.fromkeys(templates))

    def prepare(self, observations: Observations) -> Prepared:
        """Look up the attributes of tokens."""
        structure = self.structure(observations.structure, observations.edge_types)
        (rows, kind), window = self._rows(observations), observations.window()
        contexts = zip(self._contexts, self.state.starts[2:], strict=True)
        for slot, ((template, index), start) in enumerate(contexts, len(self.spelling.names) + 1):
            found = index.rows(window.symbols(template))
            rows[:, slot] = np.where(found < 0, -1, found + start)
        edges = [index.rows(window.of_links(template)) for template, index in self._edges]
        links = PreparedLinks.of(structure, edges, observations.edge_types)
        if self.triangle_rates is not None:
            units = exact_units(structure, self.statistics.n_labels)
            links = links._replace(is_exact=np.repeat(units, np.diff(links.offsets)))
        segments = None if self.segments is None else self.segments.rows(window)
        has_triangles = len(structure.triangles) > 0
        return Prepared(rows, kind, links, observations.attributes, segments, has_triangles)

    def structure(self, structure: Structure, types: np.ndarray | None) -> Structure:
        """Return the structure of the scores, given links and the ids of their types.

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
        """Return the scores of a chain, and of its counted segments."""
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
        contexts = [(template.symbols, index.keys) for template, index in self._contexts]
        return [*super().attribute_keys(), *contexts]

    def named_weights(self, classes: np.ndarray) -> NamedWeights:
        """Name the weights of words, of symbols of other columns, and of the columns of a sparse X.

        The weight of a word includes the score of its spelling. Scores that depend on neighbours or
        on pairs of words are left out.

        Parameters
        ----------
        classes : ndarray of shape (n_labels,)

        Returns
        -------
        NamedWeights
            Names are like ``"token=dog"``, or ``"x3"`` for a column of a sparse X.
        """
        stats, encoder, n = self.statistics, self.statistics.encoder, len(classes)
        seen, words = np.flatnonzero(stats.n_seen > 0), encoder.symbols(stats.word)
        n_spelling = len(self.spelling.names)
        rows = np.full((len(seen), self.state.exponents.shape[1]), -1, dtype=np.int32)
        rows[:, :n_spelling] = self.spelling.rows(encoder.lexicon.spelling[seen])
        rows[:, n_spelling] = self.state.starts[1] + seen
        names = [f"{stats.word}={words[i]}" for i in seen]
        coef = [sp.csr_array(self.state.scores(rows, word_kinds_of(stats.n_seen[seen])))]
        of_contexts = self.state.starts[2:], self.state.exponents[FREQUENT, n_spelling + 1 :]
        for (template, index), start, exponent in zip(self._contexts, *of_contexts, strict=True):
            ((column, offset), *more), ids = template.symbols, index.keys[:, 0]
            if not more and offset == 0 and column in encoder.names[1:]:
                known, symbols = np.flatnonzero(ids >= 0), encoder.symbols(column)
                names += [f"{column}={symbols[i]}" for i in ids[known]]
                coef.append(exponent * self.state.coef[start + known])
        if ATTRIBUTES in stats.counts:
            names += encoder.attribute_names
            coef.append(self.exponents["attributes"] * self.attributes)
        common = self.common_transitions(), *self.boundaries(), np.empty((0, n, n))
        weights = Weights(sp.vstack(coef, format="csr"), *common)
        no_edges = np.empty(0, dtype=object)
        return NamedWeights(np.array(names, dtype=object), no_edges, classes, weights)

    def contributions(
        self, prepared: Prepared, y: np.ndarray, classes: np.ndarray, structure: Structure
    ) -> Contributions:
        """Return the contributions that sum to the score of a labelling of one unit."""
        encoder, exponents, links = self.statistics.encoder, self.exponents, prepared.links
        is_exact = links.is_exact is not None and bool(links.is_exact.all())
        common, of_symbols, of_types = self._link_exponents(is_exact)
        rows = np.where(links.edges < 0, -1, links.edges + self._edge_starts)
        keys = [(template.symbols, index.keys) for template, index in self._edges]
        names = attribute_names(keys, encoder, rows, encoder.links != "next")
        of_slots = [expert.exponent for expert in self._edge_experts()]
        shared, boundary = (y, classes, structure), exponents["boundary"]
        entries = [
            state_contributions(self.state, prepared, y, self.attribute_keys(), encoder),
            transition_contributions(*self.transitions, *shared, common, boundary),
            edge_contributions(self.edge_coef, rows, names, *shared, of_symbols, of_slots),
        ]
        if self.type_rates is not None:
            kinds = [*(f"edge={name}" for name in encoder.symbols(EDGE_TYPE)), ""]
            rows, coef = links.types[:, None], self.type_rates.coef
            names = np.array(kinds, dtype=object)[rows]
            entries.append(edge_contributions(coef, rows, names, *shared, of_types))
        if self.triangle_rates is not None:
            of_cliques = exponents["cliques"]
            entries.append(self.triangle_rates.contributions(structure, y, classes, of_cliques))
        if prepared.attributes is not None:
            known, exponent = encoder.attribute_names, exponents["attributes"]
            given, coef = prepared.attributes, self.attributes
            entries.append(attribute_contributions(given, coef, y, known, exponent))
        if self.segments is not None:
            scores, runs = self.scores(prepared), prepared.segments
            by_kind = self._segment_exponents()
            found = self.segments.contributions(runs, structure, scores, y, by_kind, encoder)
            entries.append(found)
        return Contributions.join(entries)

    @property
    def _edge_starts(self) -> np.ndarray:
        """The first row of each of the ``_edges`` in ``edge_coef``."""
        return np.cumsum([0, *(len(index) for _, index in self._edges[:-1])], dtype=np.int32)

    def common_transitions(self) -> np.ndarray:
        """Transition scores that are the same for all tokens, (n_labels, n_labels)."""
        return self._link_exponents()[0] * self.transitions.inner

    def boundaries(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the first and of the last label, each (n_labels,)."""
        exponent = self.exponents["boundary"]
        return exponent * self.transitions.begin, exponent * self.transitions.end

    def _link_exponents(self, is_exact: bool = False) -> tuple[float, float, float]:
        """Return the exponents of common rates, and of rates by symbols and by types.

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
        """Return the exponents of common rates, by symbols and by types, of each entry."""
        if gains.is_exact is None:
            return self._link_exponents()
        both = zip(self._link_exponents(is_exact=True), self._link_exponents(), strict=True)
        return [np.where(gains.is_exact, exact, other) for exact, other in both]

    def _triangle_scores(self) -> np.ndarray:
        """Return the tables of triangles one after another, before their exponent."""
        assert self.triangle_rates is not None
        return self.triangle_rates.coef.toarray().ravel()

    def _segment_exponents(self) -> np.ndarray:
        """Return the exponents of what was counted of segments, by kind of evidence."""
        return np.array([self.exponents[evidence.exponent] for evidence in EVIDENCE])

    def copy(self) -> "SmoothedModel":
        """Return the same model; its exponents can be set without changing this one."""
        twin = copy(self)
        twin.exponents, twin.state = copy(self.exponents), copy(self.state)
        twin.word_tagger = None
        return twin

    def set_exponents(self, values: np.ndarray) -> None:
        """Replace all exponents."""
        self.word_tagger = None
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

    def requirements(
        self, encoder: Encoder, classes: np.ndarray, more: Sequence[int] = ()
    ) -> Iterator[Requirement]:
        yield from encoder.indexed("_contexts", self._contexts)
        contexts, n = [len(index) for _, index in self._contexts], len(classes)
        yield from super().requirements(encoder, classes, contexts)
        for name, shape in (("inner", (n, n)), ("begin", (n,)), ("end", (n,))):
            yield Array(f"transitions.{name}", getattr(self.transitions, name), shape)
        yield from encoder.indexed("_edges", self._edges)
        sizes = [len(index) for _, index in self._edges]
        yield from sparse("edge_coef", self.edge_coef, (sum(sizes), n * n), least=0.0)
        for name in RAISING:
            raises = name not in self.exponents.names or self.exponents[name] >= 0.0
            yield Fact("exponents", raises, f"of {name} must not be negative")
        parts = [
            ("type_rates", TypeRates, encoder.edge_types is not None, ["edge types"]),
            ("triangle_rates", TriangleRates, TRIANGLES in self.statistics.counts, ["cliques"]),
            ("segments", SegmentRates, self.segments is not None, [e.exponent for e in EVIDENCE]),
        ]
        for name, kind, is_there, exponents in parts:
            right_kind = kind if is_there else type(None)
            has_kind = isinstance(getattr(self, name), right_kind)
            yield Fact(name, has_kind, f"must be {right_kind.__name__}")
            has_exponents = not is_there or {*exponents} <= {*self.exponents.names}
            yield Fact("exponents", has_exponents, f"must have {exponents}")
        if self.type_rates is not None:
            shape = len(encoder.edge_types or ()), n * n
            yield from sparse("type_rates.coef", self.type_rates.coef, shape, least=0.0)
        if self.triangle_rates is not None:
            of_triangles = self.triangle_rates.requirements(encoder.sizes(TRIANGLES), n)
            yield from below("triangle_rates", of_triangles)
        if self.segments is not None:
            yield from below("segments", self.segments.requirements(encoder, classes))
        if ATTRIBUTES in self.statistics.counts:
            yield from sparse("attributes", self.attributes, (encoder.n_weighted, n))

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
        """List the experts on transitions that take part."""
        encoder, used = self.statistics.encoder, {template for template, _ in self._edges}
        experts = edge_experts(encoder.names, encoder.lexicon.features, encoder.links)
        return [expert for expert in experts if expert.template in used]

    def _distinct(self, links: PreparedLinks) -> tuple[np.ndarray, PreparedLinks]:
        """Find the row of each link, and the attributes of the rows; links may share a row."""
        encoder = self.statistics.encoder
        if encoder.links == "next":
            return links.row(), links
        n_edges = [len(index) for _, index in self._edges]
        return links.distinct(n_edges, len(encoder.edge_types or ()))

    def _edge_gains(self, edges: np.ndarray) -> sp.csr_array:
        """Sum what edges add to transitions, CSR of shape (n_rows, n_labels ** 2)."""
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
