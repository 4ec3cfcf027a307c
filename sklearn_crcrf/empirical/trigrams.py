"""Co-occurrence rates of three labels in a row, given the middle label."""

from copy import copy

import numpy as np

from ..counts import BOUNDARY, Table, Template
from ..structures import RunTable

__all__ = ["TRIGRAMS", "TrigramRates"]

TRIGRAMS = Template((), (-2, -1, 0))
"""The template that is counted for a second-order chain."""

STRENGTH = 10.0
SHARE = 0.6
"""The exponent of trigrams is this share of the exponent of transitions: they overlap."""


class TrigramRates:
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

    exponent = 1.0  # of models whose rates were stored with their exponent

    def __init__(self, trigrams: Table, n_labels: int, strength: float, exponent: float):
        self.exponent = SHARE * exponent
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

    def __call__(self, i: np.ndarray, j: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Scores of trigrams, all of shape (n,)."""
        pair = i.astype(np.int64) * self._n_labels + j
        scores = self._unseen[pair]
        seen = np.flatnonzero(scores)
        if len(seen):
            wanted = pair[seen] * self._n_labels + k[seen]
            at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            found = self._keys[at] == wanted
            scores[seen[found]] = self._scores[at[found]]
        return self.exponent * scores

    def table(self) -> RunTable:
        """The scores as a table."""
        contexts = np.flatnonzero(self._unseen)
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

    def following(self, exponent: float) -> "TrigramRates":
        """The same rates with another exponent of transitions."""
        twin = copy(self)
        twin.exponent = SHARE * exponent
        return twin
