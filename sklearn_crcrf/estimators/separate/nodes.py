"""Classifiers of rows: how they are trained, and what they say of the labels."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

# A probability of a node is at least this: a classifier that is sure may be wrong.
FLOOR = 1e-10


class Nodes(NamedTuple):
    """Nodes, some of which have labels.

    Parameters
    ----------
    attributes : CSR or ndarray of shape (n_tokens, n_attributes)
    ids : ndarray of shape (n_tokens,)
        Label ids, -1 for an unknown label.
    weights : ndarray of shape (n_tokens,)
    n_labels : int
    """

    attributes: Any
    ids: np.ndarray
    weights: np.ndarray
    n_labels: int

    def fitted(self, estimator: Any, chosen: np.ndarray, before: Any = None) -> Any:
        """Return a clone of a classifier, fitted to some of the nodes whose label is known.

        A :class:`RowCRF` starts from the weights of ``before``.
        """
        chosen = np.flatnonzero(chosen & (self.ids >= 0))
        weights = self.weights[chosen]
        equal = None if np.ptp(weights) == 0 else weights
        X, y = self.attributes[chosen], self.ids[chosen]
        return fit_classifier(estimator, X, y, equal, lambda: before and before.weights)


def fit_classifier(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    start: Any = None,
    n_threads: int | None = None,
) -> Any:
    """Return a clone of a classifier, fitted to rows.

    Parameters
    ----------
    estimator : classifier
    X : CSR or ndarray of shape (n_rows, n_attributes)
    y : ndarray of int of shape (n_rows,)
    weights : ndarray of shape (n_rows,) or None
        Left out if the classifier does not take any.
    start, n_threads : optional
        Given to a classifier whose ``fit`` has these parameters.
    """
    given = {"sample_weight": weights, "start": start, "n_threads": n_threads}
    options = {
        name: value
        for name, value in given.items()
        if value is not None and has_fit_parameter(estimator, name)
    }
    return clone(estimator).fit(X, y, **options)


def log_probabilities(estimator: Any, attributes: Any, n_labels: int) -> np.ndarray:
    """Return log p(label | attributes) of nodes; labels unknown to the classifier are unlikely."""
    scores = np.full((attributes.shape[0], n_labels), np.log(FLOOR))
    if attributes.shape[0]:
        scores[:, estimator.classes_] = np.log(
            np.maximum(estimator.predict_proba(attributes), FLOOR)
        )
    return scores
