"""Co-occurrence rates of three labels in a row, given the middle label."""

import numpy as np

from ...counts import BOUNDARY, Table, Template
from ...structures import RunTable
from .run_rates import STRENGTH, RunRates

__all__ = ["TRIGRAMS", "TrigramRates"]

TRIGRAMS = Template((), (-2, -1, 0))
"""The template that is counted for a second-order chain."""


class TrigramRates(RunRates):
    """log CR(i; k | j) of labels i, j, k in a row, smoothed towards independence given j.

    CR(i; k | j) = p(k | i, j) / p(k | j), where p(k | i, j) has p(k | j) as its prior.

    Parameters
    ----------
    trigrams : Table
        Events are (label i, label j, label k).
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

    def __init__(self, trigrams: Table, n_labels: int, strength: float, exponent: float):
        super().__init__(exponent)
        inner = trigrams.events[:, 0] != BOUNDARY
        i, j, k = trigrams.events[inner].T.astype(np.int64)
        weights = trigrams.weights[inner]
        strength = STRENGTH * strength
        pair, conditional = i * n_labels + j, j * n_labels + k
        n_pair = np.bincount(pair, weights, n_labels**2)
        n_middle = np.bincount(j, weights, n_labels)
        probability = np.bincount(conditional, weights, n_labels**2)[conditional] / n_middle[j]
        total = n_pair[pair] + strength
        self._n_labels = n_labels
        self._keys = pair * n_labels + k
        self._scores = np.log((weights / probability + strength) / total)
        with np.errstate(divide="ignore", invalid="ignore"):
            unseen = np.where(n_pair > 0, np.log(strength / (n_pair + strength)), 0.0)
        self._unseen = np.maximum(unseen, np.log(np.finfo(float).tiny))

    def table(self) -> RunTable:
        contexts = np.unique(self._keys // self._n_labels)
        values = self.exponent * self._scores, contexts, self.exponent * self._unseen[contexts]
        return RunTable.of_keys(self._n_labels, self._keys, *values)

    def by_pairs(self) -> dict[str, np.ndarray]:
        """The arrays of :class:`~sklearn_crcrf.serving.higher_order.RunTables`."""
        pairs = np.arange(self._n_labels**2 + 1) * self._n_labels
        return {
            "trigrams.starts": np.searchsorted(self._keys, pairs).astype(np.int64),
            "trigrams.last": (self._keys % self._n_labels).astype(np.int32),
            "trigrams.score": self.exponent * self._scores,
            "trigrams.unseen": self.exponent * self._unseen,
        }
