"""Co-occurrence rates of four labels in a row, given the two in the middle."""

import numpy as np

from ...counts import BOUNDARY, Table, Template
from ...structures import RunTable
from .run_rates import STRENGTH, RunRates

__all__ = ["FOURGRAMS", "FourgramRates"]

FOURGRAMS = Template((), (-3, -2, -1, 0))
"""The template that is counted for a chain of third order."""


class FourgramRates(RunRates):
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
        super().__init__(exponent)
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

    def table(self) -> RunTable:
        values = self.exponent * self._scores, self._contexts, self.exponent * self._unseen
        return RunTable.of_keys(self._n_labels, self._keys, *values)
