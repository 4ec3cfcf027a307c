"""Weights of single pairs of attribute and label."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .._csr import csr_arrays
from .._kernels._cells import add_cells, add_scores, find_cells
from .._kernels._pair_counts import count_pairs
from .sums import RowSums

__all__ = ["Cells", "observed_pairs"]


class Cells:
    """Single weights: the entries of X whose attribute has some, each with its label and weight.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    pairs : CSR of shape (n_attributes, n_labels)
        Its entries are all weights.
    is_single : bool ndarray of shape (n_attributes,)
        Whose weights are single.
    blocks : sequence of (start, stop)
    """

    def __init__(
        self,
        X: sp.csr_array,
        pairs: sp.csr_array,
        is_single: np.ndarray,
        blocks: Sequence[tuple[int, int]],
    ):
        n_labels = pairs.shape[1]
        self._entries = indptr, label, weight, value = find_cells(
            *csr_arrays(X), *csr_arrays(pairs)[:2], is_single.view(np.uint8)
        )
        self._by_weight = []
        for start, stop in blocks:
            inside = slice(indptr[start], indptr[stop])
            token = np.repeat(np.arange(stop - start), np.diff(indptr[start : stop + 1]))
            place = token * n_labels + label[inside]
            shape = pairs.nnz, (stop - start) * n_labels
            cells = sp.coo_array((value[inside], (weight[inside], place)), shape=shape).tocsr()
            self._by_weight.append(RowSums(cells, skip_empty=True))

    def add_scores(self, weights: np.ndarray, scores: np.ndarray, start: int, stop: int) -> None:
        add_cells(*self._entries, weights, scores, start, stop)

    def add_to_weights(
        self, scores: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        add_scores(*self._entries, scores, weights, start, stop)

    def add_gradient(
        self, block: int, scores: np.ndarray, out: np.ndarray, share: int, n_shares: int
    ) -> None:
        sums = self._by_weight[block]
        sums.add(scores.reshape(-1, 1), out.reshape(-1, 1), *sums.cut(share, n_shares))


def observed_pairs(X: sp.csr_array, y: np.ndarray, n_labels: int) -> sp.csr_array:
    """The pairs of attribute and label that occur at some token.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    y : ndarray of shape (n_tokens,) of label ids, -1 where it is not known
    n_labels : int

    Returns
    -------
    CSR of shape (n_attributes, n_labels)
        Its entries are the pairs; their values are the sums of those of the attributes.
    """
    n_attributes = X.shape[1]
    counts = count_pairs(*csr_arrays(X), y.astype(np.int32, copy=False), n_attributes)
    return sp.csr_array(counts, (n_attributes, n_labels))
