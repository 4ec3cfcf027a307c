"""Weights of single pairs of attribute and label."""

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.weights import (
    add_scores_to_weights,
    add_weights_to_scores,
    count_pairs,
    find_single_weights,
)
from ..data.csr import csr_arrays

__all__ = ["SingleWeights", "observed_pairs"]


class SingleWeights:
    """The entries of X with single weights, each listed once for every weight of its attribute.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    pairs : CSR of shape (n_attributes, n_labels)
        Its entries are the pairs that have a weight.
    is_single : bool ndarray of shape (n_attributes,)
        Which attributes have single weights.
    """

    def __init__(self, X: sp.csr_array, pairs: sp.csr_array, is_single: np.ndarray):
        self._n_weights, n_labels = pairs.nnz, pairs.shape[1]
        where = *csr_arrays(pairs)[:2], is_single.view(np.uint8), n_labels
        self._entries = find_single_weights(*csr_arrays(X), *where)
        self._shares = [self._entries]

    def add_scores(self, weights: np.ndarray, scores: np.ndarray, start: int, stop: int) -> None:
        add_weights_to_scores(*self._entries, weights, scores, start, stop)

    def add_to_weights(
        self, scores: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        add_scores_to_weights(*self._entries, scores, weights, start, stop)

    def add_gradient(
        self,
        scores: np.ndarray,
        out: np.ndarray,
        start: int,
        stop: int,
        share: int,
        n_shares: int,
    ) -> None:
        if n_shares != len(self._shares):
            # Threads may do this at the same time: they all get the same result.
            self._shares = self._split(n_shares)
        add_scores_to_weights(*self._shares[share], scores, out, start, stop)

    def _split(self, n_shares: int) -> list[tuple]:
        """Shares of about equal numbers of entries; no two shares have a weight in common."""
        indptr, place, weight, value = self._entries
        n_before = np.cumsum(np.bincount(weight, minlength=self._n_weights))
        cuts = np.searchsorted(n_before, len(weight) * np.arange(1, n_shares) // n_shares)
        share_of = np.searchsorted(cuts, weight, "right")
        shares = []
        for share in range(n_shares):
            mine = share_of == share
            starts = np.append(0, np.cumsum(mine))[indptr]
            shares.append((starts, place[mine], weight[mine], value[mine]))
        return shares


def observed_pairs(X: sp.csr_array, y: np.ndarray, n_labels: int) -> sp.csr_array:
    """The pairs of attribute and label that occur together at some token.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    y : ndarray of shape (n_tokens,) of label ids, -1 where the label is not known
    n_labels : int

    Returns
    -------
    CSR of shape (n_attributes, n_labels)
        Its entries are the pairs; their values are sums of the values of the attribute.
    """
    n_attributes = X.shape[1]
    counts = count_pairs(*csr_arrays(X), y.astype(np.int32, copy=False), n_attributes)
    return sp.csr_array(counts, (n_attributes, n_labels))
