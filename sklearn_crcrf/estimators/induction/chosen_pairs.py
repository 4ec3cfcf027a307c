"""The choice of features that induction makes for a CRF."""

from collections.abc import Callable
from typing import NamedTuple

import scipy.sparse as sp

from ...linear import Corpus
from ..crf.features import FEATURES, Features

__all__ = ["ChosenPairs"]


class ChosenPairs(NamedTuple):
    """Weights for given pairs of column and label, and for transitions as another choice has it.

    Parameters
    ----------
    pairs : CSR of shape (n_columns, n_labels)
        Its entries are the pairs. Further columns of the corpus have no weights with labels.
    transitions : str or callable
        What chooses the transitions: a value of the parameter ``features`` of a CRF.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.estimators.induction import ChosenPairs
    >>> X, y = [[[1.0, 0.0], [1.0, 1.0]]], ["A", "B"]
    >>> chosen = ChosenPairs(sp.csr_array([[0.0, 0.0], [0.0, 1.0]]), "all")
    >>> CRF(features=chosen).fit(X[0], y).coef_.nnz
    1
    """

    pairs: sp.csr_array
    transitions: str | Callable

    def __call__(self, corpus: Corpus, n_labels: int) -> Features:
        given = self.transitions
        choose = FEATURES[given] if isinstance(given, str) else given
        pairs = self.pairs.copy()
        pairs.resize(corpus.X.shape[1], n_labels)
        return choose(corpus, n_labels)._replace(pairs=pairs)
