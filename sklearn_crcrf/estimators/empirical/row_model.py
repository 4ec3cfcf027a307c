"""A smoothed model whose weights are computed when tokens ask for them."""

from copy import copy
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._kernels.sparse.weights import sums_of_rows
from ...base.batches import Batch
from ...counts.links import TYPED_PAIRS
from ...counts.observations import Observations
from ...counts.prepared import Prepared, PreparedLinks, with_tables
from ...counts.rows import UNSEEN, Rows, StateWeights, log_ratios
from ...structures import Scores, TokenTransitions
from .changed_sums import ChangedSums
from .link_gains import LinkGains
from .model import places_of, probabilities, smooth, word_kinds_of
from .product_spelling import EXPERTS, EXPONENTS, above_rarest, label_base
from .segment_rates import SLOTS, SegmentRates, segment_evidence
from .smoothed import SmoothedModel
from .smoothing import CONTEXT_STRENGTH, WORD_STRENGTH
from .transitions import Transitions, TypeRates, label_transitions

N_FEATURES = len(EXPERTS)


class ReadRows(NamedTuple):
    """The counts of tokens and links, and all that does not depend on the strength of priors.

    Parameters
    ----------
    counts : Rows of shape (n_rows, n_labels)
        As of :meth:`ChangedSums.rows`, and then rows without counts: the labels of rare words of
        each fold, and if there are several folds, of first and of last tokens.
    sums : ndarray of shape (n_rows,)
        How often each attribute was counted.
    above : int32 ndarray of shape (n_rows_before_edges,)
        The row whose estimates are the prior of a row, negative if there is none.
    bounds : list of int
        Where the rows of each part begin: spelling, words, others, each edge, each template of
        runs; then the rows without counts.
    places : int ndarray of shape (n_entries,)
        Where the prior of an entry is in the table that all entries of its part share.
    ends : int64 ndarray of shape (2, n_entries_of_edges)
        The entries of the previous and of the current label alone, of each pair.
    prepared : Prepared
    scratch : ndarray of shape (2, n_entries)
        Room for priors and estimates.
    """

    counts: Rows
    sums: np.ndarray
    above: np.ndarray
    bounds: list[int]
    places: np.ndarray
    ends: np.ndarray
    prepared: Prepared
    scratch: np.ndarray

    def entries(self, begin: int, end: int) -> slice:
        """Return the entries of the parts from begin to end."""
        first, last = self.bounds[begin], self.bounds[end]
        return slice(*self.counts.indptr[[first, last]].tolist())


SPELLED, WORDS, OTHERS, EDGES = range(4)
"""The parts of rows; others are those of ``given`` and ``contexts`` of :class:`ChangedSums`."""


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
    """

    word_tagger = False

    def __init__(self, fitted: SmoothedModel, sums: ChangedSums, strength: float):
        self.statistics, self.exponents = fitted.statistics, fitted.exponents
        self.spelling, self.segments = fitted.spelling, fitted.segments
        self.triangle_rates = None
        self._sums, self._strength = sums, strength
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

    def read(self, observations: Observations, folds: np.ndarray) -> ReadRows:
        """Read the counts of tokens.

        Parameters
        ----------
        observations : Observations
        folds : int32 ndarray of shape (n_tokens,)
        """
        sums, n, window = self._sums, len(folds), observations.window()
        n_folds, n_labels, tokens = sums.n_folds, sums.n_labels, np.arange(n, dtype=np.int32)
        counts = sums.rows(observations, window, folds)
        n_edges, n_others = len(sums.edges), len(sums.above) - N_FEATURES - 1
        sizes = [N_FEATURES, 1, n_others, *[1] * (n_edges + len(sums.runs))]
        bounds = [0, *accumulate(n * size for size in sizes)]
        n_counted, n_shared = bounds[-1], n_folds * (3 if n_folds > 1 else 1)

        # Where the prior of each entry is.
        begins = np.empty((len(sums.above), n), dtype=np.int64)
        begins[:], begins[N_FEATURES] = folds * n_labels, tokens * n_labels
        first, lengths = int(counts.indptr[bounds[EDGES]]), counts.lengths[: bounds[EDGES]]
        places = [begins.ravel().repeat(lengths) + counts.indices[:first]]
        structure: Any = observations.structure
        before, ends = structure.before, np.empty((2, 0), dtype=np.int64)
        if n_edges:
            pairs = _part(counts, bounds[EDGES], bounds[EDGES + n_edges])
            labels = np.divmod(pairs.indices, n_labels)[::-1]  # the previous and the current one
            fold = pairs.repeat(np.tile(folds, n_edges))
            places.append((fold * n_labels + labels[0]) * n_labels + labels[1])
            alone = np.concatenate([table * n + (before, tokens)[end] for table, end in sums.ends])
            rows_alone = alone.repeat(np.tile(pairs.lengths, 2))
            ends = places_of(counts, rows_alone, np.concatenate(labels)).reshape(2, -1)

        above = (sums.above[:, None] * n + tokens).ravel()
        counts = _with_labels(counts, n_shared, n_labels)
        n_seen = counts.sums()
        slots = [n_counted + folds[:, None], sums.slots * n + tokens[:, None]]
        is_link = before >= 0
        if n_folds > 1:
            of_ends = n_counted + folds[:, None] + n_folds * np.arange(1, 3, dtype=np.int32)
            of_ends[is_link, 0] = of_ends[before[is_link], 1] = -1  # first and last tokens have one
            slots.append(of_ends)
        edges = np.arange(bounds[EDGES], bounds[EDGES + n_edges], dtype=np.int32)
        types = np.full(n, -1, dtype=np.int32)
        if observations.edge_types is not None:
            types[is_link] = np.maximum(observations.edge_types, -1)
        links = PreparedLinks(edges.reshape(n_edges, n).T, types, is_link, structure.offsets)
        runs = self._rows_of_runs(counts, bounds, structure.offsets) if sums.runs else None
        kind = word_kinds_of(n_seen[bounds[WORDS] : bounds[OTHERS]])
        rows = np.concatenate(slots, axis=1, dtype=np.int32)
        prepared = Prepared(rows, kind, links, None, runs)
        scratch, where = np.empty((2, len(counts.data))), (np.concatenate(places), ends)
        return ReadRows(counts, n_seen, above, bounds, *where, prepared, scratch)

    def weighted(self, read: ReadRows) -> Prepared:
        """Estimate the weights of tokens from their counts."""
        counts, strength = read.counts, self._strength
        weights, (prior, estimate) = np.empty_like(counts.data), read.scratch
        coef = counts._replace(data=weights)

        def estimate_part(part: int, priors: np.ndarray, strength: float) -> None:
            entries, rows = read.entries(part, part + 1), (read.bounds[part], read.bounds[part + 1])
            priors.ravel().take(read.places[entries], out=prior[entries], mode="clip")  # no copy
            smooth(counts, read.sums, prior, strength, read.above, rows, estimate)
            log_ratios(counts.data[entries], prior[entries], strength, weights[entries])

        base = label_base(self._sums.of_rare, self._prior)
        shared = [above_rarest(base), *(self._transitions[1:] if self._n_folds > 1 else ())]
        weights[int(counts.indptr[read.bounds[-1]]) :] = np.concatenate(shared).ravel()
        estimate_part(SPELLED, base, strength)
        rows, kind = read.prepared[:2]
        spelled = np.ascontiguousarray(rows[:, : len(EXPONENTS)])
        scores = StateWeights.of_one(coef, EXPONENTS[None, :]).scores(spelled, np.zeros_like(kind))
        estimate_part(WORDS, probabilities(scores), WORD_STRENGTH * strength)
        estimate_part(OTHERS, self._prior, CONTEXT_STRENGTH * strength)
        pairs = read.entries(EDGES, EDGES + len(self._sums.edges))
        of_pairs = self._rates.ravel().take(read.places[pairs])
        for entries in read.ends:
            of_pairs *= estimate[entries]
        prior[pairs] = of_pairs
        for k, expert in enumerate(self._sums.edges, EDGES):
            own = read.entries(k, k + 1)
            log_ratios(counts.data[own], prior[own], expert.strength * strength, weights[own])
            weights[own] *= expert.exponent
        self._coef, self._n_counted = coef, read.bounds[-1]
        self.state = StateWeights.of_one(coef, self._exponent_table(self.exponents["boundary"]))
        if self._sums.runs:
            self._estimate_runs(read)
        return read.prepared

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
        folds, links = prepared.rows[:, 0] - self._n_counted, prepared.links
        if (folds == folds[:1]).all():
            return SmoothedModel.scores(self._of_fold(int(folds[:1].sum())), prepared)
        of_common, of_edges, of_types = self._link_exponents()
        is_link, n = links.is_link, self._sums.n_labels
        parts = [(of_edges, self._edge_gains(links.edges[is_link]))]
        if self.type_rates is not None:
            types, begins = links.types[is_link], folds[is_link] * self._n_link_types
            rows = np.where(types < 0, -1, begins + types)
            parts.append((of_types, Rows.of(self.type_rates.gains(rows))))
        common = np.ascontiguousarray(of_common * self._transitions.inner.swapaxes(1, 2))
        tables = common[folds[is_link]]  # the current label comes first, as in rows of edges
        for exponent, of_links in parts:
            link = of_links.repeat(n * n * np.arange(len(tables)))
            tables.reshape(-1)[link + of_links.indices] += exponent * of_links.data
        state, none = self.state.scores(prepared.rows, prepared.kind), TokenTransitions.none(0)
        scores = Scores(state, np.zeros((n, n)), np.zeros(n), np.zeros(n), none)
        row = np.where(is_link, np.cumsum(is_link) - 1, -1)
        return with_tables(scores, row, tables.swapaxes(1, 2))

    def _state_like(self, scored: "ScoredRows") -> np.ndarray:
        """Return state scores; only those of unseen words depend on ``mu_oov``."""
        (rows, kind, *_), state = scored.prepared, scored.scores.state.copy()
        unseen = np.flatnonzero(kind == UNSEEN)
        state[unseen] = self.state.scores(rows[unseen], kind[unseen])
        return state

    def _distinct(self, links: PreparedLinks) -> tuple[np.ndarray, PreparedLinks]:
        return links.row(), links  # each link has a row of its own

    def _edge_gains(self, edges: np.ndarray) -> Rows:
        data, indices, indptr, _ = self._coef
        of_links = sums_of_rows(np.ascontiguousarray(edges), indptr, indices, data)
        return Rows(of_links[0], of_links[1], of_links[2], (len(edges), self._sums.n_labels**2))

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

    def _rows_of_runs(self, counts: Rows, bounds: list[int], offsets: np.ndarray) -> np.ndarray:
        """Return the rows of the runs that end at each token, -1 for unknown ones."""
        n, first = int(offsets[-1]), bounds[EDGES + len(self._sums.edges)]
        before = np.arange(n) - np.repeat(offsets[:-1], np.diff(offsets))
        rows = np.arange(n)[:, None] + n * np.arange(len(SLOTS))
        known = counts.lengths[first : first + rows.size].reshape(len(SLOTS), n).T > 0
        known &= before[:, None] >= np.array([length for _, length in SLOTS]) - 1
        return np.where(known, rows, -1).astype(np.int32)

    def _estimate_runs(self, read: ReadRows) -> None:
        """Estimate what was counted of the runs that end at each token."""
        shape = len(read.prepared.kind), self.segments.spelled.shape[1] + 1
        bounds = read.bounds[EDGES + len(self._sums.edges) :]
        found = [
            segment_evidence(_part(read.counts, *ends)._replace(shape=shape), self._strength)
            for ends in pairwise(bounds)
        ]
        self.segments = SegmentRates.of_rows(
            [part for part, _ in found], [part for _, part in found]
        )


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


def _part(rows: Rows, begin: int, end: int) -> Rows:
    """Return the rows from begin to end."""
    first, last = rows.indptr[begin], rows.indptr[end]
    indptr = rows.indptr[begin : end + 1] - first
    return Rows(
        rows.data[first:last], rows.indices[first:last], indptr, (end - begin, rows.shape[1])
    )


def _with_labels(rows: Rows, n_more: int, n_labels: int) -> Rows:
    """Append rows that have an entry for each label."""
    data = np.concatenate([rows.data, np.zeros(n_more * n_labels)])
    labels = np.tile(np.arange(n_labels, dtype=np.int32), n_more)
    ends = rows.indptr[-1] + n_labels * np.arange(1, n_more + 1)
    indptr = np.concatenate([rows.indptr, ends])
    return Rows(data, np.concatenate([rows.indices, labels]), indptr, (len(indptr) - 1, n_labels))
