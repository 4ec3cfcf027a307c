"""Co-occurrence rates of three or four labels in a row, given the labels in the middle."""

from collections.abc import Iterable, Iterator
from copy import copy

import numpy as np

from ...counts import BOUNDARY, Table, Template
from ...structures import RunTable
from ...utils.soundness import Array, Fact, Requirement, indices

RUNS = [Template((), (-2, -1, 0)), Template((), (-3, -2, -1, 0))]
"""The templates that are counted for chains of second and of third order."""

# The number of observations that the prior counts as much as.
STRENGTH = 10.0
# The exponent of the rates is this share of the exponent of transitions: they overlap.
SHARE = 0.6


class RunRates:
    """log CR(h; k | i, ...) of labels h, i, ..., k in a row, smoothed towards independence.

    CR(h; k | i, ...) = p(k | h, i, ...) / p(k | i, ...), where p(k | h, i, ...) has p(k | i, ...)
    as its prior.

    Parameters
    ----------
    runs : Table
        Events are labels in a row.
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

    def __init__(self, runs: Table, n_labels: int, strength: float, exponent: float):
        inner = runs.events[:, 0] != BOUNDARY
        h, *middle, k = runs.events[inner].T.astype(np.int64)
        weights, strength = runs.weights[inner], STRENGTH * strength
        self._n_labels, self.exponent = n_labels, SHARE * exponent
        given, end = self._codes(middle), self._codes([*middle, k])
        before = self._codes([h, *middle])
        self._contexts, context = np.unique(before, return_inverse=True)
        n_context = np.bincount(context, weights)
        probability = _totals(end, weights) / _totals(given, weights)
        self._keys = before * n_labels + k
        self._scores = np.log((weights / probability + strength) / (n_context[context] + strength))
        with np.errstate(divide="ignore"):
            unseen = np.log(strength / (n_context + strength))
        self._unseen = np.maximum(unseen, np.log(np.finfo(float).tiny))

    def _codes(self, labels: Iterable[np.ndarray]) -> np.ndarray:
        """Labels in a row as one number, with one digit for each label."""
        codes = np.zeros(1, dtype=np.int64)
        for ids in labels:
            codes = codes * self._n_labels + ids
        return codes

    def table(self) -> RunTable:
        """Return the scores as a table."""
        values = self.exponent * self._scores, self._contexts, self.exponent * self._unseen
        return RunTable.of_keys(self._n_labels, self._keys, *values)

    def __call__(self, *labels: np.ndarray) -> np.ndarray:
        """Return the scores of labels in a row, all of shape (n,)."""
        return self.table()(*labels)

    def by_pairs(self) -> dict[str, np.ndarray]:
        """Return the arrays of :class:`~sklearn_crcrf.serving.sums.RunTables`, of three labels."""
        pairs = np.arange(self._n_labels**2 + 1) * self._n_labels
        unseen = np.zeros(self._n_labels**2)
        unseen[self._contexts] = self._unseen
        return {
            "trigrams.starts": np.searchsorted(self._keys, pairs).astype(np.int64),
            "trigrams.last": (self._keys % self._n_labels).astype(np.int32),
            "trigrams.score": self.exponent * self._scores,
            "trigrams.unseen": self.exponent * unseen,
        }

    def following(self, exponent: float) -> "RunRates":
        """Return the same rates with another exponent of transitions."""
        twin = copy(self)
        twin.exponent = SHARE * exponent
        return twin

    def requirements(self, n_labels: int, n: int) -> Iterator[Requirement]:
        """Yield the requirements of the rates of n labels in a row."""
        yield Fact("_n_labels", self._n_labels == n_labels, f"must be {n_labels}")
        for keys, values, length in (("_contexts", "_unseen", n - 1), ("_keys", "_scores", n)):
            shape = (len(getattr(self, keys)),)
            yield indices(keys, getattr(self, keys), shape, n_labels**length)
            yield Array(values, getattr(self, values), shape)
        yield Fact("exponent", bool(np.isfinite(self.exponent)), "must be finite")


def _totals(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum for each code the weights of all equal codes."""
    _, which = np.unique(codes, return_inverse=True)
    return np.bincount(which, weights)[which]
