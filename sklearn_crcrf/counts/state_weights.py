"""State scores as sums of rows of one sparse matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels._scores import add_rows, add_rows_pullback
from ..utils.csr import csr_arrays
from .rows import stack_rows
from .storage import Storable

__all__ = ["FREQUENT", "SELDOM", "UNSEEN", "StateWeights"]

# The kinds of words, each with exponents of its own.
FREQUENT, SELDOM, UNSEEN = range(3)


class StateWeights(Storable):
    """Weights of attributes, in blocks of rows; a token has at most one row of each slot.

    Parameters
    ----------
    blocks : list of CSR of shape (n_rows, n_labels)
        Is emptied.
    exponents : array-like of shape (n_kinds, n_slots)
        Multiplies the rows of each slot, for each kind of word.

    Attributes
    ----------
    coef : CSR of shape (n_attributes, n_labels)
        All blocks, one below the other.
    starts : ndarray of shape (n_blocks,)
        Row of ``coef`` at which each block starts.
    """

    def __init__(self, blocks: list[sp.csr_array], exponents):
        self.starts = np.cumsum([0, *(b.shape[0] for b in blocks[:-1])])
        self.coef = stack_rows(blocks)
        self.exponents = np.ascontiguousarray(exponents, dtype=float)
        self._arrays = csr_arrays(self.coef)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        del state["_arrays"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._arrays = csr_arrays(self.coef)

    def scores(self, rows: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """State scores of tokens.

        Parameters
        ----------
        rows : int32 ndarray of shape (n_tokens, n_slots)
            Rows of ``coef``, -1 for none.
        kind : int8 ndarray of shape (n_tokens,)

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
        """
        scores = np.zeros((len(rows), self.coef.shape[1]))
        add_rows(rows, kind, self.exponents, *self._arrays, scores)
        return scores

    def pullback(self, rows: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Derivative by the exponents, given the derivative ``weight`` by the scores."""
        gradient = np.zeros(self.exponents.shape)
        add_rows_pullback(rows, kind, *self._arrays, weight, gradient)
        return gradient
