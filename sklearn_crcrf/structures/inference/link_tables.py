"""The transition scores of links as dense tables."""

import numpy as np

from ...data.ragged import joined_ranges
from ..scores import ScoreGradient, Scores

__all__ = ["LinkTables"]


class LinkTables:
    """A table of transition scores for each group of links that have the same scores.

    Parameters
    ----------
    scores : Scores
    row : ndarray of shape (n_links,), int64
        The row of the token transitions that each link has, -1 for none.
    divisor : ndarray of shape (n_divisors,), optional
        By what the tables of groups of links are divided.
    which : ndarray of shape (n_links,), int64, optional
        The group of each link: which divisor it has.

    Attributes
    ----------
    tables : float64 ndarray of shape (n_tables, n_labels, n_labels), row = previous label
    of_link : ndarray of shape (n_links,), int64

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Scores
    >>> from sklearn_crcrf.structures.inference.link_tables import LinkTables
    >>> scores = Scores.of(np.zeros((2, 2)), np.eye(2))
    >>> row, divisor, which = np.array([-1, -1, -1]), np.array([1.0, 0.5]), np.array([0, 0, 1])
    >>> tables = LinkTables(scores, row, divisor, which)
    >>> tables.of_link, tables.tables[1].tolist()
    (array([0, 0, 1]), [[2.0, 0.0], [0.0, 2.0]])
    """

    def __init__(
        self,
        scores: Scores,
        row: np.ndarray,
        divisor: np.ndarray | None = None,
        which: np.ndarray | None = None,
    ):
        if divisor is None or which is None or len(row) == 0:
            divisor, which = np.ones(1), np.zeros(len(row), dtype=np.int64)
        if (row < 0).all():
            self._row, self._divisor, self.of_link = np.full(len(divisor), -1), divisor, which
        else:
            keys, of_link = np.unique((row + 1) * len(divisor) + which, return_inverse=True)
            self.of_link = of_link.reshape(-1).astype(np.int64)
            self._row, self._divisor = keys // len(divisor) - 1, divisor[keys % len(divisor)]
        self._find_entries(scores)
        self.tables = self.filled(scores.transition, scores.token_transitions.score)
        self.tables /= self._divisor[:, None, None]

    def _find_entries(self, scores: Scores) -> None:
        """The entries of token transitions that are in each table, and where."""
        _, indptr, previous, current, _ = scores.token_transitions
        own = np.flatnonzero(self._row >= 0)
        starts = indptr[self._row[own]]
        lengths = indptr[self._row[own] + 1] - starts
        self._entry = joined_ranges(starts, lengths)
        self._place = np.repeat(own, lengths), previous[self._entry], current[self._entry]

    def filled(self, transition: np.ndarray, entries: np.ndarray) -> np.ndarray:
        """Tables of other numbers in the place of the scores, not divided.

        Parameters
        ----------
        transition : ndarray of shape (n_labels, n_labels)
        entries : ndarray of shape (n_entries,)
            In the place of the scores of the token transitions.

        Returns
        -------
        float64 ndarray of shape (n_tables, n_labels, n_labels)
        """
        tables = np.empty((len(self._row), *transition.shape))
        tables[:] = transition
        tables[self._place] = entries[self._entry]
        return tables

    def add_gradient(self, of_tables: np.ndarray, gradient: ScoreGradient) -> None:
        """Add derivatives by the scores in the tables, which are overwritten, to a gradient.

        Parameters
        ----------
        of_tables : ndarray of shape (n_tables, n_labels, n_labels)
            Derivatives by the scores, not by the scores divided.
        gradient : ScoreGradient
        """
        np.add.at(gradient.token_transitions, self._entry, of_tables[self._place])
        of_tables[self._place] = 0.0
        gradient.transition[:] += of_tables.sum(axis=0)
