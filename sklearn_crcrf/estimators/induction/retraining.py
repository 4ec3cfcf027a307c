"""Training of one CRF again and again, with more and more columns."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ...data.layout import Sequences
from ...data.ragged import SequenceArray
from ...linear.corpus import Corpus
from ..crf import CRF
from ..crf.features import FEATURES, Features


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


# Parameters that are set for training.
SET = ("edge_columns", "features", "max_iter", "min_freq", "warm_start")


class Retraining:
    """A CRF that is trained further each time there are more columns.

    Parameters
    ----------
    estimator : CRF
        As the user gave it.
    sequences : Sequences
        The training data, with labels.
    weights : ndarray of shape (n_tokens,)
    on_edges : CSR of shape (n_tokens, n_edge_attributes)
        The attributes on which transitions depend; they stand before all other columns.
    """

    def __init__(
        self, estimator: CRF, sequences: Sequences, weights: np.ndarray, on_edges: sp.csr_array
    ):
        self._given, self._sequences, self._on_edges = estimator, sequences, on_edges
        self._weights = SequenceArray(weights, sequences.X.offsets)
        self._crf = clone(estimator).set_params(
            min_freq=1, edge_columns=list(range(on_edges.shape[1])), warm_start=True
        )

    def run(self, matrix: sp.csr_array, pairs: sp.csr_array, max_iter: int | None = None) -> float:
        """Train further.

        Parameters
        ----------
        matrix : CSR of shape (n_tokens, n_columns)
            The same columns as before, and more after them.
        pairs : CSR of shape (n_columns, n_labels)
            Its entries are the features that have a weight.
        max_iter : int, optional
            By default as often as the given estimator says, with a warning if it is too little.

        Returns
        -------
        float
            The objective at the end.
        """
        none = sp.csr_array((self._on_edges.shape[1], pairs.shape[1]))
        pairs = sp.csr_array(sp.vstack([none, pairs], format="csr"))
        self._crf.set_params(
            features=ChosenPairs(pairs, self._given.features),
            max_iter=self._given.max_iter if max_iter is None else max_iter,
        )
        self._rows = self._sequences.X.with_data(beside(self._on_edges, matrix))
        with warnings.catch_warnings():
            if max_iter is not None:
                warnings.simplefilter("ignore", ConvergenceWarning)
            self._crf.fit(self._rows, self._sequences.y, self._weights)
        return float(self._crf.loss_curve_[-1]) if self._crf.loss_curve_ else np.nan

    def marginals(self) -> np.ndarray:
        """Return the marginal probabilities of the labels of all tokens."""
        return self._crf.predict_proba(self._rows).data

    def finished(self, names: np.ndarray) -> CRF:
        """Return the trained CRF with its given parameters, and name its first columns."""
        crf = self._crf.set_params(**{name: getattr(self._given, name) for name in SET})
        crf.attribute_names_ = np.concatenate([names, crf.attribute_names_[len(names) :]])
        return crf


def beside(first: sp.csr_array, second: sp.csr_array) -> Any:
    """Return the columns of two matrices beside each other."""
    if first.shape[1] == 0:
        return second
    joined = sp.hstack([first.astype(second.dtype), second], format="csr")
    return sp.csr_array(joined)
