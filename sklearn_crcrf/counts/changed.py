"""Counts that tokens were added to or subtracted from, of which single rows are read."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._kernels.sparse.changes import Changes, CountedRows, EventTables
from .counts import BOUNDARY, Counts, Table, Template, aggregate
from .rows import KeyIndex, Rows

LARGEST = np.iinfo(np.int32).max

Coder = Callable[[Sequence[np.ndarray]], np.ndarray]
"""Turns the labels of events, an array for each offset, into codes; -1 leaves an event out."""
Symbols = Sequence[tuple[int, int]]
"""The column of each symbol of an attribute, and its offset from the event."""


class Events(NamedTuple):
    """Events, and the tables in which they are counted.

    Parameters
    ----------
    tables : EventTables
    ids : int32 ndarray of shape (n_events, n_columns)
    offsets : int64 ndarray of shape (n_sequences + 1,)
        Where the sequences of events begin and end.
    folds : int32 ndarray of shape (n_events,) or (1,)
        The fold of each event.
    """

    tables: EventTables
    ids: np.ndarray
    offsets: np.ndarray
    folds: np.ndarray

    @classmethod
    def listed(cls, tables: EventTables, ids: np.ndarray, folds: np.ndarray) -> "Events":
        """Events without neighbours."""
        return cls(tables, ids, np.array([0, len(ids)]), folds)


class ChangedCounts:
    """Counts, and what was added to them or subtracted from them for each fold.

    Parameters
    ----------
    counts : Counts
        They do not change. Labels are numbered from 0 to ``n_labels - 1``.
    n_labels : int
    coders : mapping from Template to Coder
        For templates with other labels than those of the token and of the one before it: these
        have the codes ``j`` and ``j * n_labels + i``, for the label i before the label j, or
        ``n_labels ** 2 + j`` where no token is before.
    least : mapping from Template to float
        Attributes that occur less often are left out; by default none.
    """

    def __init__(
        self,
        counts: Counts,
        n_labels: int,
        coders: Mapping[Template, Coder],
        least: Mapping[Template, float],
    ):
        self.counts, self.n_labels, self._coders, self._least = counts, n_labels, coders, least
        self._rows, self._changes = dict[Template, CountedRows](), Changes()

    def reset(self) -> None:
        """Take back all changes."""
        self._changes.clear()

    def labelling(self, template: Template) -> tuple:
        """Return what templates share whose labels have the same codes."""
        return template.labels, template.reach, self._coders.get(template)

    def code(self, template: Template, labels: Sequence[np.ndarray]) -> np.ndarray:
        """Return the codes of the labels of events, int32; -1 where they have none."""
        if template in self._coders:
            return self._coders[template](labels)
        if len(labels) == 1:
            return labels[0]
        (previous, current), n = labels, np.int32(self.n_labels)
        return np.where(previous == BOUNDARY, n * n + current, current * n + previous)

    def tables(self, wanted: Sequence[tuple[Template, Symbols, int]]) -> EventTables:
        """Return tables of the same events.

        Parameters
        ----------
        wanted : sequence of (Template, Symbols, int)
            The number tells which of the labellings that :meth:`add` gets is counted.
        """
        return EventTables([(self._table(template), *others) for template, *others in wanted])

    def index(self, template: Template, table: Table) -> None:
        """Add a table of symbols, and one label or code; it may replace that of a template."""
        index, starts = KeyIndex.of_runs(table.events[:, :-1])
        codes, number = np.ascontiguousarray(table.events[:, -1]), len(self._rows)
        # Larger codes are of tokens without a link.
        n_codes = LARGEST if template in self._coders else self.n_labels ** len(template.labels)
        least, of_rows = self._least.get(template, 0.0), (starts, codes, table.weights)
        self._rows[template] = CountedRows(
            number, index._first, index._levels, *of_rows, n_codes, least
        )

    def _table(self, template: Template) -> CountedRows:
        """Return the table of a template, which is indexed when it is needed first."""
        if template not in self._rows:
            table, n = self.counts[template], len(template.symbols)
            if len(template.labels) > 1:
                symbols, labels = table.events.T[:n], table.events.T[n:]
                codes = self.code(template, [np.ascontiguousarray(ids) for ids in labels])
                kept = codes >= 0
                columns = [*(ids[kept] for ids in symbols), codes[kept]]
                table = aggregate(columns, table.weights[kept], int(kept.sum()))
            self.index(template, table)
        return self._rows[template]

    def add(self, events: Events, labellings: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
        """Add events with codes of labels; False if a count falls below zero.

        Parameters
        ----------
        events : Events
        labellings : sequence of (int32 ndarray of shape (n_events,), ndarray)
            Codes; and weights, of shape (n_events,) or (1,), negative to subtract events.
        """
        return self._changes.add(*events, labellings)

    def rows(self, requests: Sequence[Events]) -> Rows:
        """Return the counts of the attributes of events, one table after another."""
        indptr, codes, counts = self._changes.rows(requests)
        return Rows(counts, codes, indptr, (len(indptr) - 1, self.n_labels))
