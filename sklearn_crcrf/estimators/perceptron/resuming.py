"""Continued training with new attributes and labels."""

from typing import Any, NamedTuple

import numpy as np

from ...base.weights import NamedWeights, Weights, places_of
from ...linear.examples import Coefficients
from .voting import WeightHistory


class Known(NamedTuple):
    """The state of training, with the names of attributes and labels.

    Parameters
    ----------
    named : NamedWeights
        The weights for prediction.
    last : Weights
        The weights after the last example.
    n_seen : int
        Number of examples seen.
    history : WeightHistory or None
    """

    named: NamedWeights
    last: Weights
    n_seen: int
    history: WeightHistory | None

    def coefficients(self, named: NamedWeights, fitted: Any) -> Coefficients:
        """Return weights for the attributes and labels of an estimator, zero for new ones."""
        edge_names = fitted.edge_attribute_names_
        weights = named.matching(fitted.attribute_names_, edge_names, fitted.classes_)
        return Coefficients.of(weights, fitted.boundaries)

    def history_of(self, fitted: Any) -> WeightHistory | None:
        """Return the history of the weights of an estimator that has all known attributes."""
        if self.history is None:
            return None
        names, classes = fitted.attribute_names_, fitted.classes_
        attributes = places_of(self.named.names, names)
        edges = places_of(self.named.edge_names, fitted.edge_attribute_names_)
        return self.history.renumbered(
            np.concatenate([attributes, len(names) + np.arange(2)]),
            np.append(0, 1 + edges),
            places_of(self.named.classes, classes),
            len(classes),
        )
