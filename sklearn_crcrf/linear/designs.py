"""State scores as linear functions of weights: X @ W and its derivative X.T @ D.

A design holds the attributes of all tokens and knows which weights there are. Tokens come in
blocks, whose transposed attributes are stored: the sums of a block over tokens can be shared by
threads, each of which owns some of the attributes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels._entries import some_entries
from .._kernels._single_weights import add_at
from ..utils.csr import csr_arrays
from .factoring import Factored, factor
from .single_weights import SingleWeights
from .sums import RowSums

__all__ = ["DenseDesign", "FactoredDesign", "ObservedDesign", "SparseDesign", "sparse_design"]

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
        # Where most tokens have no attribute at all it takes longest to find that out.
        is_sparse = 2 * np.count_nonzero(np.diff(X.indptr)) < X.shape[0]
        self._tokens = RowSums(X, skip_empty=is_sparse)
        self._attributes = [
            RowSums(X[start:stop].T.tocsr(), skip_empty=True) for start, stop in blocks
        ]

    def weights(self, flat: np.ndarray) -> np.ndarray:
        """What is multiplied with the attributes: weights in the form that scores are made of."""
        return flat.reshape(self.shape)

    def derivatives(self, flat: np.ndarray) -> np.ndarray:
        """What derivatives by the weights are added to: those so far, in the form for it."""
        return flat.reshape(self.shape)

    def flat(self, derivatives: np.ndarray) -> np.ndarray:
        """All derivatives in one dimension, as :meth:`derivatives` got them; those are used up."""
        return derivatives.reshape(-1)

    def scores(self, weights: np.ndarray, start: int, stop: int) -> np.ndarray:
        """State scores of the tokens from start to stop."""
        return self._tokens.product(weights, start, stop)

    def add_scores(self, weights: np.ndarray, scores: np.ndarray, start: int, stop: int) -> None:
        """Add the state scores of the tokens from start to stop."""
        self._tokens.add_slice(weights, scores, start, stop)

    def add_gradient(
        self, block: int, scores: np.ndarray, out: np.ndarray, share: int = 0, n_shares: int = 1
    ) -> None:
        """Add the derivative by the weights, given that by the scores of all tokens of a block.

        Parameters
        ----------
        block : int
        scores : ndarray of shape (n_tokens, n_labels)
        out : what :meth:`derivatives` returns
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


class FactoredDesign:
    """The same as :class:`SparseDesign` in less time, with groups of attributes that come together.

    The weights of a group are sums; its derivatives are those of all its members.

    Parameters
    ----------
    factored : Factored
    n_labels, blocks : as of SparseDesign
    """

    def __init__(self, factored: Factored, n_labels: int, blocks: Slices):
        single, groups, members = factored
        self._single = SparseDesign(single, n_labels, blocks)
        self._groups = SparseDesign(groups, n_labels, blocks)
        self._members = RowSums(members)
        self._groups_of = RowSums(members.T.tocsr(), skip_empty=True)
        self.shape, self.dtype = self._single.shape, single.dtype
        self.n_weights = self._single.n_weights

    def weights(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`SparseDesign.weights`."""
        rows = self._single.weights(flat)
        return rows, self._members.product(rows, 0, self._groups.shape[0])

    def derivatives(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`SparseDesign.derivatives`."""
        return self._single.derivatives(flat), np.zeros(self._groups.shape, dtype=flat.dtype)

    def flat(self, derivatives: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """As :meth:`SparseDesign.flat`; moves those by groups to their members."""
        rows, groups = derivatives
        self._groups_of.add(groups, rows, *self._groups_of.cut(0, 1))
        return rows.reshape(-1)

    def scores(self, weights: tuple[np.ndarray, np.ndarray], start: int, stop: int) -> np.ndarray:
        """As :meth:`SparseDesign.scores`."""
        rows, groups = weights
        scores = self._single.scores(rows, start, stop)
        self._groups.add_scores(groups, scores, start, stop)
        return scores

    def add_gradient(
        self, block: int, scores: np.ndarray, out: Any, share: int = 0, n_shares: int = 1
    ) -> None:
        """As :meth:`SparseDesign.add_gradient`."""
        for design, derivatives in zip((self._single, self._groups), out, strict=True):
            design.add_gradient(block, scores, derivatives, share, n_shares)


def sparse_design(X: sp.csr_array, n_labels: int, blocks: Slices) -> SparseDesign | FactoredDesign:
    """A weight for every pair of attribute and label, factored if that saves time."""
    factored = factor(X)
    # To go over all rows once more costs as much as an entry in each of them.
    if X.nnz - factored.single.nnz - factored.groups.nnz > X.shape[0]:
        return FactoredDesign(factored, n_labels, blocks)
    return SparseDesign(X, n_labels, blocks)


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
        rank = np.where(is_row, np.cumsum(is_row) - 1, -1).astype(np.int32)
        rows = sp.csr_array(some_entries(*csr_arrays(X), rank), (X.shape[0], is_row.sum()))
        self._rows = sparse_design(rows, n_labels, blocks)
        self._single, self._blocks = SingleWeights(X, pairs, ~is_row), blocks
        # Which of all weights are in rows, and where in these they are.
        in_row = np.repeat(is_row, n_pairs)
        row = np.repeat(rank, n_pairs)[in_row]
        self._in_row = np.flatnonzero(in_row)
        self._place = row * np.int64(n_labels) + pairs.indices[in_row]

    def weights(self, flat: np.ndarray) -> tuple[Any, np.ndarray]:
        """As :meth:`SparseDesign.weights`."""
        rows = np.zeros(self._rows.n_weights, dtype=flat.dtype)
        add_at(flat, self._in_row, rows, self._place)
        return self._rows.weights(rows), flat

    def derivatives(self, flat: np.ndarray) -> tuple[Any, np.ndarray]:
        """As :meth:`SparseDesign.derivatives`."""
        rows = np.zeros(self._rows.n_weights, dtype=flat.dtype)
        return self._rows.derivatives(rows), flat

    def flat(self, derivatives: tuple[Any, np.ndarray]) -> np.ndarray:
        """As :meth:`SparseDesign.flat`; moves those in rows to the others."""
        rows, flat = derivatives
        add_at(self._rows.flat(rows), self._place, flat, self._in_row)
        return flat

    def scores(self, weights: tuple[Any, np.ndarray], start: int, stop: int) -> np.ndarray:
        """As :meth:`SparseDesign.scores`."""
        rows, flat = weights
        scores = self._rows.scores(rows, start, stop)
        self._single.add_scores(flat, scores, start, stop)
        return scores

    def add_gradient(
        self, block: int, scores: np.ndarray, out: Any, share: int = 0, n_shares: int = 1
    ) -> None:
        """As :meth:`SparseDesign.add_gradient`."""
        rows, flat = out
        self._rows.add_gradient(block, scores, rows, share, n_shares)
        self._single.add_gradient(scores, flat, *self._blocks[block], share, n_shares)

    def add_to_weights(self, scores: np.ndarray, weights: Any, start: int, stop: int) -> None:
        """As :meth:`SparseDesign.add_to_weights`; there must be no rows of weights."""
        _, flat = weights
        self._single.add_to_weights(scores, flat, start, stop)


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

    weights, derivatives, flat = SparseDesign.weights, SparseDesign.derivatives, SparseDesign.flat

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
