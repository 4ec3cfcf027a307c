"""Counts that tokens were added to or subtracted from, of which single rows are read."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._kernels.sparse.changes import Changes, CountedRows, EventIds
from .counting import ColumnWindow
from .counts import BOUNDARY, Counts, Table, Template, aggregate
from .rows import KeyIndex, Rows

LARGEST = np.iinfo(np.int32).max

Coder = Callable[[Sequence[np.ndarray]], np.ndarray]
"""Turns the labels of events, an array for each offset, into codes; -1 leaves an event out."""


class Events(NamedTuple):
    """The symbols of the events of a template.

    Parameters
    ----------
    template : Template
    columns : list of (int32 ndarray of shape (n_events,), int)
        Ids of tokens, and an offset from the token of an event; or ids of events, and 0.
    offsets : int64 ndarray of shape (n_sequences + 1,)
        Where the sequences of the tokens begin and end.
    folds : int32 ndarray of shape (n_events,) or (1,)
        The fold of each event.
    """

    template: Template
    columns: Sequence[tuple[np.ndarray, int]]
    offsets: np.ndarray
    folds: np.ndarray

    @classmethod
    def listed(cls, template: Template, ids: Sequence[np.ndarray], folds: np.ndarray) -> "Events":
        """Events whose ids are given one by one."""
        columns = [(np.ascontiguousarray(column, dtype=np.int32), 0) for column in ids]
        return cls(template, columns, np.array([0, len(columns[0][0])]), folds)

    @classmethod
    def of_window(cls, window: ColumnWindow, template: Template, folds: np.ndarray) -> "Events":
        """All events of a window; ``folds`` are of its tokens, or of all of them."""
        if len(folds) > 1:
            folds = window.of_tokens(template, folds)
        return cls(template, *window.columns_of(template), folds)


class CountedTables:
    """Tables of counts that do not change, as their rows are found by the ids of symbols.

    Parameters
    ----------
    counts : Counts
        Labels are numbered from 0 to ``n_labels - 1``.
    n_labels : int
    coders : mapping from Template to Coder, optional
        For templates with other labels than those of the token and of the one before it: these
        have the codes ``j`` and ``j * n_labels + i``, for the label i before the label j, or
        ``n_labels ** 2 + j`` where no token is before.
    """

    def __init__(self, counts: Counts, n_labels: int, coders: Mapping[Template, Coder]):
        self.counts, self.n_labels, self._coders = counts, n_labels, coders
        self._rows: dict[Template, CountedRows] = {}

    def code(self, template: Template, labels: Sequence[np.ndarray]) -> np.ndarray:
        """Return the codes of the labels of events, int32; -1 where they have none."""
        if template in self._coders:
            return self._coders[template](labels)
        if len(labels) == 1:
            return labels[0]
        (previous, current), n = labels, np.int32(self.n_labels)
        return np.where(previous == BOUNDARY, n * n + current, current * n + previous)

    def n_codes(self, template: Template) -> int:
        """Return the number of codes that rows have; larger ones are of tokens without a link."""
        return self.n_labels ** len(template.labels) if template not in self._coders else LARGEST

    def add(self, template: Template, table: Table) -> None:
        """Add a table of symbols, and one label or code."""
        self._rows[template] = counted_rows(table)

    def rows(self, template: Template) -> CountedRows:
        """Return the rows of a template, which are indexed when they are needed first."""
        if template not in self._rows:
            table = self.counts[template]
            if len(template.labels) > 1:
                n = len(template.symbols)
                symbols, labels = table.events.T[:n], table.events.T[n:]
                codes = self.code(template, [np.ascontiguousarray(ids) for ids in labels])
                kept = codes >= 0
                columns = [*(ids[kept] for ids in symbols), codes[kept]]
                table = aggregate(columns, table.weights[kept], int(kept.sum()))
            self._rows[template] = counted_rows(table)
        return self._rows[template]


def counted_rows(table: Table) -> CountedRows:
    """Index a table of symbols, and one label or code."""
    index, starts = KeyIndex.of_runs(table.events[:, :-1])
    codes = np.ascontiguousarray(table.events[:, -1])
    return CountedRows(index._first, index._levels, starts, codes, table.weights)


class ChangedCounts:
    """Counts, and what was added to them or subtracted from them for each fold.

    Parameters
    ----------
    tables : CountedTables
    least : mapping from Template to float
        Attributes that occur less often are left out; by default none.
    """

    def __init__(self, tables: CountedTables, least: Mapping[Template, float]):
        self.tables, self._least = tables, least
        self._changes, self._numbers = Changes(), dict[Template, int]()

    def add(self, events: Events, codes: np.ndarray, weights: np.ndarray) -> bool:
        """Add events with codes of labels; False if a count falls below zero.

        Parameters
        ----------
        events : Events
        codes : int32 ndarray of shape (n_events,)
        weights : ndarray of shape (n_events,) or (1,)
            Negative to subtract events.
        """
        template, columns, offsets, folds = events
        number = self._numbers.setdefault(template, len(self._numbers))
        ids, counted = EventIds(columns, offsets), self.tables.rows(template)
        return self._changes.add(number, ids, folds, codes, weights, counted)

    def rows(self, requests: Sequence[Events]) -> Rows:
        """Return the counts of the attributes of events, of all requests below each other."""
        given = []
        for template, columns, offsets, folds in requests:
            number = self._numbers.get(template, -1)
            least, ids = self._least.get(template, 0.0), EventIds(columns, offsets)
            counted, n_codes = self.tables.rows(template), self.tables.n_codes(template)
            given.append((number, counted, ids, folds, least, n_codes))
        indptr, codes, counts = self._changes.rows(given)
        return Rows(counts, codes, indptr, (len(indptr) - 1, self.tables.n_labels))
