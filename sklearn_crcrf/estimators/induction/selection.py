"""Which of many candidates become features."""

from typing import NamedTuple

import numpy as np

from .conjunctions import Conjunctions
from .gains import Sums

__all__ = ["Scored", "best"]

# By how much a conjunction must be better than both columns that it joins.
BETTER = 1.5
# Expected counts that differ by no more than this part of a column's total are the same.
SAME = 1e-4


class Scored(NamedTuple):
    """Candidates: pairs of column and label, with what speaks for them.

    Parameters
    ----------
    columns, labels : ndarray of shape (n_candidates,)
        Sorted by column, then by label.
    sums : Sums
    scores : ndarray of shape (n_candidates,)
        The better, the higher.
    """

    columns: np.ndarray
    labels: np.ndarray
    sums: Sums
    scores: np.ndarray

    def take(self, chosen: np.ndarray) -> "Scored":
        """Some of the candidates."""
        sums = Sums(*(values[chosen] for values in self.sums))
        return Scored(self.columns[chosen], self.labels[chosen], sums, self.scores[chosen])


def best(found: Scored, conjunctions: Conjunctions, n_labels: int, most: int) -> Scored:
    """The best candidates, without those that others make needless for now.

    Features that are chosen together do not know of each other. So a conjunction waits for a
    later round unless it is clearly better than both columns that it joins, for the same label;
    and of columns that have the same sums, mostly because they are equal, one is enough.

    Parameters
    ----------
    found : Scored
    conjunctions : Conjunctions
    n_labels : int
    most : int
        The largest number of candidates to return.

    Returns
    -------
    Scored
        Best first.
    """
    found = found.take(~_wait_for_parts(found, conjunctions, n_labels))
    found = found.take(~_repeat_another(found, conjunctions.orders()))
    return found.take(np.argsort(-found.scores, kind="stable")[:most])


def _wait_for_parts(found: Scored, conjunctions: Conjunctions, n_labels: int) -> np.ndarray:
    """Which candidates are conjunctions that are not clearly better than what they join."""
    codes = found.columns * n_labels + found.labels
    wait = np.zeros(len(codes), dtype=bool)
    joins = np.flatnonzero(found.columns >= conjunctions.n_attributes)
    at = found.columns[joins] - conjunctions.n_attributes
    for part in (conjunctions.parent[at], conjunctions.last[at]):
        wanted = part.astype(np.int64) * n_labels + found.labels[joins]
        place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        rival = np.where(codes[place] == wanted, found.scores[place], 0.0)
        wait[joins] |= found.scores[joins] <= BETTER * rival
    return wait


def _repeat_another(found: Scored, orders: np.ndarray) -> np.ndarray:
    """Which candidates have the same sums as one of as few attributes, or fewer."""
    observed, expected, _, total, _ = found.sums
    order = orders[found.columns]
    rising = np.lexsort((order, expected, observed, total, found.labels))
    same = np.ones(max(len(rising) - 1, 0), dtype=bool)
    for values, tolerance in (
        (found.labels, 0.0),
        (total, 0.0),
        (observed, 0.0),
        (expected, SAME * total[rising][1:]),
    ):
        same &= np.diff(values[rising]) <= tolerance
    repeats = np.zeros(len(rising), dtype=bool)
    repeats[rising[1:]] = same
    return repeats
