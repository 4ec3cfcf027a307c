"""State scores as linear functions of weights: X @ W and its derivative X.T @ D.

A design holds the attributes of all tokens and knows which weights there are. Tokens come in
blocks, whose transposed attributes are stored: the sums of a block over tokens can be shared by
threads, each of which owns some of the attributes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels._cells import add_cells, add_scores
from .._kernels._sparse_product import add_product
from .._kernels.vectorized import row_sums

__all__ = ["DenseDesign", "ObservedDesign", "SparseDesign", "observed_pairs", "state_scores"]

# Attributes seen with more labels than these have weights for all labels in memory.
FEW_LABELS = 2

Slices = Sequence[tuple[int, int]]


class SparseDesign:
    """A weight for every pair of attribute and label, over sparse attributes.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    n_labels : int
    blocks : sequence of (start, stop)
        The tokens of each block.

    Attributes
    ----------
    n_weights : int
    dtype : dtype
        Of scores and weights: that of X.
    """

    def __init__(self, X: sp.csr_array, n_labels: int, blocks: Slices):
        self.shape, self.dtype = (X.shape[1], n_labels), X.dtype
        self.n_weights = X.shape[1] * n_labels
        self._tokens = _Sums(X)
        self._attributes = [
            _Sums(X[start:stop].T.tocsr(), skip_empty=True) for start, stop in blocks
        ]

    def weights(self, flat: np.ndarray) -> np.ndarray:
        """What is multiplied with the attributes: weights in the form that the others take."""
        return flat.reshape(self.shape)

    def flat(self, weights: np.ndarray) -> np.ndarray:
        """All weights in one dimension, or their derivatives: the inverse of :meth:`weights`."""
        return weights.reshape(-1)

    def scores(self, weights: np.ndarray, start: int, stop: int) -> np.ndarray:
        """State scores of the tokens from start to stop."""
        scores = np.zeros((stop - start, self.shape[1]), dtype=weights.dtype)
        self._tokens.add(weights, scores, start, stop, start)
        return scores

    def add_gradient(
        self, block: int, scores: np.ndarray, out: np.ndarray, share: int = 0, n_shares: int = 1
    ) -> None:
        """Add the derivative by the weights, given that by the scores of all tokens of a block.

        Parameters
        ----------
        block : int
        scores : ndarray of shape (n_tokens, n_labels)
        out : what :meth:`weights` returns
        share, n_shares : int
            Which of several equal parts of the work to do; the result is the same in any order.
        """
        sums = self._attributes[block]
        sums.add(scores, out, *sums.cut(share, n_shares))

    def add_to_weights(
        self, scores: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        """Add the derivative by the weights, given that by the scores of some tokens.

        Parameters
        ----------
        scores : ndarray of shape (stop - start, n_labels)
        weights : what :meth:`weights` returns
        start, stop : int
        """
        self._tokens.add_transposed(scores, weights, start, stop)


class ObservedDesign:
    """A weight for some pairs of attribute and label only.

    Attributes with many labels have a row of weights for all labels, of which those that do not
    count stay zero; the weights of the others are a list of single pairs.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    pairs : CSR of shape (n_attributes, n_labels)
        Its entries are the pairs that have a weight.
    blocks : sequence of (start, stop)
    most_single : int
        Attributes with more pairs than this have a row of weights.
    """

    def __init__(
        self,
        X: sp.csr_array,
        pairs: sp.csr_array,
        blocks: Slices,
        most_single: int = FEW_LABELS,
    ):
        self.n_weights, self.dtype = pairs.nnz, X.dtype
        n_labels = pairs.shape[1]
        n_pairs = np.diff(pairs.indptr)
        is_row = n_pairs > most_single
        self._rows = SparseDesign(X[:, np.flatnonzero(is_row)], n_labels, blocks)
        self._cells = _Cells(X, pairs, np.where(is_row, 0, n_pairs), blocks)
        # Which of all weights are in rows, where in these they are, and which are single.
        in_row = np.repeat(is_row, n_pairs)
        row = np.repeat(np.cumsum(is_row) - 1, n_pairs)[in_row]
        self._in_row, self._single = np.flatnonzero(in_row), np.flatnonzero(~in_row)
        self._place = row * n_labels + pairs.indices[in_row]

    def weights(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`SparseDesign.weights`."""
        rows = np.zeros(self._rows.shape, dtype=flat.dtype)
        rows.reshape(-1)[self._place] = flat[self._in_row]
        return rows, flat[self._single]

    def flat(self, weights: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """As :meth:`SparseDesign.flat`."""
        rows, single = weights
        flat = np.empty(self.n_weights, dtype=rows.dtype)
        flat[self._in_row], flat[self._single] = rows.reshape(-1)[self._place], single
        return flat

    def scores(self, weights: tuple[np.ndarray, np.ndarray], start: int, stop: int) -> np.ndarray:
        """As :meth:`SparseDesign.scores`."""
        rows, single = weights
        scores = self._rows.scores(rows, start, stop)
        self._cells.add_scores(single, scores, start, stop)
        return scores

    def add_gradient(
        self, block: int, scores: np.ndarray, out: Any, share: int = 0, n_shares: int = 1
    ) -> None:
        """As :meth:`SparseDesign.add_gradient`."""
        rows, single = out
        self._rows.add_gradient(block, scores, rows, share, n_shares)
        self._cells.add_gradient(block, scores, single, share, n_shares)

    def add_to_weights(self, scores: np.ndarray, weights: Any, start: int, stop: int) -> None:
        """As :meth:`SparseDesign.add_to_weights`; there must be no rows of weights."""
        _, single = weights
        self._cells.add_to_weights(scores, single, start, stop)


class DenseDesign:
    """A weight for every pair of attribute and label, over attributes that all tokens have.

    Parameters
    ----------
    X : ndarray of shape (n_tokens, n_attributes)
    n_labels : int
    blocks : sequence of (start, stop)
    """

    def __init__(self, X: np.ndarray, n_labels: int, blocks: Slices):
        self.shape, self.dtype = (X.shape[1], n_labels), X.dtype
        self.n_weights = X.shape[1] * n_labels
        self._X, self._blocks = X, blocks

    weights, flat = SparseDesign.weights, SparseDesign.flat

    def scores(self, weights: np.ndarray, start: int, stop: int) -> np.ndarray:
        """As :meth:`SparseDesign.scores`."""
        return self._X[start:stop] @ weights

    def add_gradient(
        self, block: int, scores: np.ndarray, out: np.ndarray, share: int = 0, n_shares: int = 1
    ) -> None:
        """As :meth:`SparseDesign.add_gradient`; it is one product, the work of the first share."""
        if share == 0:
            self.add_to_weights(scores, out, *self._blocks[block])

    def add_to_weights(
        self, scores: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        """As :meth:`SparseDesign.add_to_weights`."""
        weights += self._X[start:stop].T @ scores


class _Sums:
    """A sparse matrix to be multiplied with dense ones, in slices of its rows."""

    def __init__(self, matrix: sp.csr_array, skip_empty: bool = False):
        indptr, indices, data = _arrays(matrix)
        rows = np.arange(matrix.shape[0], dtype=np.int32)
        if skip_empty:
            rows = rows[indptr[1:] > indptr[:-1]]
            indptr = np.append(indptr[rows], indptr[-1])
        self._arrays = indptr, indices, data, rows

    def add(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int, origin: int = 0):
        """out[r - origin] += matrix[r] @ dense, for r the rows from start to stop."""
        row_sums.add_row_sums(*self._arrays, dense, out, start, stop, origin)

    def add_transposed(self, dense: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
        """out += matrix[start:stop].T @ dense"""
        indptr, indices, data, _ = self._arrays
        row_sums.add_outer_products(indptr, indices, data, dense, out, start, stop)

    def cut(self, share: int, n_shares: int) -> tuple[int, int]:
        """One of so many slices of rows with about as many entries."""
        indptr = self._arrays[0]
        start, stop = np.searchsorted(
            indptr[:-1], indptr[-1] * np.array([share, share + 1]) / n_shares
        )
        return int(start), int(stop)


class _Cells:
    """Single weights: the entries of X whose attribute has some, each with its label and weight."""

    def __init__(self, X: sp.csr_array, pairs: sp.csr_array, n_single: np.ndarray, blocks: Slices):
        n_labels = pairs.shape[1]
        times = n_single[X.indices]
        entry = np.repeat(np.arange(X.nnz), times)
        attribute = X.indices[entry]
        # The how-manieth weight of its attribute each is.
        nth = np.arange(len(entry)) - np.repeat(np.cumsum(times) - times, times)
        label = pairs.indices[pairs.indptr[attribute] + nth].astype(np.int32)
        starts = np.cumsum(n_single) - n_single
        weight = (starts[attribute] + nth).astype(np.int32)
        indptr = np.append(0, np.cumsum(times))[X.indptr].astype(np.int64)
        value = X.data[entry]
        self._entries = indptr, label, weight, value
        self._by_weight = []
        for start, stop in blocks:
            inside = slice(indptr[start], indptr[stop])
            token = np.repeat(np.arange(stop - start), np.diff(indptr[start : stop + 1]))
            place = token * n_labels + label[inside]
            shape = int(n_single.sum()), (stop - start) * n_labels
            cells = sp.coo_array((value[inside], (weight[inside], place)), shape=shape).tocsr()
            self._by_weight.append(_Sums(cells, skip_empty=True))

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
    label = np.repeat(y, np.diff(X.indptr))
    known = label >= 0
    # Unlike a product of matrices, this keeps sums that are zero.
    entries = X.data[known].astype(float), (X.indices[known], label[known])
    return sp.coo_array(entries, shape=(X.shape[1], n_labels)).tocsr()


def state_scores(X: Any, coef: Any, start: int, stop: int) -> np.ndarray:
    """``X[start:stop] @ coef`` of any two of dense and sparse matrices.

    Parameters
    ----------
    X : CSR or ndarray of shape (n_tokens, n_attributes)
    coef : CSR or ndarray of shape (n_attributes, n_labels)
    start, stop : int

    Returns
    -------
    ndarray of shape (stop - start, n_labels)
    """
    if not sp.issparse(X):
        return np.ascontiguousarray(X[start:stop] @ coef)
    scores = np.zeros((stop - start, coef.shape[1]), dtype=X.dtype)
    coef = coef.astype(X.dtype, copy=False)
    if sp.issparse(coef):
        add_product(*_arrays(X), *_arrays(coef), start, scores)
    else:
        indptr, indices, data = _arrays(X)
        rows = np.arange(stop, dtype=np.int32)
        row_sums.add_row_sums(indptr, indices, data, rows, coef, scores, start, stop, start)
    return scores


def _arrays(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data
