"""Encoded tokens and links, as models look them up."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..base.batches import Batch
from ..structures import Scores, Structure, TokenTransitions


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
        cls, structure: Structure, edges: Sequence[np.ndarray], types: np.ndarray | None = None
    ) -> "PreparedLinks":
        """From the attributes of each link, in the order of ``structure.links()``."""
        n_rows, rows = structure.n_rows, structure.rows_of_links()
        of_rows = np.full((n_rows, len(edges)), -1, dtype=np.int32)
        for slot, of_links in enumerate(edges):
            of_rows[rows, slot] = of_links
        types_of_rows, is_link = np.full(n_rows, -1, dtype=np.int32), np.zeros(n_rows, dtype=bool)
        is_link[rows] = True
        if types is not None:
            types_of_rows[rows] = np.maximum(types, -1)
        return cls(of_rows, types_of_rows, is_link, _row_offsets(structure))

    def take(self, batch: Batch) -> "PreparedLinks":
        """Return the rows of a batch."""
        offsets = self.offsets[batch.first : batch.first + batch.structure.n_units + 1]
        rows = slice(offsets[0], offsets[-1])
        is_exact = None if self.is_exact is None else self.is_exact[rows]
        of_rows = self.edges[rows], self.types[rows], self.is_link[rows]
        return PreparedLinks(*of_rows, offsets - offsets[0], is_exact)

    def row(self) -> np.ndarray:
        """Return the number of each row, -1 where it is of no link."""
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
        edges, types, is_link, _, is_exact = self
        is_exact = None if is_exact is None else is_exact[example]
        links = self._replace(edges=edges[example], types=types[example], is_exact=is_exact)
        return np.where(is_link, row, -1), links


def _row_offsets(structure: Structure) -> np.ndarray:
    """Find where the rows of each unit begin."""
    _, current = structure.links()
    if np.array_equal(structure.rows_of_links(), current):  # each token has a row
        return structure.offsets
    unit = structure.units_of(current)
    return np.searchsorted(unit, np.arange(structure.n_units + 1))


class Prepared(NamedTuple):
    """The attributes of tokens and links, from which scores are computed.

    Parameters
    ----------
    rows : int32 ndarray of shape (n_tokens, n_slots)
        Rows of the state weights.
    kind : int8 ndarray of shape (n_tokens,)
    links : PreparedLinks
    attributes : CSR of shape (n_tokens, n_attributes) or None
    segments : int32 ndarray of shape (n_tokens, n_segment_slots) or None
        Rows of what was counted of the runs that end at each token.
    has_triangles : bool
        Whether triangles of the structure have scores.
    """

    rows: np.ndarray
    kind: np.ndarray
    links: PreparedLinks
    attributes: Any = None
    segments: Any = None
    has_triangles: bool = False

    def take(self, batch: Batch) -> "Prepared":
        """Return the tokens and links of a batch."""
        tokens = slice(batch.start, batch.stop)
        if batch.stop - batch.start == len(self.kind):
            return self
        rows, kind, links, *others, has_triangles = self
        attributes, segments = (None if part is None else part[tokens] for part in others)
        links = links.take(batch)
        return Prepared(rows[tokens], kind[tokens], links, attributes, segments, has_triangles)


def with_tables(scores: Scores, row: np.ndarray, tables: np.ndarray) -> Scores:
    """Give each link the transition scores of one of several tables.

    Parameters
    ----------
    scores : Scores
        If there are no tables, these are all.
    row : ndarray of shape (n_rows,)
        The table of each row of transition scores, -1 where it is of no link.
    tables : ndarray of shape (n_tables, n_labels, n_labels), row = previous label

    Returns
    -------
    Scores
    """
    n_tables, n, _ = tables.shape
    if n_tables == 0:
        return scores
    labels, score = np.arange(n, dtype=np.int32), tables.transpose(0, 2, 1).ravel()
    transitions = TokenTransitions(
        np.asarray(row, dtype=np.int64),
        np.arange(n_tables + 1, dtype=np.int64) * n * n,
        np.tile(labels, n_tables * n),
        np.tile(np.repeat(labels, n), n_tables),
        score,
    )
    least = score.reshape(n_tables, n * n).min(axis=0).reshape(n, n).T
    return scores._replace(transition=np.ascontiguousarray(least), token_transitions=transitions)
