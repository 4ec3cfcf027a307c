"""Counts of a smoothed model that change, and the sums of them that all rows depend on."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ...counts import BOUNDARY, ColumnWindow, Counts, Template
from ...counts.changed import ChangedCounts, Coder, Events, EventTables
from ...counts.counter import LabelledObservations
from ...counts.counts import NEVER_COUNTED, merge, split, subtract
from ...counts.links import TYPED_PAIRS
from ...counts.observations import Observations
from ...counts.rows import Rows
from ...labels.segments.roles import Roles
from .experts import ContextExpert, EdgeExpert, given_templates
from .model import Statistics, label_prior
from .product_spelling import EXPERTS, is_rare, rare_counts
from .run_rates import RUNS
from .segment_rates import segment_templates, segment_types
from .transitions import linked_labels

# Stand for the tables of the spelling of rare words, beside those of templates.
FEATURES = [expert.feature for expert in EXPERTS]
SPELLING = [Template(((f"\0{expert.feature}", 0),)) for expert in EXPERTS]


class Group(NamedTuple):
    """Tables that have the same events.

    Parameters
    ----------
    labelled : list of Template
        One for each way in which the events are labelled.
    walk : Template or None
        The template whose walks are the events; None if they are tokens.
    tables : EventTables
    """

    labelled: list[Template]
    walk: Template | None
    tables: EventTables

    def events(self, window: ColumnWindow, ids: np.ndarray, folds: np.ndarray) -> Events:
        """Return the events of a window, given the ids and the folds of its tokens."""
        if self.walk is None:
            return Events(self.tables, ids, window.offsets, folds)
        symbols = np.stack(window.symbols(self.walk), axis=1)
        return Events.listed(self.tables, symbols, window.of_tokens(self.walk, folds))


class ChangedSums:
    """The counts of a model, changed for each fold, and their sums over all tokens.

    A row of counts is read when it is asked for. What all rows depend on is small, and kept for
    each fold: how often labels occur, of rare words too, and in which pairs they are linked. The
    spelling of rare words is in tables like all others: a word that becomes rare or frequent brings
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
    contexts : sequence of ContextExpert
        Those that take part.
    edges : sequence of EdgeExpert

    Attributes
    ----------
    labels, of_rare : ndarray of shape (n_folds, n_labels)
    pairs : ndarray of shape (n_folds, n_labels, n_labels), previous label first
    first, last : ndarray of shape (n_folds, n_labels)
    given : list of Template
        Given the symbol of the token itself, what estimates labels for the experts on transitions.
    runs : list of Template
        Of counted segments.
    above : int32 ndarray
        For each table before those of edges, as of :meth:`rows`: the table whose estimates are its
        prior, -1 if there is none.
    slots : int32 ndarray
        The tables that have weights of tokens.
    ends : list of (int, int)
        The table that estimates the previous label alone of each edge, and whether it is given the
        symbol of the token before, 0, or of the token, 1; then the same for current labels.
    """

    def __init__(
        self,
        statistics: Statistics,
        counts: Counts,
        least: Mapping[Template, float],
        roles: Roles | None,
        contexts: Sequence[ContextExpert],
        edges: Sequence[EdgeExpert],
    ):
        self.n_labels, word, encoder = statistics.n_labels, statistics.word, statistics.encoder
        self.this_word, self.pair = Template(((word, 0),)), Template(((word, 0),), (-1, 0))
        self.next_word = Template(((word, 1),), linked=encoder.links != "next")
        self.contexts, self.edges = contexts, edges
        self.given = [t for t in given_templates(edges) if t != self.this_word]
        self.runs, coders = [], dict[Template, Coder]()
        if roles is not None:
            self.runs = segment_templates(word)
            coders = dict.fromkeys(self.runs, partial(segment_types, roles=roles))
        of_contexts = [expert.template for expert in contexts]
        read = [*SPELLING, self.this_word, *self.given, *of_contexts]
        shorter = [
            None if e.shorter is None else SPELLING[FEATURES.index(e.shorter)] for e in EXPERTS
        ]
        broader = [*shorter, None, *[None] * len(self.given), *(e.broader for e in contexts)]
        self.above = np.array([-1 if t is None else read.index(t) for t in broader], dtype=np.int32)
        first_context = len(read) - len(contexts)
        self.slots = np.r_[: len(SPELLING) + 1, first_context : len(read)].astype(np.int32)
        ends = [(e, *e.before) for e in edges] + [(e, *e.here) for e in edges]
        self.ends = [(read.index(t), int(e.template.symbols[k][1] >= 0)) for e, t, k in ends]
        self.counts = ChangedCounts(counts, self.n_labels, coders, least)
        of_spelling, of_rare = rare_counts(statistics)
        for template, table in zip(SPELLING, split(of_spelling, len(SPELLING)), strict=True):
            self.counts.index(template, table)
        of_labels = np.zeros(self.n_labels)
        events, weights = counts[self.this_word]
        np.add.at(of_labels, events[:, -1], weights)
        linked = linked_labels(counts[self.pair], counts[self.next_word], self.n_labels)
        self._unchanged = of_labels, of_rare, *linked
        self._of_labels = {*RUNS, TYPED_PAIRS} & counts.keys()
        self._are_walks = encoder.links != "next" or encoder.edge_types is not None
        self._columns = encoder.names
        features = [f"{word}:{expert.feature}" for expert in EXPERTS]
        self._place = {name: k for k, name in enumerate([*features, *self._columns])}
        spelled = [(t, ((name, 0),)) for t, name in zip(SPELLING, features, strict=True)]
        own = [(t, ((t.symbols[0][0], 0),)) for t in self.given]
        others = [*of_contexts, *(expert.template for expert in edges), *self.runs]
        every = [(t, t.symbols) for t in [self.this_word, *others]]
        self._read = self._grouped([*spelled, every[0], *own, *every[1:]])
        counted = [t for t in counts if t not in self._of_labels]
        self._added = self._grouped([(t, t.symbols) for t in counted])
        self._spelled = self._grouped(spelled)[0].tables
        labelled = [t for group in self._added for t in group.labelled]
        self._summed = {
            t: next(u for u in labelled if self.counts.labelling(u) == self.counts.labelling(t))
            for t in (self.this_word, self.pair, self.next_word)
        }
        self._words = self.counts.tables([(self.this_word, [(0, 0)], 0)])
        self.reset(1)

    def _grouped(self, wanted: Sequence[tuple[Template, Sequence[tuple[str, int]]]]) -> list[Group]:
        """Put tables together whose events are tokens; others have the walks of one template."""
        labelled, tokens, walks = dict[tuple, Template](), [], []
        for template, symbols in wanted:
            if self._are_walks and template.reach != (0, 0) and symbols == template.symbols:
                places = [(k, 0) for k in range(len(symbols))]
                walks.append(
                    Group([template], template, self.counts.tables([(template, places, 0)]))
                )
                continue
            key = self.counts.labelling(template)
            labelled.setdefault(key, template)
            number, places = (
                [*labelled].index(key),
                [(self._place[k], shift) for k, shift in symbols],
            )
            tokens.append((template, places, number))
        return [Group([*labelled.values()], None, self.counts.tables(tokens)), *walks]

    def reset(self, n_folds: int) -> None:
        """Take back all changes, and begin with this number of folds."""
        self.n_folds = n_folds
        self.counts.reset()
        self.labels, self.of_rare, self.pairs, self.first, self.last = (
            np.repeat(part[None], n_folds, axis=0) for part in self._unchanged
        )
        self.label_tables = {t: [self.counts.counts[t]] * n_folds for t in self._of_labels}

    @property
    def label_prior(self) -> np.ndarray:
        """Label probabilities of each fold, (n_folds, n_labels)."""
        return label_prior(self.labels)

    def rows(self, observations: Observations, window: ColumnWindow, folds: np.ndarray) -> Rows:
        """Return rows of counts, one table after another, as each token or walk has its symbols.

        The tables are: each feature of the spelling, the words, ``given``, ``contexts``, ``edges``
        and ``runs``.
        """
        ids = self._ids(observations)
        return self.counts.rows([group.events(window, ids, folds) for group in self._read])

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
        observations, labels, weights = corpus
        if (weights == weights[0]).all():
            weights = weights[:1]
        window = ColumnWindow(observations.columns, labels, corpus.offsets, observations.links())
        words, spelling = self._different_words(observations, folds)
        before, ids, are_there = self.counts.rows([words]), self._ids(observations), True
        known = dict[Template, tuple[np.ndarray, np.ndarray]]()
        for group in self._added:
            for template in group.labelled:
                codes = self.counts.code(template, window.labels_of(template))
                own = np.full(len(codes), sign)
                own *= window.weights_of(template, weights)
                known[template] = codes, own
            events, labellings = (
                group.events(window, ids, folds),
                [known[t] for t in group.labelled],
            )
            are_there &= self.counts.add(events, labellings)
        for template, like in self._summed.items():
            self._change_sums(template, window, window.of_tokens(like, folds), *known[like])
        for template in self._of_labels:
            self._change_table(template, window, weights, folds, sign)
        self._change_spelling(words.folds, spelling, before, self.counts.rows([words]))
        if not are_there:
            raise ValueError(NEVER_COUNTED)

    def _ids(self, observations: Observations) -> np.ndarray:
        """Return the ids of the spelling of tokens, and of their symbols, in columns."""
        columns = [observations.columns[name][:, None] for name in self._columns]
        return np.concatenate([observations.spelling[observations.word], *columns], axis=1)

    def _different_words(
        self, observations: Observations, folds: np.ndarray
    ) -> tuple[Events, np.ndarray]:
        """List the different words of each fold, and their spelling."""
        ids = observations.columns[self._columns[0]]
        _, first = np.unique(folds.astype(np.int64) << 32 | ids, return_index=True)
        spelling = observations.spelling[observations.word[first]]
        return Events.listed(self._words, ids[first][:, None], folds[first]), spelling

    def _change_spelling(
        self, folds: np.ndarray, spelling: np.ndarray, before: Rows, after: Rows
    ) -> None:
        """Let words that were rare take back their spelling, and add it if they are rare now."""
        both = [(rows.sums(), rows.lengths, rows.indices, rows.data) for rows in (before, after)]
        sums, lengths, labels, counts = map(np.concatenate, zip(*both, strict=True))
        counts[: len(before.data)] *= -1.0
        row = np.arange(len(sums)).repeat(lengths)
        used = is_rare(sums)[row]
        if not used.any():
            return
        word, labels, weights = row[used] % len(folds), labels[used], counts[used]
        self.of_rare += _sums(folds[word], labels, weights, self.of_rare.shape)
        events = Events.listed(self._spelled, spelling[word], folds[word])
        self.counts.add(events, [(labels, weights)])

    def _change_sums(
        self,
        template: Template,
        window: ColumnWindow,
        folds: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """Add the events of a template to the sums that they belong to."""
        n = self.n_labels
        if template == self.this_word:
            self.labels += _sums(folds, codes, weights, self.labels.shape)
        elif template == self.next_word:
            last = np.flatnonzero(window.symbols(template)[0] == BOUNDARY)
            self.last += _sums(folds[last], codes[last], weights[last], self.last.shape)
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
    places = places if n_folds == 1 else folds * np.int64(n) + places
    return np.bincount(places, weights, n_folds * n).reshape(shape)
