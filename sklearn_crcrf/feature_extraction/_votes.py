"""The most frequent kind among all votes for an item, or among the votes of the others."""

import numpy as np

__all__ = ["Votes"]


class Votes:
    """Votes for items, each for one kind; of equally frequent kinds the last one wins.

    Parameters
    ----------
    item : ndarray of int64 of shape (n_votes,)
        The number of the item of each vote.
    kind : ndarray of int64 of shape (n_votes,)
        The number of the kind.
    """

    def __init__(self, item: np.ndarray, kind: np.ndarray):
        n_kinds = int(kind.max(initial=0)) + 1
        pairs, counts = np.unique(item * n_kinds + kind, return_counts=True)
        items, kinds = np.divmod(pairs, n_kinds)
        order = np.lexsort((-kinds, -counts, items))
        items, kinds, counts = items[order], kinds[order], counts[order]
        self._items, first = np.unique(items, return_index=True)
        # Each item has a second kind or, in its place, no votes for no kind.
        has_second = np.diff(np.append(first, len(items))) > 1
        second = np.where(has_second, first + 1, len(items))
        kinds, counts = np.append(kinds, -1), np.append(counts, 0)
        self._kinds = kinds[np.stack([first, second])]
        self._counts = counts[np.stack([first, second])]

    def most_frequent(self, item: np.ndarray) -> np.ndarray:
        """The most frequent kind of each item, -1 for an item without votes."""
        if len(self._items) == 0:
            return np.full(len(item), -1)
        place = np.minimum(np.searchsorted(self._items, item), len(self._items) - 1)
        return np.where(self._items[place] == item, self._kinds[0, place], -1)

    def most_frequent_of_others(self, item: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The most frequent kind without one vote for the kind ``own``, -1 if there is no other.

        Every item must have a vote for this kind.
        """
        place = np.searchsorted(self._items, item)
        first, second = self._kinds[:, place]
        n_first, n_second = self._counts[:, place]
        n_first = n_first - (first == own)
        overtaken = (n_second > n_first) | ((n_second == n_first) & (second > first))
        return np.where(overtaken, second, np.where(n_first > 0, first, -1))
