"""Co-occurrence rates of four labels in a row, given the two in the middle."""

from copy import copy

import numpy as np

from ..counts import BOUNDARY, Table, Template
from ..structures import RunTable

__all__ = ["FOURGRAMS", "FourgramRates"]

FOURGRAMS = Template((), (-3, -2, -1, 0))
"""The template that is counted for a chain of third order."""

STRENGTH = 10.0
SHARE = 0.6
"""The exponent of the rates is this share of the exponent of transitions: they overlap."""


class FourgramRates:
    """log CR(h; k | i, j) of labels h, i, j, k in a row, smoothed towards independence.

    CR(h; k | i, j) = p(k | h, i, j) / p(k | i, j), where p(k | h, i, j) has p(k | i, j) as its
    prior.

    Parameters
    ----------
    fourgrams : Table
        Events are (label h, label i, label j, label k).
    n_labels : int
    strength : float
        Multiplies the strength of the prior, 10 observations.
    exponent : float
        The exponent of transitions.

    Attributes
    ----------
    exponent : float
        The exponent of the rates.
    """

    def __init__(self, fourgrams: Table, n_labels: int, strength: float, exponent: float):
        self.exponent = SHARE * exponent
        inner = fourgrams.events[:, 0] != BOUNDARY
        h, i, j, k = fourgrams.events[inner].T.astype(np.int64)
        weights, strength = fourgrams.weights[inner], STRENGTH * strength
        self._n_labels = n = n_labels
        self._contexts, context = np.unique((h * n + i) * n + j, return_inverse=True)
        _, middle = np.unique(i * n + j, return_inverse=True)
        _, end = np.unique((i * n + j) * n + k, return_inverse=True)
        n_context = np.bincount(context, weights)
        probability = np.bincount(end, weights)[end] / np.bincount(middle, weights)[middle]
        self._keys = self._contexts[context] * n + k
        self._scores = np.log((weights / probability + strength) / (n_context[context] + strength))
        with np.errstate(divide="ignore"):
            unseen = np.log(strength / (n_context + strength))
        self._unseen = np.maximum(unseen, np.log(np.finfo(float).tiny))

    def __call__(self, h: np.ndarray, i: np.ndarray, j: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Scores of four labels in a row, all of shape (n,)."""
        return self.table()(h, i, j, k)

    def table(self) -> RunTable:
        """The scores as a table."""
        values = self.exponent * self._scores, self._contexts, self.exponent * self._unseen
        return RunTable.of_keys(self._n_labels, self._keys, *values)

    def following(self, exponent: float) -> "FourgramRates":
        """The same rates with another exponent of transitions."""
        twin = copy(self)
        twin.exponent = SHARE * exponent
        return twin
