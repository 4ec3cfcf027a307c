"""How far the attributes of links raise transition scores, before exponents."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..structures import TokenTransitions

__all__ = ["LinkGains"]


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
    """

    row: np.ndarray
    indptr: np.ndarray
    previous: np.ndarray
    current: np.ndarray
    common: np.ndarray
    edges: np.ndarray
    types: np.ndarray | None

    @classmethod
    def of(
        cls,
        row: np.ndarray,
        edges: sp.csr_array,
        types: sp.csr_array | None,
        transition: np.ndarray,
    ) -> "LinkGains":
        """From two matrices of gains.

        Parameters
        ----------
        row : ndarray of shape (n_rows,)
        edges, types : CSR of shape (n_different_rows, n_labels ** 2)
            Column ``j * n_labels + i`` is the transition from label i to label j.
        transition : ndarray of shape (n_labels, n_labels)
            Scores that all links share.
        """
        # The parts of a complex sum stay apart, at the entries of both matrices.
        gains = edges if types is None else edges + 1j * types
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
        )

    def token_transitions(
        self, of_common: float, of_edges: float, of_types: float
    ) -> TokenTransitions:
        """The transition scores, with the exponents of their parts."""
        score = of_common * self.common + of_edges * self.edges
        if self.types is not None:
            score += of_types * self.types
        return TokenTransitions(self.row, self.indptr, self.previous, self.current, score)
