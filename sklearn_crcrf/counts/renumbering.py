"""Counts with other ids of symbols and labels."""

from collections.abc import Mapping, Sequence

import numpy as np

from .counts import BOUNDARY, Counts, Table, Template, aggregate
from .links import EDGE_TYPE
from .triangles import TRIANGLES, with_types

__all__ = ["Renumbering", "merge_renumbered", "relabel", "renumber"]


def relabel(counts: Counts, rank: np.ndarray) -> Counts:
    """Counts with label id ``rank[i]`` for i; labels that occur must not have rank -1."""
    return renumber(counts, {}, rank)


def renumber(counts: Counts, symbols: Mapping[str, np.ndarray], labels: np.ndarray) -> Counts:
    """Counts with other ids of symbols and labels; see :class:`Renumbering`."""
    renumbering = Renumbering(symbols, labels)
    if renumbering.changes_nothing:
        return counts
    return Counts({template: renumbering(template, table) for template, table in counts.items()})


class Renumbering:
    """Gives other ids to the symbols and labels of tables.

    Parameters
    ----------
    symbols : mapping from column to int32 ndarray
        The new id of each id; columns that it leaves out keep their ids.
    labels : int32 ndarray
        The new id of each label; labels that were not counted may have id -1.
    """

    def __init__(self, symbols: Mapping[str, np.ndarray], labels: np.ndarray):
        self._symbols = {name: _changed(ids) for name, ids in symbols.items()}
        self._labels = _changed(labels)
        self._keeps_order = bool((np.diff(labels[labels >= 0]) > 0).all())

    @property
    def changes_nothing(self) -> bool:
        """Whether all ids stay as they are."""
        return self._labels is None and not any(ids is not None for ids in self._symbols.values())

    def __call__(self, template: Template, table: Table) -> Table:
        """A table of a template; its rows are in order again."""
        table, new_ids = self._with_types(template, table), self._new_ids(template)
        if all(new is None for new in new_ids):
            return table
        columns, weights = _renumbered(table, new_ids), table.weights
        if self._keeps_order and all(new is None for new in new_ids[: len(template.symbols)]):
            return Table(np.array(columns).T, weights)
        return aggregate(columns, weights, len(weights))

    def columns(self, template: Template, table: Table) -> tuple[list[np.ndarray], np.ndarray]:
        """The columns and the weights of the rows of a table, in any order."""
        table = self._with_types(template, table)
        return _renumbered(table, self._new_ids(template)), table.weights

    def _new_ids(self, template: Template) -> list[np.ndarray | None]:
        of_symbols = [self._symbols.get(name) for name, _ in template.symbols]
        return [*of_symbols, *[self._labels] * len(template.labels)]

    def _with_types(self, template: Template, table: Table) -> Table:
        types = self._symbols.get(EDGE_TYPE)
        return table if types is None or template != TRIANGLES else with_types(table, types)


def merge_renumbered(
    template: Template, tables: Sequence[Table], renumberings: Sequence[Renumbering]
) -> Table:
    """The sum of tables of a template, each with other ids, which are sorted only together."""
    pairs = zip(renumberings, tables, strict=True)
    parts, weights = zip(*(ids.columns(template, table) for ids, table in pairs), strict=True)
    joined = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return aggregate(joined, np.concatenate(weights), sum(map(len, weights)))


def _renumbered(table: Table, new_ids: list[np.ndarray | None]) -> list[np.ndarray]:
    pairs = zip(table.events.T, new_ids, strict=True)
    return [ids if new is None else new[ids] for ids, new in pairs]


def _changed(ids: np.ndarray) -> np.ndarray | None:
    """The new ids, with the id of BOUNDARY, -1, at the end; None if all ids stay."""
    if np.array_equal(ids, np.arange(len(ids))):
        return None
    return np.append(ids, np.int32(BOUNDARY))
