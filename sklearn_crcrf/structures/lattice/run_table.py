"""Scores of labels in a row, as a table of the runs that have scores."""

from typing import Any, NamedTuple

import numpy as np

from ..._kernels.lattice.runs import score_lattice_runs

__all__ = ["RunTable"]


class RunTable(NamedTuple):
    """The scores of three or more labels in a row, by the labels before the last one.

    Parameters
    ----------
    n_labels : int
    contexts : int64 ndarray of shape (n_contexts,)
        The labels before the last one, as numbers with one digit for each label, which rise.
    starts : int64 ndarray of shape (n_contexts + 1,)
        The entries of context ``c`` are from ``starts[c]`` to ``starts[c + 1] - 1``.
    last : int32 ndarray of shape (n_entries,)
        The last labels, which rise within a context.
    score : float64 ndarray of shape (n_entries,)
    unseen : float64 ndarray of shape (n_contexts,)
        The score of all other last labels. In all other contexts the score is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import RunTable
    >>> last = np.array([1], dtype=np.int32)
    >>> after_1_0 = np.array([2]), np.array([0, 1]), last, np.array([3.0]), np.array([-1.0])
    >>> table = RunTable(2, *after_1_0)  # of two labels
    >>> table(*np.array([[0, 1, 1], [0, 0, 0], [1, 0, 1]]))
    array([ 0., -1.,  3.])
    """

    n_labels: int
    contexts: np.ndarray
    starts: np.ndarray
    last: np.ndarray
    score: np.ndarray
    unseen: np.ndarray

    @classmethod
    def of_keys(
        cls,
        n_labels: int,
        keys: np.ndarray,
        score: np.ndarray,
        contexts: np.ndarray,
        unseen: np.ndarray,
    ) -> "RunTable":
        """The table of runs, which are numbers with one digit for each label, and rise."""
        context, last = np.divmod(keys, n_labels)
        starts = np.append(np.searchsorted(context, contexts), len(keys)).astype(np.int64)
        return cls(n_labels, contexts, starts, last.astype(np.int32), score, unseen)

    def __call__(self, *labels: np.ndarray) -> np.ndarray:
        """The scores of labels in a row, all of shape (n,)."""
        *before, last = (np.asarray(ids, dtype=np.int64) for ids in labels)
        context = before[0]
        for ids in before[1:]:
            context = context * self.n_labels + ids
        scores = np.zeros(len(last))
        if len(self.contexts) == 0:
            return scores
        at = np.minimum(np.searchsorted(self.contexts, context), len(self.contexts) - 1)
        known = np.flatnonzero(self.contexts[at] == context)
        scores[known] = self.unseen[at[known]]
        of_entry = np.repeat(self.contexts, np.diff(self.starts)) * self.n_labels + self.last
        wanted = context * self.n_labels + last
        at = np.minimum(np.searchsorted(of_entry, wanted), len(of_entry) - 1)
        found = of_entry[at] == wanted
        scores[found] = self.score[at[found]]
        return scores

    def of_lattice(self, lattice: Any, n: int, runs: np.ndarray) -> None:
        """Write the scores of all runs of n + 1 labels of a lattice into the array of all runs."""
        score_lattice_runs(
            lattice.runs_of_candidates, lattice.candidates.label, self.n_labels, n, self[1:], runs
        )
