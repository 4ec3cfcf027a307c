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
            of_events = window.weights_of(template, weights)
            are_there &= self.counts.add(events, codes[key], of_events, sign)
            if template in self._summed:
                self._change_sums(template, events, codes[key], sign * of_events, window)
        after = self.counts.rows([words])
        self._change_spelling(words.folds, spelling, before, -1.0)
        self._change_spelling(words.folds, spelling, after, 1.0)
        if not are_there:
            raise ValueError(NEVER_COUNTED)

    def _words(self, corpus: LabelledObservations, folds: np.ndarray) -> tuple[Events, np.ndarray]:
        """List the different words of each fold, and their spelling."""
        observations, ids = (
            corpus.observations,
            corpus.observations.columns[self.this_word.symbols[0][0]],
        )
        _, first = np.unique(folds.astype(np.int64) << 32 | ids, return_index=True)
        spelling = observations.spelling[observations.word[first]]
        return Events.listed(self.this_word, [ids[first]], folds[first]), spelling

    def _change_spelling(
        self, folds: np.ndarray, spelling: np.ndarray, rows: Rows, sign: float
    ) -> None:
        """Add the spelling of words, which have these rows of counts, if they are rare."""
        is_used = rows.repeat(is_rare(rows.sums()))
        if not is_used.any():
            return
        word = rows.repeat(np.arange(len(folds)))[is_used]
        labels, weights, of_words = rows.indices[is_used], rows.data[is_used], folds[word]
        _add_at(self.of_rare, of_words, labels, sign * weights)
        number, symbols, codes = spelled_columns(spelling[word], labels)
        n = len(number) // len(labels)
        events = Events.listed(SPELLING, [number, symbols], np.tile(of_words, n))
        self.counts.add(events, codes, np.tile(weights, n), sign)

    def _change_sums(
        self,
        template: Template,
        events: Events,
        codes: np.ndarray,
        weights: np.ndarray,
        window: ColumnWindow,
    ) -> None:
        """Add the events of a template to the sums that they belong to."""
        n, folds = self.n_labels, np.broadcast_to(events.folds, codes.shape)
        weights = np.broadcast_to(weights, codes.shape)
        if template == self.this_word:
            _add_at(self.labels, folds, codes, weights)
        elif template == self.next_word:
            is_last = window.symbols(template)[0] == BOUNDARY
            _add_at(self.last, folds[is_last], codes[is_last], weights[is_last])
        else:
            is_first = codes >= n * n
            _add_at(self.first, folds[is_first], codes[is_first] - n * n, weights[is_first])
            current, previous = np.divmod(codes, n)
            codes = previous * n + current
            of_pairs = self.pairs.reshape(self.n_folds, -1)
            _add_at(of_pairs, folds[~is_first], codes[~is_first], weights[~is_first])

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


def _add_at(sums: np.ndarray, folds: np.ndarray, places: np.ndarray, weights: np.ndarray) -> None:
    """Add weights to places of the rows of a matrix."""
    n = sums.shape[1]
    sums += np.bincount(folds * np.int64(n) + places, weights, sums.size).reshape(sums.shape)
