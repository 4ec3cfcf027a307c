"""State scores as linear functions of weights: X @ W and its derivative X.T @ D.

A design holds the attributes of all tokens and knows which weights there are. For the derivative,
the transposed attributes of each block of tokens are stored, so that threads can share the work on
a block: each thread makes the sums over tokens for some of the attributes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.columns import some_entries
from .._kernels.sparse.weights import (
    add_at,
    add_scores_to_weights,
    add_weights_to_scores,
    count_pairs,
    find_single_weights,
)
from ..data.csr import csr_arrays, csr_of
from ..data.ones import on_places
from ..data.sums import RowSums
from ..labels.soft import SoftLabels
from .factoring import Factored, factor

# An attribute that has weights for more labels than this gets a row of weights for all labels.
FEW_LABELS = 2

Slices = Sequence[tuple[int, int]]


def observed_pairs(X: sp.csr_array, y: np.ndarray | SoftLabels, n_labels: int) -> sp.csr_array:
    """Return the pairs of attribute and label that occur together at some token.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    y : ndarray of shape (n_tokens,) of label ids, -1 where the label is not known, or SoftLabels
    n_labels : int

    Returns
    -------
    CSR of shape (n_attributes, n_labels)
        Its entries are the pairs; their values are sums of the values of the attribute, times the
        probabilities of soft labels.
    """
    if isinstance(y, SoftLabels):
        return sp.csr_array(X.T @ y.tokens)
    n_attributes = X.shape[1]
    counts = count_pairs(*csr_arrays(X), y.astype(np.int32, copy=False), n_attributes)
    return csr_of(counts, (n_attributes, n_labels))


def transposed(X: sp.csr_array) -> sp.csr_array:
    """Return the transpose in the format CSR."""
    return on_places(lambda X: X.T.tocsr(), X)


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
        The type of scores and weights, which is the type of X.
    """

    def __init__(self, X: sp.csr_array, n_labels: int, blocks: Slices):
        self.shape, self.dtype = (X.shape[1], n_labels), X.dtype
        self.n_weights = X.shape[1] * n_labels
        # If most tokens have no attribute at all, most time would go into looking at empty rows.
        is_sparse = 2 * np.count_nonzero(np.diff(X.indptr)) < X.shape[0]
        self._tokens = RowSums(X, skip_empty=is_sparse)
        self._attributes = [
            RowSums(transposed(X if stop - start == X.shape[0] else X[start:stop]), skip_empty=True)
            for start, stop in blocks
        ]

    def weights(self, flat: np.ndarray) -> np.ndarray:
        """Return the weights of a vector, arranged as :meth:`scores` takes them."""
        return flat.reshape(self.shape)

    def derivatives(self, flat: np.ndarray) -> np.ndarray:
        """Return the derivatives in a vector, arranged as :meth:`add_gradient` adds to them."""
        return flat.reshape(self.shape)

    def flat(self, derivatives: np.ndarray) -> np.ndarray:
        """Return the inverse of :meth:`derivatives`: one vector. The argument is used up."""
        return derivatives.reshape(-1)

    def scores(self, weights: np.ndarray, start: int, stop: int) -> np.ndarray:
        """State scores of the tokens ``start`` to ``stop``."""
        return self._tokens.product(weights, start, stop)

    def add_scores(self, weights: np.ndarray, scores: np.ndarray, start: int, stop: int) -> None:
        """Add the state scores of the tokens ``start`` to ``stop`` to ``scores``."""
        self._tokens.add_slice(weights, scores, start, stop)

    def add_gradient(
        self, block: int, scores: np.ndarray, out: np.ndarray, share: int = 0, n_shares: int = 1
    ) -> None:
        """Add the derivatives of the loss by the weights, for the tokens of a block.

        Parameters
        ----------
        block : int
        scores : ndarray of shape (n_tokens, n_labels)
            Derivatives of the loss by the state scores of the block.
        out : what :meth:`derivatives` returns
            The derivatives by the weights are added to it.
        share, n_shares : int
            Which of several equal shares of the work to do; the result is the same in any order.
        """
        sums = self._attributes[block]
        sums.add(scores, out, *sums.cut(share, n_shares))

    def add_to_weights(
        self, scores: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        """Add ``X[start:stop].T @ scores`` to the weights: a gradient step for these tokens.

        Parameters
        ----------
        scores : ndarray of shape (stop - start, n_labels)
            Derivatives of the loss by the state scores of the tokens, times the negative rate.
        weights : what :meth:`weights` returns
        start, stop : int
        """
        self._tokens.add_transposed(scores, weights, start, stop)


class FactoredDesign:
    """The same as :class:`SparseDesign` in less time, with groups of attributes that come together.

    The weight of a group is the sum of the weights of its members, each times its value. So the
    derivative by the weight of a group, times that value, is a part of each member's derivative.

    Parameters
    ----------
    factored : Factored
    n_labels, blocks : as in :class:`SparseDesign`
    """

    def __init__(self, factored: Factored, n_labels: int, blocks: Slices):
        single, groups, members = factored
        self._single = SparseDesign(single, n_labels, blocks)
        self._groups = SparseDesign(groups, n_labels, blocks)
        self._members = RowSums(members)
        self._groups_of = RowSums(transposed(members), skip_empty=True)
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
        """As :meth:`SparseDesign.flat`; members get the derivatives by their groups."""
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
    """Make a design with a weight for every pair, factored if that saves time."""
    factored = factor(X)
    # Two matrices mean one more pass over the rows, which costs as much as one entry per row.
    if X.nnz - factored.single.nnz - factored.groups.nnz > X.shape[0]:
        del X  # which the caller does not keep
        return FactoredDesign(factored, n_labels, blocks)
    return SparseDesign(X, n_labels, blocks)


class ObservedDesign:
    """A weight for some pairs of attribute and label only.

    An attribute with many pairs has a row of weights for all labels, which is zero at the labels
    it has no pair with. The weights of all other attributes are a list of single pairs.

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
        shape = X.shape[0], int(is_row.sum())
        self._rows = sparse_design(
            on_places(lambda X: csr_of(some_entries(*csr_arrays(X), rank), shape), X),
            n_labels,
            blocks,
        )
        self._blocks = blocks
        # The entries of X with single weights, each listed once for every weight of its attribute.
        is_single = (~is_row).view(np.uint8)
        where = *csr_arrays(pairs)[:2], is_single, n_labels
        self._entries = find_single_weights(*csr_arrays(X), *where)
        self._shares = [self._entries]
        # Which of the weights are in rows, and their places in the flattened rows.
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
        """As :meth:`SparseDesign.flat`; adds the derivatives in rows to the vector of all pairs."""
        rows, flat = derivatives
        add_at(self._rows.flat(rows), self._place, flat, self._in_row)
        return flat

    def scores(self, weights: tuple[Any, np.ndarray], start: int, stop: int) -> np.ndarray:
        """As :meth:`SparseDesign.scores`."""
        rows, flat = weights
        scores = self._rows.scores(rows, start, stop)
        add_weights_to_scores(*self._entries, flat, scores, start, stop)
        return scores

    def add_gradient(
        self, block: int, scores: np.ndarray, out: Any, share: int = 0, n_shares: int = 1
    ) -> None:
        """As :meth:`SparseDesign.add_gradient`."""
        rows, flat = out
        self._rows.add_gradient(block, scores, rows, share, n_shares)
        if n_shares != len(self._shares):
            # Threads may do this at the same time: they all get the same result.
            self._shares = self._split(n_shares)
        add_scores_to_weights(*self._shares[share], scores, flat, *self._blocks[block])

    def _split(self, n_shares: int) -> list[tuple]:
        """Make shares of about equal numbers of entries; no two have a weight in common."""
        indptr, place, weight, value = self._entries
        n_before = np.cumsum(np.bincount(weight, minlength=self.n_weights))
        cuts = np.searchsorted(n_before, len(weight) * np.arange(1, n_shares) // n_shares)
        share_of = np.searchsorted(cuts, weight, "right")
        shares = []
        for share in range(n_shares):
            mine = share_of == share
            starts = np.append(0, np.cumsum(mine))[indptr]
            shares.append((starts, place[mine], weight[mine], value[mine]))
        return shares

    def add_to_weights(self, scores: np.ndarray, weights: Any, start: int, stop: int) -> None:
        """As :meth:`SparseDesign.add_to_weights`; no attribute may have a row of weights."""
        add_scores_to_weights(*self._entries, scores, weights[1], start, stop)


class DenseDesign:
    """A weight for every pair of attribute and label, over dense attributes.

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
        """As :meth:`SparseDesign.add_gradient`; it is one product, all done by the first share."""
        if share == 0:
            self.add_to_weights(scores, out, *self._blocks[block])

    def add_to_weights(
        self, scores: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        """As :meth:`SparseDesign.add_to_weights`."""
        weights += self._X[start:stop].T @ scores
