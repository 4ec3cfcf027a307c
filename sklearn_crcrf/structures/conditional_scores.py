"""Scores of the labels of single tokens, given the labels next to them."""

from collections.abc import Collection

import numpy as np

from .._kernels._neighbours import add_transition_counts, add_transition_scores
from .messages import ends, with_ends
from .scores import AddTo, ScoreGradient, Scores

__all__ = ["ConditionalScores"]


class ConditionalScores:
    """What each label of a token adds to the score of a path; see :meth:`Chain.conditional_scores`.

    Attributes
    ----------
    scores : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, offsets: np.ndarray, scores: Scores, y: np.ndarray, steps: Collection[int]):
        self._offsets, self._scores, self._steps = offsets, scores, steps
        self._y = np.ascontiguousarray(y, dtype=np.int32)
        self.scores = with_ends(offsets, scores).astype(scores.state.dtype, copy=False)
        for step in steps:
            transition = _seen_from(step, scores.transition)
            add_transition_scores(
                offsets,
                self._y,
                step,
                transition,
                *self._edges(step),
                scores.token_transitions.score,
                self.scores,
            )

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """Counts of the scores, those in the score of each label times its weight."""
        counts = ScoreGradient.of(out, self._scores)
        first, last = ends(self._offsets)
        counts.state[:] += weight
        counts.begin[:] += weight[first].sum(axis=0, dtype=float)
        counts.end[:] += weight[last].sum(axis=0, dtype=float)
        for step in self._steps:
            transition = np.zeros(counts.transition.shape)
            add_transition_counts(
                self._offsets,
                self._y,
                step,
                *self._edges(step),
                weight,
                transition,
                counts.token_transitions,
            )
            counts.transition[:] += _seen_from(step, transition)
        return counts

    def _edges(self, step: int) -> tuple:
        """Rows and entries of the edges, from the labels of neighbours to others."""
        row, indptr, previous, current, _ = self._scores.token_transitions
        return (row, indptr, previous, current) if step < 0 else (row, indptr, current, previous)


def _seen_from(step: int, transition: np.ndarray) -> np.ndarray:
    """A matrix whose rows are the labels of neighbours, or back from there."""
    return transition if step < 0 else np.ascontiguousarray(transition.T)
