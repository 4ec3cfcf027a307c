"""A classifier whose scores are X itself, to test what all classifiers share."""

import numpy as np
import oracle
import scipy.sparse as sp

from sklearn_crcrf.base.classifier import BaseSequenceClassifier
from sklearn_crcrf.labels.encoding import encode_labels
from sklearn_crcrf.structures import Scores, TokenTransitions

TRANSITION = np.array([[0.5, -1.0, 0.0], [1.0, 0.0, -0.5], [-0.3, 0.2, 0.1]])
BEGIN, END = np.array([0.1, 0.2, -0.3]), np.array([0.0, -0.4, 0.5])


class ReadScores(BaseSequenceClassifier):
    """The columns of X are the state scores of the labels."""

    def __init__(self, sample_unit="sequence", n_jobs=None):
        self.sample_unit = sample_unit
        self.n_jobs = n_jobs

    def fit(self, X, y):
        self.classes_, _ = encode_labels(self._check_X(X, y, reset=True).y)
        return self

    def _prepare(self, X):
        data = X.data.toarray() if sp.issparse(X.data) else X.data
        return data if len(data) else np.empty((0, 3))

    def _scores(self, prepared, batch):
        state = np.ascontiguousarray(prepared[batch.start : batch.stop], dtype=float)
        return Scores(state, TRANSITION, BEGIN, END, TokenTransitions.none(len(state)))


def fitted(**params):
    return ReadScores(**params).fit([np.zeros((3, 3))], [["A", "B", "C"]])


def enumerate_paths(s):
    """Every path of a sequence whose rows are s, as label ids, and its score."""
    chain = Scores(s, TRANSITION, BEGIN, END, TokenTransitions.none(len(s)))
    paths, values = oracle.paths(chain, 0, len(s))
    return np.array(paths, dtype=int).reshape(len(values), len(s)), values
