"""Continued training with new attributes and labels."""

from typing import NamedTuple

import numpy as np

from ...linear import Coefficients, NamedWeights, Weights
from .learning import Learned
from .voting import WeightHistory

__all__ = ["Known"]


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

    def learned(
        self,
        names: np.ndarray,
        edge_attributes: np.ndarray,
        classes: np.ndarray,
        boundaries: bool,
    ) -> Learned:
        """The state for more names; they must include all known names."""
        weights, last = (
            Coefficients.of(named.matching(names, names[edge_attributes], classes), boundaries)
            for named in (self.named, self.named._replace(weights=self.last))
        )
        history = self.history
        if history is not None:
            attribute = _numbers(self.named.names, names)
            edges = np.searchsorted(edge_attributes, _numbers(self.named.edge_names, names))
            ends = len(names) + np.arange(2)
            labels = _numbers(self.named.classes, classes)
            history = history.renumbered(
                np.append(attribute, ends), np.append(0, 1 + edges), labels, len(classes)
            )
        return Learned(weights, last, self.n_seen, history)

    def start(
        self,
        names: np.ndarray,
        edge_attributes: np.ndarray,
        classes: np.ndarray,
        boundaries: bool,
        dtype: np.dtype,
    ) -> Learned:
        """A new beginning at the weights to predict with; weights of new names are zero."""
        known = self.named.matching(names, names[edge_attributes], classes)
        weights = Coefficients.of(known, boundaries)
        weights = weights._replace(state=weights.state.astype(dtype))
        return Learned(weights, weights, 0)


def _numbers(items: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The indices of items in ``among``."""
    number = {item: i for i, item in enumerate(among.tolist())}
    return np.array([number[item] for item in items.tolist()], dtype=np.int64)
