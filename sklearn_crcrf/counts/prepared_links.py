"""What transitions depend on, for each row of transition scores."""

from math import prod
from typing import NamedTuple

import numpy as np

from ..base.batches import Batch
from ..structures import Structure

__all__ = ["PreparedLinks"]


class PreparedLinks(NamedTuple):
    """The attributes on which transitions depend.

    There is a row for each entry of ``token_transitions.row``, as of
    :meth:`~sklearn_crcrf.structures.Structure.rows_of_links`.

    Parameters
    ----------
    edges : int32 ndarray of shape (n_rows, n_edge_slots)
        Rows of the edge weights, -1 where there are none.
    types : int32 ndarray of shape (n_rows,)
        Types of the links, -1 where they are not known.
    is_link : bool ndarray of shape (n_rows,)
        Whether the row is of a link.
    offsets : int64 ndarray of shape (n_units + 1,)
        Where the rows of each unit begin.
    is_exact : bool ndarray of shape (n_rows,) or None
        Whether the row is of a link of a graph that is factored exactly, if that matters.
    """

    edges: np.ndarray
    types: np.ndarray
    is_link: np.ndarray
    offsets: np.ndarray
    is_exact: np.ndarray | None = None

    @classmethod
    def of(
        cls, structure: Structure, edges: np.ndarray, types: np.ndarray | None = None
    ) -> "PreparedLinks":
        """From the attributes of each link, in the order of ``structure.links()``."""
        n_rows, rows = structure.n_rows, structure.rows_of_links()
        of_rows = np.full((n_rows, edges.shape[1]), -1, dtype=np.int32)
        types_of_rows, is_link = np.full(n_rows, -1, dtype=np.int32), np.zeros(n_rows, dtype=bool)
        of_rows[rows], is_link[rows] = edges, True
        if types is not None:
            types_of_rows[rows] = np.maximum(types, -1)
        return cls(of_rows, types_of_rows, is_link, _row_offsets(structure))

    def take(self, batch: Batch) -> "PreparedLinks":
        """The rows of a batch."""
        offsets = self.offsets[batch.first : batch.first + batch.structure.n_units + 1]
        rows = slice(offsets[0], offsets[-1])
        is_exact = None if self.is_exact is None else self.is_exact[rows]
        of_rows = self.edges[rows], self.types[rows], self.is_link[rows]
        return PreparedLinks(*of_rows, offsets - offsets[0], is_exact)

    def with_exact(self, units: np.ndarray) -> "PreparedLinks":
        """The same links, where graphs that are factored exactly are known; (n_units,) of bool."""
        return self._replace(is_exact=np.repeat(units, np.diff(self.offsets)))

    def row(self) -> np.ndarray:
        """The number of each row, -1 where it is of no link."""
        return np.where(self.is_link, np.arange(len(self.is_link)), -1)

    def distinct(self, n_edges: list[int], n_types: int) -> tuple[np.ndarray, "PreparedLinks"]:
        """Rows that differ, if there can be only a few.

        Parameters
        ----------
        n_edges : list of int
            The number of edge weights in each slot.
        n_types : int

        Returns
        -------
        row : int64 ndarray of shape (n_rows,)
            The row of each row, -1 where it is of no link.
        links : PreparedLinks
        """
        sizes = [size + 1 for size in (*n_edges, n_types)]
        ids = [ids + 1 for ids in (*self.edges.T, self.types)]
        if self.is_exact is not None:
            sizes, ids = [*sizes, 2], [*ids, self.is_exact]
        if prod(sizes) > len(self.is_link):
            return self.row(), self
        codes = np.ravel_multi_index(ids, sizes)
        _, example, row = np.unique(codes, return_index=True, return_inverse=True)
        is_exact = None if self.is_exact is None else self.is_exact[example]
        links = self._replace(
            edges=self.edges[example], types=self.types[example], is_exact=is_exact
        )
        return np.where(self.is_link, row, -1), links


def _row_offsets(structure: Structure) -> np.ndarray:
    """Where the rows of each unit begin."""
    _, current = structure.links()
    if np.array_equal(structure.rows_of_links(), current):  # each token has a row
        return structure.offsets
    unit = np.searchsorted(structure.offsets, current, side="right") - 1
    return np.searchsorted(unit, np.arange(structure.n_units + 1))
