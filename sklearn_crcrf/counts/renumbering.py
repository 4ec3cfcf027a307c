"""Counts with other ids of symbols and labels."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from .counts import BOUNDARY, Counts, Table, Template, aggregate
from .links import EDGE_TYPE
from .triangles import TRIANGLES, with_types


def renumber(
    counts: Counts, labels: np.ndarray, symbols: Mapping[str, np.ndarray] = MappingProxyType({})
) -> Counts:
    """Renumber the labels and symbols of counts; see :class:`Renumbering`."""
    renumbering = Renumbering(labels, symbols)
    if renumbering.changes_nothing:
        return counts
    return Counts({template: renumbering(template, table) for template, table in counts.items()})


class Renumbering:
    """Gives other ids to the symbols and labels of tables.

    Parameters
    ----------
    labels : int32 ndarray
        The new id of each label; labels that were not counted may have id -1.
    symbols : mapping from column to int32 ndarray, optional
        The new id of each id; columns that it leaves out keep their ids. Symbols that were not
        counted may have id -1.

    Attributes
    ----------
    changes_nothing : bool
        Whether all ids stay as they are.
    """

    def __init__(
        self, labels: np.ndarray, symbols: Mapping[str, np.ndarray] = MappingProxyType({})
    ):
        changed = {name: _changed(ids) for name, ids in symbols.items()}
        self._symbols = {name: ids for name, ids in changed.items() if ids is not None}
        self._labels = _changed(labels)
        self._rising = {name for name, ids in symbols.items() if _rises(ids)}
        self._keeps_order = _rises(labels)
        self.changes_nothing = self._labels is None and not self._symbols

    def __call__(self, template: Template, table: Table) -> Table:
        """Renumber a table of a template; its rows are in order again."""
        if template == TRIANGLES and EDGE_TYPE in self._symbols:
            table = with_types(table, self._symbols[EDGE_TYPE])
        of_symbols = [self._symbols.get(name) for name, _ in template.symbols]
        new_ids = [*of_symbols, *[self._labels] * len(template.labels)]
        if all(new is None for new in new_ids):
            return table
        pairs = zip(table.events.T, new_ids, strict=True)
        columns = [ids if new is None else new[ids] for ids, new in pairs]
        changed = {name for name, _ in template.symbols if name in self._symbols}
        if self._keeps_order and changed <= self._rising:
            return Table(np.array(columns).T, table.weights)
        return aggregate(columns, table.weights, len(table.weights))


def _rises(ids: np.ndarray) -> bool:
    """Say whether new ids are in the order of the old ones."""
    return bool((np.diff(ids[ids >= 0]) > 0).all())


def _changed(ids: np.ndarray) -> np.ndarray | None:
    """Put the id of BOUNDARY, -1, behind the new ids; return None if all ids stay."""
    if np.array_equal(ids, np.arange(len(ids))):
        return None
    return np.append(ids, np.int32(BOUNDARY))
