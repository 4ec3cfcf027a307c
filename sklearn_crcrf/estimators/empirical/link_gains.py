"""How far the attributes of links raise transition scores, before exponents."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...counts.rows import Rows
from ...structures import TokenTransitions


class LinkGains(NamedTuple):
    """The parts of the transition scores of links, before exponents.

    Parameters
    ----------
    row : ndarray of shape (n_rows,), int64
    indptr : ndarray of shape (n_different_rows + 1,), int64
    previous, current : ndarray of shape (n_entries,), int32
        As of :class:`~sklearn_crcrf.structures.TokenTransitions`.
    common : ndarray of shape (n_entries,)
        Scores that all links share.
    edges : ndarray of shape (n_entries,)
        Gains by the symbols at both ends of a link.
    types : ndarray of shape (n_entries,) or None
        Gains by the type of a link.
    is_exact : ndarray of shape (n_entries,), bool, or None
        Whether the entry is of a graph that is factored exactly, if that matters.
    """

    row: np.ndarray
    indptr: np.ndarray
    previous: np.ndarray
    current: np.ndarray
    common: np.ndarray
    edges: np.ndarray
    types: np.ndarray | None
    is_exact: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        row: np.ndarray,
        edges: sp.csr_array | Rows,
        types: sp.csr_array | None,
        transition: np.ndarray,
        is_exact: np.ndarray | None = None,
    ) -> "LinkGains":
        """From two matrices of gains.

        Parameters
        ----------
        row : ndarray of shape (n_rows,)
        edges, types : CSR of shape (n_different_rows, n_labels ** 2)
            Column ``j * n_labels + i`` is the transition from label i to label j. Edges without
            types may be Rows, in the order of columns.
        transition : ndarray of shape (n_labels, n_labels)
            Scores that all links share.
        is_exact : ndarray of shape (n_different_rows,), bool, optional
            The rows of graphs that are factored exactly; they have an entry for each pair.
        """
        # The parts of a complex sum stay apart, at the entries of both matrices.
        gains: Any = edges
        if types is not None:
            gains = (edges.csr() if isinstance(edges, Rows) else edges) + 1j * types
        if is_exact is not None:
            gains, position = _filled(gains, is_exact)
            row, is_exact = np.where(row < 0, -1, position[row]), np.sort(is_exact)
            is_exact = np.repeat(is_exact, np.diff(gains.indptr))
        if not isinstance(gains, Rows):
            gains.sort_indices()
        current, previous = np.divmod(gains.indices, len(transition))
        return cls(
            np.ascontiguousarray(row, dtype=np.int64),
            gains.indptr.astype(np.int64),
            previous.astype(np.int32),
            current.astype(np.int32),
            transition[previous, current],
            np.ascontiguousarray(gains.data.real),
            None if types is None else np.ascontiguousarray(gains.data.imag),
            is_exact,
        )

    def token_transitions(
        self,
        of_common: float | np.ndarray,
        of_edges: float | np.ndarray,
        of_types: float | np.ndarray,
    ) -> TokenTransitions:
        """Return transition scores, with the exponents of their parts, of each entry or of all."""
        score = of_common * self.common + of_edges * self.edges
        if self.types is not None:
            score += of_types * self.types
        return TokenTransitions(self.row, self.indptr, self.previous, self.current, score)


def _filled(matrix: sp.csr_array, is_full: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Put last the rows that get an entry for each column; return also where each row is."""
    order = np.argsort(is_full, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    full = matrix[np.flatnonzero(is_full)].toarray()
    columns = np.tile(np.arange(full.shape[1]), len(full))
    starts = np.arange(len(full) + 1) * full.shape[1]
    full = sp.csr_array((full.ravel(), columns, starts), shape=full.shape)
    return sp.vstack([matrix[np.flatnonzero(~is_full)], full], format="csr"), position
