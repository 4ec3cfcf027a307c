"""Counts of a smoothed model that change, and the sums of them that all rows depend on."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from ...counts import BOUNDARY, ColumnWindow, Counts, Template
from ...counts.changed import ChangedCounts, Coder, CountedTables, Events
from ...counts.counter import LabelledObservations, window_of
from ...counts.counts import NEVER_COUNTED, merge, split, subtract
from ...counts.links import TYPED_PAIRS
from ...counts.rows import Rows
from ...labels.segments.roles import Roles
from .model import Statistics, label_prior
from .product_spelling import is_rare, rare_counts, spelled_columns
from .run_rates import RUNS
from .segment_rates import segment_templates, segment_types
from .transitions import linked_labels

# Stands for the table of the spelling of rare words, beside those of templates.
SPELLING = Template((("\0feature", 0), ("\0symbol", 0)))


class ChangedSums:
    """The counts of a model, changed for each fold, and their sums over all tokens.

    A row of counts is read when it is asked for. What all rows depend on is small, and kept for
    each fold: how often labels occur, of rare words too, and in which pairs they are linked. The
    spelling of rare words is a table like all others: a word that becomes rare or frequent brings
    or takes its counts.

    Parameters
    ----------
    statistics : Statistics
        Of the counts that do not change; their labels are all that there are.
    counts : Counts
        These counts, before rare ones were left out.
    least : mapping from Template to float
        Attributes that occur less often are left out.
    roles : Roles or None
        The labels of segments, if segments were counted.

    Attributes
    ----------
    labels, of_rare : ndarray of shape (n_folds, n_labels)
    pairs : ndarray of shape (n_folds, n_labels, n_labels), previous label first
    first, last : ndarray of shape (n_folds, n_labels)
    """

    def __init__(
        self,
        statistics: Statistics,
        counts: Counts,
        least: Mapping[Template, float],
        roles: Roles | None,
    ):
        self.n_labels, word, links = statistics.n_labels, statistics.word, statistics.encoder.links
        self.this_word, self.pair = Template(((word, 0),)), Template(((word, 0),), (-1, 0))
        self.next_word = Template(((word, 1),), linked=links != "next")
        coders: dict[Template, Coder] = {}
        if roles is not None:
            coders = dict.fromkeys(segment_templates(word), partial(segment_types, roles=roles))
        self.tables = CountedTables(counts, self.n_labels, coders)
        of_spelling, of_rare = rare_counts(statistics)
        self.tables.add(SPELLING, of_spelling)
        of_labels = np.zeros(self.n_labels)
        events, weights = counts[self.this_word]
        np.add.at(of_labels, events[:, -1], weights)
        linked = linked_labels(counts[self.pair], counts[self.next_word], self.n_labels)
        self._unchanged = of_labels, of_rare, *linked
        self._least = least
        self._summed = {self.this_word, self.pair, self.next_word}
        self._of_labels = {*RUNS, TYPED_PAIRS} & counts.keys()
        self.reset(1)

    def reset(self, n_folds: int) -> None:
        """Take back all changes, and begin with this number of folds."""
        self.n_folds, self.counts = n_folds, ChangedCounts(self.tables, self._least)
        self.labels, self.of_rare, self.pairs, self.first, self.last = (
            np.repeat(part[None], n_folds, axis=0) for part in self._unchanged
        )
        self.label_tables = {t: [self.tables.counts[t]] * n_folds for t in self._of_labels}

    @property
    def label_prior(self) -> np.ndarray:
        """Label probabilities of each fold, (n_folds, n_labels)."""
        return label_prior(self.labels)

    def add(self, corpus: LabelledObservations, folds: np.ndarray, sign: float) -> None:
        """Add labelled tokens, times a sign, to their folds.

        Parameters
        ----------
        corpus : LabelledObservations
            With the labels of the model.
        folds : int32 ndarray of shape (n_tokens,)
        sign : {-1.0, 1.0}

        Raises
        ------
        ValueError
            If a count falls below zero: the tokens were never counted. Then all of this is void.
        """
        weights, templates = corpus.weights, [*self.tables.counts]
        if (weights == weights[0]).all():
            weights = weights[:1]
        signed = sign * weights
        window, codes, are_there = window_of(corpus, templates), dict[tuple, np.ndarray](), True
        words, spelling = self._words(corpus, folds)
        before = self.counts.rows([words])
        for template in templates:
            if template in self._of_labels:
                self._change_table(template, window, weights, folds, sign)
                continue
            events = Events.of_window(window, template, folds)
            key = template.labels, template.reach
            if key not in codes:
                codes[key] = self.tables.code(template, window.labels_of(template))
            of_events = signed
            if len(weights) > 1:
                of_events = sign * window.weights_of(template, weights)
            are_there &= self.counts.add(events, codes[key], of_events)
            if template in self._summed:
                self._change_sums(template, window, events.folds, codes[key], of_events)
        self._change_spelling(words.folds, spelling, before, self.counts.rows([words]))
        if not are_there:
            raise ValueError(NEVER_COUNTED)

    def _words(self, corpus: LabelledObservations, folds: np.ndarray) -> tuple[Events, np.ndarray]:
        """List the different words of each fold, and their spelling."""
        observations = corpus.observations
        ids = observations.columns[self.this_word.symbols[0][0]]
        _, first = np.unique(folds.astype(np.int64) << 32 | ids, return_index=True)
        spelling = observations.spelling[observations.word[first]]
        return Events.listed(self.this_word, [ids[first]], folds[first]), spelling

    def _change_spelling(
        self, folds: np.ndarray, spelling: np.ndarray, before: Rows, after: Rows
    ) -> None:
        """Let words that were rare take back their spelling, and add it if they are rare now."""
        used = [rows.repeat(is_rare(rows.sums())) for rows in (before, after)]
        words = [
            rows.repeat(np.arange(len(folds)))[k]
            for rows, k in zip((before, after), used, strict=True)
        ]
        word = np.concatenate(words)
        if len(word) == 0:
            return
        labels = np.concatenate([before.indices[used[0]], after.indices[used[1]]])
        weights = np.concatenate([-before.data[used[0]], after.data[used[1]]])
        self.of_rare += _sums(folds[word], labels, weights, self.of_rare.shape)
        number, symbols, codes = spelled_columns(spelling[word], labels)
        n = len(number) // len(labels)
        events = Events.listed(SPELLING, [number, symbols], np.tile(folds[word], n))
        self.counts.add(events, codes, np.tile(weights, n))

    def _change_sums(
        self,
        template: Template,
        window: ColumnWindow,
        folds: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """Add the events of a template to the sums that they belong to."""
        n, weights = self.n_labels, np.broadcast_to(weights, codes.shape)
        if template == self.this_word:
            self.labels += _sums(folds, codes, weights, self.labels.shape)
        elif template == self.next_word:
            is_last = window.symbols(template)[0] == BOUNDARY
            self.last += _sums(folds, codes, weights * is_last, self.last.shape)
        else:
            found = _sums(folds, codes, weights, (self.n_folds, n * n + n))
            self.pairs += found[:, : n * n].reshape(-1, n, n).swapaxes(1, 2)
            self.first += found[:, n * n :]

    def _change_table(
        self,
        template: Template,
        window: ColumnWindow,
        weights: np.ndarray,
        folds: np.ndarray,
        sign: float,
    ) -> None:
        """Add events to the table of a template of labels alone."""
        tables = self.label_tables[template]
        own = split(window.count(template, weights, [folds]), self.n_folds)
        change = merge if sign > 0 else subtract
        for fold, table in enumerate(own):
            if len(table.weights):
                tables[fold] = change(tables[fold], table)


def _sums(
    folds: np.ndarray, places: np.ndarray, weights: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Sum weights by fold and place."""
    n_folds, n = shape
    return np.bincount(folds * np.int64(n) + places, weights, n_folds * n).reshape(shape)
