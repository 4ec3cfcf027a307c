"""All paths except a given one, as the paths of a chain with one more label."""

import numpy as np

from ..._kernels.chain.excluding import add_edge_counts, fill_edges
from ..._kernels.chain.scores import BatchScores
from ..scores import AddTo, ScoreGradient, Scores, TokenTransitions, add_with_ends, ends, with_ends

__all__ = ["PathsExcluding"]


class PathsExcluding:
    """The paths other than y, each as one path of a chain with one more label.

    A path other than y has a last token at which it differs from y. After this token the new label
    stands for the labels of y, and has their scores. So no sequence begins with the new label or
    ends with the label of y, and transitions into the new label come from itself and from all
    labels but the label of y. No sum includes y itself, so nothing cancels, however much y
    outweighs the other paths.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    scores : Scores
    y : ndarray of shape (n_tokens,)
        Label ids of the paths.

    Attributes
    ----------
    scores : Scores
        The scores of the chain with one more label, in double precision; begin and end scores
        are part of the state scores.
    """

    def __init__(self, offsets: np.ndarray, scores: Scores, y: np.ndarray):
        self._offsets, self._given, self._n_labels = offsets, scores, len(scores.transition)
        self._batch = BatchScores(offsets, scores)
        self._y = np.ascontiguousarray(y, dtype=np.int32)
        self._ends = ends(offsets)
        self._edges, nothing = self._with_edges_into_y(), np.zeros(self._n_labels + 1)
        transition = np.pad(scores.transition, (0, 1), constant_values=-np.inf)
        self.scores = Scores(self._states(), transition, nothing, nothing, self._edges)

    def labels(self, path: np.ndarray) -> np.ndarray:
        """The path other than y that a path of the chain with one more label stands for."""
        return np.where(path == self._n_labels, self._y, path)

    def counts(self, counts: ScoreGradient, out: AddTo = None) -> ScoreGradient:
        """Turn the score gradient of the chain with one more label into one of the given scores.

        It is added to ``out``.
        """
        out = ScoreGradient.of(out, self._given)
        state = counts.state[:, :-1]
        state[np.arange(len(state)), self._y] += counts.state[:, -1]
        add_with_ends(out, state, self._ends)
        into_y = np.zeros(out.transition.shape)
        add_edge_counts(
            self._batch,
            self._y,
            self._edges.indptr,
            counts.token_transitions,
            into_y,
            out.token_transitions,
        )
        out.transition[:] += counts.transition[:-1, :-1] + into_y.T
        return out

    def _states(self) -> np.ndarray:
        given, (first, last) = with_ends(self._given, self._ends), self._ends
        state = np.column_stack([given, given[np.arange(len(given)), self._y]])
        state[first, -1] = -np.inf
        state[last, self._y[last]] = -np.inf
        return state

    def _with_edges_into_y(self) -> TokenTransitions:
        """The given token transitions, and the transitions into the new label."""
        given = self._given.token_transitions
        has_one_before = np.ones(len(self._y), dtype=bool)
        has_one_before[self._ends[0]] = False
        row = given.row[has_one_before]
        n_given = np.where(row >= 0, np.append(np.diff(given.indptr), 0)[row], 0)
        indptr = np.append(0, np.cumsum(n_given + self._n_labels))
        previous, current = np.empty((2, indptr[-1]), dtype=np.int32)
        row = np.empty(len(self._y), dtype=np.int64)
        edges = TokenTransitions(row, indptr, previous, current, np.empty(indptr[-1]))
        transposed = np.ascontiguousarray(self._given.transition.T)
        fill_edges(self._batch, self._y, transposed, *edges)
        return edges
