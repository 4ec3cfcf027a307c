"""Which features have a weight.

A choice of features is called with the training corpus and the number of labels, and returns
Features.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...base.weights import Weights
from ...linear.corpus import Corpus, transition_counts, without_columns
from ...linear.designs import observed_pairs


class Features(NamedTuple):
    """The features that have a weight.

    Parameters
    ----------
    pairs : CSR of shape (n_attributes, n_labels) or None
        Its entries are the pairs of attribute and label; None for all pairs.
    transitions : bool ndarray of shape (n_labels, n_labels), row = previous label
        Which pairs of labels have a weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.crf.features import Features
    >>> Features(None, np.eye(2, dtype=bool)).transitions.tolist()
    [[True, False], [False, True]]
    """

    pairs: sp.csr_array | None
    transitions: np.ndarray

    def including(self, weights: Weights) -> "Features":
        """Add the features of given weights, whose ``state`` is a matrix."""
        if self.pairs is None:
            return self
        pairs = _ones(self.pairs) + _ones(weights.state)
        return Features(pairs, self.transitions | (weights.transition != 0))

    def without(self, attributes: np.ndarray) -> "Features":
        """Leave out the pairs of the given attributes; all pairs stay all pairs."""
        if len(attributes) == 0 or self.pairs is None:
            return self
        by_label = without_columns(sp.csr_array(self.pairs.T), attributes)
        return self._replace(pairs=sp.csr_array(by_label.T))


def all_features(corpus: Corpus, n_labels: int) -> Features:
    """Return all pairs of attribute and label, and of two labels.

    Parameters
    ----------
    corpus : Corpus
        The training data, with numbered attributes and labels.
    n_labels : int

    Returns
    -------
    Features

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.estimators.crf.features import all_features
    >>> crf = CRF(features=all_features).fit([["a", "b"], ["b"]], [["X", "Y"], ["Y"]])
    >>> int((crf.coef_ != 0).sum())
    4
    """
    return Features(None, np.ones((n_labels, n_labels), dtype=bool))


def observed_features(corpus: Corpus, n_labels: int) -> Features:
    """Return the pairs of attribute and label, and of two labels, that occur in the corpus.

    Parameters
    ----------
    corpus : Corpus
        The training data, with numbered attributes and labels.
    n_labels : int

    Returns
    -------
    Features

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.estimators.crf.features import observed_features
    >>> crf = CRF(features=observed_features).fit([["a", "b"], ["b"]], [["X", "Y"], ["Y"]])
    >>> int((crf.coef_ != 0).sum())
    2
    """
    pairs = observed_pairs(sp.csr_array(corpus.X), corpus.labels, n_labels)
    return Features(pairs, transition_counts(corpus, n_labels) > 0)


FEATURES: dict[str, Callable[[Corpus, int], Features]] = {
    "all": all_features,
    "observed": observed_features,
}
"""Choices of features by name."""


def _ones(matrix: sp.csr_array) -> sp.csr_array:
    """1 wherever a sparse matrix has an entry."""
    return sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
