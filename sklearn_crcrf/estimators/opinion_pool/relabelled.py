"""Scores for new labels that are copies of the labels of a chain."""

import numpy as np

from ...data.ragged import joined_ranges
from ...structures import Scores, TokenTransitions


def relabelled(scores: Scores, label: np.ndarray) -> Scores:
    """Scores for new labels: new label j has the scores of label ``label[j]``.

    Parameters
    ----------
    scores : Scores
    label : int ndarray of shape (n_new_labels,)
        Labels may be left out or occur several times.

    Returns
    -------
    Scores

    Examples
    --------
    >>> scores = Scores.of(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> relabelled(scores, np.array([1, 0, 1])).transition
    array([[4., 3., 4.],
           [2., 1., 2.],
           [4., 3., 4.]])
    """
    state, transition, begin, end, edges = scores[:5]
    if np.array_equal(label, np.arange(len(transition))):
        return scores
    return Scores(
        np.ascontiguousarray(state[:, label]),
        np.ascontiguousarray(transition[np.ix_(label, label)]),
        begin[label],
        end[label],
        _relabelled_edges(edges, label, len(transition)),
    )


def _relabelled_edges(
    edges: TokenTransitions, label: np.ndarray, n_labels: int
) -> TokenTransitions:
    """Token transitions for every pair of new labels whose pair of labels has one."""
    n_new, n_old = len(label), n_labels**2
    old_pair = np.add.outer(n_labels * label, label).ravel()
    new_pairs, counts = np.argsort(old_pair, kind="stable"), np.bincount(old_pair, minlength=n_old)
    starts = np.cumsum(counts) - counts
    pair = n_labels * edges.previous.astype(np.int64) + edges.current
    entry = np.repeat(np.arange(len(pair)), counts[pair])
    i, j = np.divmod(new_pairs[joined_ranges(starts[pair], counts[pair])], n_new)
    n_rows = len(edges.indptr) - 1
    row = np.repeat(np.arange(n_rows), np.diff(edges.indptr))[entry]
    order = np.lexsort([i, j, row])
    return TokenTransitions(
        edges.row,
        np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int64),
        i[order].astype(np.int32),
        j[order].astype(np.int32),
        edges.score[entry[order]],
    )
