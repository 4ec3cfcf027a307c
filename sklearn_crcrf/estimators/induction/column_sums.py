"""Sums over tokens by column and label, observed and expected."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data.sums import RowSums
from ...linear import observed_pairs
from .gains import Sums

__all__ = ["ColumnSums", "LabelledTokens"]

# About the number of sums that are computed at once.
BLOCK = 2**22


class LabelledTokens(NamedTuple):
    """The tokens of the training data.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
        With rising indices in every row.
    y : ndarray of shape (n_tokens,), int32
        Label ids, -1 where the label is not known.
    weight : ndarray of shape (n_tokens,)
        0 where the label is not known.
    n_labels : int
    """

    X: sp.csr_array
    y: np.ndarray
    weight: np.ndarray
    n_labels: int


class ColumnSums:
    """Sums over tokens, of some columns and all labels.

    Parameters
    ----------
    part : CSR of shape (n_tokens, n_columns)
    numbers : ndarray of shape (n_columns,)
        The numbers of the columns.
    tokens : LabelledTokens
    min_freq : int
        Columns of fewer tokens are left out.
    """

    def __init__(
        self, part: sp.csr_array, numbers: np.ndarray, tokens: LabelledTokens, min_freq: int
    ):
        self._is_frequent = np.bincount(part.indices, minlength=len(numbers)) >= min_freq
        self._numbers, self._n_labels = numbers, tokens.n_labels
        size = abs(part)
        weight = tokens.weight.astype(part.dtype)
        self._total = size.T @ weight
        self._squares = (size * size).T @ weight
        if (weight != 1).any():
            part = sp.csr_array(sp.diags_array(weight) @ part)
        self._observed = observed_pairs(part, tokens.y, tokens.n_labels)
        self._rows = RowSums(sp.csr_array(part.T.tocsr()))
        is_signed = part.nnz and part.data.min() < 0
        self._absolute = RowSums(sp.csr_array(abs(part).T.tocsr())) if is_signed else self._rows

    def pairs(self, proba: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, Sums]:
        """The pairs of column and label whose observed and expected counts differ enough.

        Parameters
        ----------
        proba : ndarray of shape (n_tokens, n_labels)
            Marginal probabilities, of the type of the columns.
        least : float
            The least difference.

        Returns
        -------
        columns, labels : ndarray of shape (n_pairs,)
        sums : Sums
        """
        found = []
        n_columns, size = len(self._numbers), max(1, BLOCK // self._n_labels)
        for start in range(0, max(n_columns, 1), size):
            stop = min(start + size, n_columns)
            observed = self._observed[start:stop].toarray()
            expected = self._rows.product(proba, start, stop)
            differs = np.abs(observed - expected) > least
            k, label = np.nonzero(differs & self._is_frequent[start:stop, None])
            absolute = expected
            if self._absolute is not self._rows:
                absolute = self._absolute.product(proba, start, stop)
            sums = observed[k, label], expected[k, label], absolute[k, label]
            k += start
            found.append((self._numbers[k], label, *sums, self._total[k], self._squares[k]))
        joined = [np.concatenate(each) for each in zip(*found, strict=True)]
        return joined[0], joined[1], Sums(*(each.astype(float) for each in joined[2:]))
