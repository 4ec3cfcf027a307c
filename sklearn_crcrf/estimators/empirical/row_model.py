"""A smoothed model whose weights are computed when tokens ask for them."""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...base.batches import Batch
from ...counts import ColumnWindow, Template
from ...counts.changed import Events
from ...counts.links import TYPED_PAIRS
from ...counts.observations import Observations
from ...counts.prepared import Prepared, PreparedLinks, with_tables
from ...counts.rows import UNSEEN, Rows, StateWeights, association
from ...data.ragged import joined_ranges
from ...structures import Scores, TokenTransitions
from .changed_sums import SPELLING, ChangedSums
from .experts import ContextExpert, EdgeExpert, given_templates
from .link_gains import LinkGains
from .model import entry_values, probabilities, smooth, word_kinds_of
from .product_spelling import (
    EXPERTS,
    EXPONENTS,
    above_rarest,
    chain_priors,
    label_base,
    spelled_columns,
)
from .segment_rates import SLOTS, SegmentRates, segment_evidence, segment_templates
from .smoothed import SmoothedModel
from .smoothing import CONTEXT_STRENGTH, WORD_STRENGTH
from .transitions import Transitions, TypeRates, label_transitions

N_FEATURES = len(EXPERTS)
FEATURES = [expert.feature for expert in EXPERTS]


class ReadRows(NamedTuple):
    """The counts of tokens and links, row by row.

    Parameters
    ----------
    observations : Observations
    window : ColumnWindow
    folds : int32 ndarray of shape (n_tokens,)
    links : int64 ndarray of shape (2, n_links)
        The tokens before and at each link.
    spelled : Rows of shape (n_features * n_tokens, n_labels)
    words : Rows of shape (n_tokens, n_labels)
    given : dict from Template to Rows of shape (n_tokens, n_labels)
        Given the symbol of the token itself, what estimates labels for the experts on transitions.
    contexts : Rows of shape (n_experts * n_tokens, n_labels)
    edges : list of Rows of shape (n_links, n_labels ** 2)
    runs : list of Rows of shape (n_tokens, n_types + 1)
    """

    observations: Observations
    window: ColumnWindow
    folds: np.ndarray
    links: np.ndarray
    spelled: Rows
    words: Rows
    given: dict[Template, Rows]
    contexts: Rows
    edges: Sequence[Rows]
    runs: Sequence[Rows]


class RowModel(SmoothedModel):
    """The model of changed counts, as far as the tokens need it that it has prepared.

    Each token has rows of its own: the estimates of its attributes, given the counts of its fold.
    They are the estimates of :class:`Smoothing`, which makes those of all attributes.

    Parameters
    ----------
    fitted : SmoothedModel
        The model of the counts before they were changed.
    sums : ChangedSums
    strength : float
        Multiplies the strength of every prior, a number of observations.
    contexts : list of ContextExpert
        Those that take part.
    """

    word_tagger = False

    def __init__(
        self,
        fitted: SmoothedModel,
        sums: ChangedSums,
        strength: float,
        contexts: Sequence[ContextExpert],
    ):
        self.statistics, self.exponents = fitted.statistics, fitted.exponents
        self.spelling, self.segments = fitted.spelling, fitted.segments
        self.triangle_rates = None
        self._sums, self._strength, self._used = sums, strength, contexts
        self._runs, self._n_types = [], 0
        if fitted.segments is not None:
            self._runs = segment_templates(self.statistics.word)
            self._n_types = fitted.segments.spelled.shape[1]
        self._prior = sums.label_prior
        linked = sums.pairs, sums.first, sums.last
        self._transitions = label_transitions(*linked, self._prior, strength)
        self._rates, self._n_folds = np.exp(self._transitions.inner), sums.n_folds
        self._n_link_types = len(self.statistics.encoder.edge_types or ())
        self.type_rates = self._types()
        self.transitions = Transitions(*(part[0] for part in self._transitions))

    def prepare(self, observations: Observations) -> Prepared:
        """Read the counts of tokens, which are of fold 0, and estimate their weights."""
        return self.weighted(self.read(observations, np.zeros(len(observations.word), np.int32)))

    def read(self, observations: Observations, folds: np.ndarray) -> "ReadRows":
        """Read the counts of tokens.

        Parameters
        ----------
        observations : Observations
        folds : int32 ndarray of shape (n_tokens,)
        """
        sums, n = self._sums, len(observations.word)
        links, window = np.stack(observations.structure.links()), observations.window()
        of_links, edges = folds[links[1]], self._edge_experts()
        given = [t for t in given_templates(edges) if t != sums.this_word]
        requests = [
            _spelling_events(observations, folds),
            *(_own_symbol(observations, template, folds) for template in [sums.this_word, *given]),
            *(Events.of_window(window, e.template, folds) for e in self._used),
            *(Events.listed(e.template, window.of_links(e.template), of_links) for e in edges),
            *(Events.of_window(window, template, folds) for template in self._runs),
        ]
        sizes = [N_FEATURES * n, n, *[n] * len(given), len(self._used) * n]
        sizes += [*[len(of_links)] * len(edges), *[n] * len(self._runs)]
        spelled, words, *parts = _cut(sums.counts.rows(requests), sizes)
        n_given, n_edges = len(given), len(edges)
        return ReadRows(
            observations,
            window,
            folds,
            links,
            spelled,
            words,
            given=dict(zip(given, parts[:n_given], strict=True)),
            contexts=parts[n_given],
            edges=parts[n_given + 1 : n_given + 1 + n_edges],
            runs=parts[n_given + 1 + n_edges :],
        )

    def weighted(self, read: "ReadRows") -> Prepared:
        """Estimate the weights of tokens from their counts."""
        folds, words, links, edges = read.folds, read.words, read.links, self._edge_experts()
        n, n_links, n_contexts = len(folds), links.shape[1], len(self._used)
        spelling, by_spelling = self._spelling_weights(read.spelled, folds)
        n_seen = words.sums()
        word_weights, estimate = self._word_weights(words, n_seen, spelling, by_spelling)
        estimates = {self._sums.this_word: (words, estimate)}
        for template, counts in read.given.items():
            estimates[template] = counts, self._estimate(counts, self._label_prior(counts, folds))
        context_weights = self._context_weights(read.contexts, folds, (words, estimate))
        blocks = [spelling, word_weights, context_weights]
        begins = len(spelling.lengths) + n * np.arange(1 + n_contexts, dtype=np.int32)
        rows = [by_spelling, np.arange(n, dtype=np.int32)[:, None] + begins]
        if self._n_folds > 1:
            blocks += [_all_entries(part) for part in self._transitions[1:]]
            of_ends = int(begins[-1]) + n + np.stack([folds, folds + self._n_folds], axis=1)
            for k, linked in enumerate(links[::-1]):  # the first token is at no end of a link
                of_ends[linked, k] = -1
            rows.append(of_ends)
        exponents = self._exponent_table(self.exponents["boundary"])
        self.state = StateWeights.of_one(_stacked(blocks), exponents)
        of_edges = [
            self._edge_weights_of(expert, counts, links, folds[links[1]], estimates)
            for expert, counts in zip(edges, read.edges, strict=True)
        ]
        self._of_links = _summed(of_edges, n_links, self._sums.n_labels**2)
        observations, numbers = read.observations, [np.arange(n_links)]
        prepared = PreparedLinks.of(observations.structure, numbers, observations.edge_types)
        runs = self._prepare_runs(read.runs, read.window) if self._runs else None
        token_rows = np.concatenate(rows, axis=1, dtype=np.int32)
        return Prepared(token_rows, word_kinds_of(n_seen), prepared, None, runs)

    def with_exponents_of(self, fitted: SmoothedModel) -> "RowModel":
        """Return the same model with the exponents of another."""
        twin = copy(self)
        twin.exponents, twin.state = fitted.exponents, copy(self.state)
        twin.state.exponents = twin._exponent_table(twin.exponents["boundary"])
        return twin

    def _exponent_table(self, of_ends: float) -> np.ndarray:
        """Return exponents of shape (n_kinds, n_slots); of several folds both ends have slots."""
        table = self.exponents.table()
        if self._n_folds == 1:
            return table
        return np.hstack([table, np.full((len(table), 2), of_ends)])

    def scores(self, prepared: "Prepared | ScoredRows", gains: LinkGains | None = None) -> Scores:
        """Return the scores of prepared tokens.

        If they are of several folds, each link has a table of transition scores, and the scores of
        first and last labels are among those of their tokens.
        """
        if isinstance(prepared, ScoredRows):
            return prepared.scores.with_state(self._state_like(prepared))
        if self._n_folds == 1:
            return super().scores(prepared)
        folds, links = prepared.rows[:, 0], prepared.links
        if (folds == folds[:1]).all():
            return SmoothedModel.scores(self._of_fold(int(folds[:1].sum())), prepared)
        of_common, of_edges, of_types = self._link_exponents()
        is_link, n = links.is_link, self._sums.n_labels
        of_links = of_edges * self._edge_gains(links.edges[is_link])
        if self.type_rates is not None:
            types, begins = links.types[is_link], folds[is_link] * self._n_link_types
            rows = np.where(types < 0, -1, begins + types)
            of_links = of_links + of_types * self.type_rates.gains(rows)
        tables = of_common * self._transitions.inner[folds[is_link]]
        link = np.repeat(np.arange(len(tables)), np.diff(of_links.indptr))
        current, previous = np.divmod(of_links.indices, n)
        tables[link, previous, current] += of_links.data
        state, none = self.state.scores(prepared.rows, prepared.kind), TokenTransitions.none(0)
        scores = Scores(state, np.zeros((n, n)), np.zeros(n), np.zeros(n), none)
        return with_tables(scores, np.where(is_link, np.cumsum(is_link) - 1, -1), tables)

    def _state_like(self, scored: "ScoredRows") -> np.ndarray:
        """Return state scores; only those of unseen words depend on ``mu_oov``."""
        (rows, kind, *_), state = scored.prepared, scored.scores.state.copy()
        unseen = np.flatnonzero(kind == UNSEEN)
        state[unseen] = self.state.scores(rows[unseen], kind[unseen])
        return state

    def _distinct(self, links: PreparedLinks) -> tuple[np.ndarray, PreparedLinks]:
        return links.row(), links  # each link has a row of its own

    def _edge_gains(self, edges: np.ndarray) -> sp.csr_array:
        gains, links = self._of_links, edges[:, 0]
        lengths = np.append(gains.lengths, 0)[links]  # no entries of no link
        entries = joined_ranges(gains.indptr[links], lengths)
        indptr = np.append(0, np.cumsum(lengths))
        shape = len(links), gains.shape[1]
        return sp.csr_array((gains.data[entries], gains.indices[entries], indptr), shape=shape)

    def _of_fold(self, fold: int) -> "RowModel":
        """Return the model of the tokens of one fold."""
        twin = copy(self)
        twin.transitions = Transitions(*(part[fold] for part in self._transitions))
        twin.state = copy(self.state)
        twin.state.exponents = self._exponent_table(of_ends=0.0)
        if self.type_rates is not None:
            first = fold * self._n_link_types
            of_fold = self.type_rates.coef[first : first + self._n_link_types]
            twin.type_rates = TypeRates.of_rows(of_fold)
        return twin

    def _types(self) -> TypeRates | None:
        """Estimate the rates of types of links, of one fold after another."""
        if self.statistics.encoder.edge_types is None:
            return None
        tables, rates = self._sums.label_tables[TYPED_PAIRS], self._rates
        coef = [
            TypeRates(table, self._n_link_types, rate, prior, self._strength).coef
            for table, rate, prior in zip(tables, rates, self._prior, strict=True)
        ]
        return TypeRates.of_rows(sp.vstack(coef, format="csr"))

    def _label_prior(self, counts: Rows, folds: np.ndarray) -> np.ndarray:
        """Return the probability of the label of each count, given the fold of each row."""
        return self._prior[counts.repeat(folds), counts.indices]

    def _estimate(self, counts: Rows, prior: np.ndarray) -> np.ndarray:
        """Estimate the probabilities of labels in context."""
        total = counts.repeat(counts.sums())
        return smooth(counts.data, total, prior, CONTEXT_STRENGTH * self._strength)

    def _spelling_weights(self, rates: Rows, folds: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Return the weights of spelling, labels of rare words first, and the rows of tokens."""
        n, base = len(folds), label_base(self._sums.of_rare, self._prior)
        shorter = np.empty((N_FEATURES, n), dtype=np.int32)
        tokens = np.arange(n, dtype=np.int32)
        for k, expert in enumerate(EXPERTS):
            if expert.shorter is not None:
                shorter[k] = FEATURES.index(expert.shorter) * n + tokens
        bounds = n * np.arange(N_FEATURES + 1)
        prior = base[rates.repeat(np.tile(folds, N_FEATURES)), rates.indices]
        prior = chain_priors(rates, prior, bounds, shorter.ravel(), self._strength)
        weights = _stacked([above_rarest(base), association(rates, prior, self._strength)])
        rows = np.empty((n, N_FEATURES + 1), dtype=np.int32)
        rows[:, 0] = folds
        rows[:, 1:] = len(base) + tokens[:, None] + bounds[:-1]
        return weights, rows

    def _word_weights(
        self, words: Rows, n_seen: np.ndarray, spelling: Rows, rows: np.ndarray
    ) -> tuple[Rows, np.ndarray]:
        """Return the weights of words relative to their spelling, and their estimates."""
        strength = WORD_STRENGTH * self._strength
        weights = StateWeights.of_one(spelling, EXPONENTS[None, :])
        unseen = probabilities(weights.scores(rows, np.zeros(len(rows), dtype=np.int8)))
        prior = unseen[words.repeat(np.arange(len(rows))), words.indices]
        estimate = smooth(words.data, words.repeat(n_seen), prior, strength)
        return association(words, prior, strength), estimate

    def _context_weights(
        self, contexts: Rows, folds: np.ndarray, of_words: tuple[Rows, np.ndarray]
    ) -> Rows:
        """Return the weights of contexts, whose rows are one expert after another."""
        n, estimates = len(folds), {self._sums.this_word: of_words}
        prior = self._label_prior(contexts, np.tile(folds, len(self._used)))
        priors = {expert.broader for expert in self._used}
        for k, expert in enumerate(self._used):
            if expert.broader is None and expert.template not in priors:
                continue
            entries = slice(*contexts.indptr[[k * n, (k + 1) * n]])
            counts = _part(contexts, k * n, (k + 1) * n)
            if expert.broader is not None:
                token = counts.repeat(np.arange(n, dtype=np.int32))
                prior[entries] = entry_values(*estimates[expert.broader], token, counts.indices)
            if expert.template in priors:
                estimates[expert.template] = counts, self._estimate(counts, prior[entries])
        return association(contexts, prior, CONTEXT_STRENGTH * self._strength)

    def _edge_weights_of(
        self,
        expert: EdgeExpert,
        counts: Rows,
        links: np.ndarray,
        folds: np.ndarray,
        estimates: dict[Template, tuple[Rows, np.ndarray]],
    ) -> Rows:
        """Return how far symbols raise the scores of label pairs, for each link."""
        current, previous = np.divmod(counts.indices, self._sums.n_labels)
        prior = self._rates[counts.repeat(folds), previous, current]
        for (template, position), label in ((expert.before, previous), (expert.here, current)):
            offset = expert.template.symbols[position][1]
            token = counts.repeat(links[0] if offset < 0 else links[1])
            prior *= entry_values(*estimates[template], token, label)
        gains = association(counts, prior, expert.strength * self._strength)
        data = np.multiply(gains.data, expert.exponent, out=gains.data)
        return gains._replace(data=data, shape=(len(folds), self._sums.n_labels**2))

    def _prepare_runs(self, counts: Sequence[Rows], window: ColumnWindow) -> np.ndarray:
        """Estimate what was counted of the runs that end at each token, and return their rows."""
        n, n_columns = int(window.offsets[-1]), self._n_types + 1
        found = [
            segment_evidence(by_type._replace(shape=(n, n_columns)), self._strength)
            for by_type in counts
        ]
        self.segments = SegmentRates.of_rows(
            [part for part, _ in found], [part for _, part in found]
        )
        before = np.arange(n) - np.repeat(window.offsets[:-1], np.diff(window.offsets))
        rows = np.arange(n)[:, None] + n * np.arange(len(SLOTS))
        known = np.stack([part.lengths > 0 for part in counts], axis=1)
        known &= before[:, None] >= np.array([length for _, length in SLOTS]) - 1
        return np.where(known, rows, -1).astype(np.int32)


class ScoredRows(NamedTuple):
    """Prepared tokens of several folds, and what a model with another ``mu_oov`` says of them."""

    prepared: Prepared
    scores: Scores

    @property
    def segments(self) -> Any:
        """As of prepared tokens."""
        return self.prepared.segments

    def take(self, batch: Batch) -> "ScoredRows":
        """Return the tokens and links of a batch."""
        tokens = slice(batch.start, batch.stop)
        return ScoredRows(self.prepared.take(batch), self.scores.tokens(tokens))


def _spelling_events(observations: Observations, folds: np.ndarray) -> Events:
    """Ask for the spelling of all tokens, one feature after another."""
    spelling = observations.spelling[observations.word]
    number, symbols, _ = spelled_columns(spelling, folds)
    return Events.listed(SPELLING, [number, symbols], np.tile(folds, N_FEATURES))


def _own_symbol(observations: Observations, template: Template, folds: np.ndarray) -> Events:
    """Ask for the rows of a template of one symbol, given that of the token itself."""
    ((column, _),) = template.symbols
    return Events(
        template, [(observations.columns[column], 0)], observations.structure.offsets, folds
    )


def _all_entries(values: np.ndarray) -> Rows:
    """Return rows that have an entry in each column."""
    n_rows, n = values.shape
    labels = np.tile(np.arange(n, dtype=np.int32), n_rows)
    return Rows(values.ravel(), labels, n * np.arange(n_rows + 1), values.shape)


def _part(rows: Rows, begin: int, end: int) -> Rows:
    """Return the rows from begin to end."""
    first, last = rows.indptr[begin], rows.indptr[end]
    indptr = rows.indptr[begin : end + 1] - first
    return Rows(
        rows.data[first:last], rows.indices[first:last], indptr, (end - begin, rows.shape[1])
    )


def _cut(rows: Rows, sizes: Sequence[int]) -> Iterator[Rows]:
    """Cut rows into neighbouring parts."""
    return (_part(rows, begin, end) for begin, end in pairwise([0, *accumulate(sizes)]))


def _summed(parts: Sequence[Rows], n_rows: int, n_columns: int) -> Rows:
    """Add rows; their entries are in the order of columns."""
    number = np.arange(n_rows, dtype=np.int64) * n_columns
    places = [part.repeat(number) + part.indices for part in parts]
    found, which = np.unique(np.concatenate(places), return_inverse=True)
    values = np.bincount(which, np.concatenate([part.data for part in parts]), len(found))
    indptr = np.searchsorted(found, np.append(number, n_rows * n_columns))
    columns = (found % n_columns).astype(np.int32)
    return Rows(values, columns, indptr, (n_rows, n_columns))


def _stacked(blocks: Sequence[Rows]) -> Rows:
    """Put rows below each other."""
    ends = accumulate(len(block.data) for block in blocks[:-1])
    indptr = [blocks[0].indptr, *(b.indptr[1:] + e for b, e in zip(blocks[1:], ends, strict=True))]
    data, indices = (np.concatenate([b[k] for b in blocks]) for k in (0, 1))
    shape = sum(len(block.lengths) for block in blocks), blocks[0].shape[1]
    return Rows(data, indices, np.concatenate(indptr), shape)
