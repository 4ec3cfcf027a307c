"""Scores of the labels of single tokens, given the labels of their neighbours."""

from collections.abc import Collection

import numpy as np

from .._kernels._neighbours import add_transition_counts, add_transition_scores
from .messages import ends, with_ends
from .scores import AddTo, ScoreGradient, Scores

__all__ = ["ConditionalScores"]


class ConditionalScores:
    """What each label of a token adds to the score of a path, given its neighbours.

    See :meth:`Capabilities.conditional_scores`.

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
        """The score gradient of the conditional scores, each times its weight, added to ``out``."""
        gradient = ScoreGradient.of(out, self._scores)
        first, last = ends(self._offsets)
        gradient.state[:] += weight
        gradient.begin[:] += weight[first].sum(axis=0, dtype=float)
        gradient.end[:] += weight[last].sum(axis=0, dtype=float)
        for step in self._steps:
            transition = np.zeros(gradient.transition.shape)
            add_transition_counts(
                self._offsets,
                self._y,
                step,
                *self._edges(step),
                weight,
                transition,
                gradient.token_transitions,
            )
            gradient.transition[:] += _seen_from(step, transition)
        return gradient

    def _edges(self, step: int) -> tuple:
        """Rows and entries of the token transitions, the labels of the neighbours first."""
        row, indptr, previous, current, _ = self._scores.token_transitions
        return (row, indptr, previous, current) if step < 0 else (row, indptr, current, previous)


def _seen_from(step: int, transition: np.ndarray) -> np.ndarray:
    """Transitions, transposed if the neighbour is the later token: its label is the row."""
    return transition if step < 0 else np.ascontiguousarray(transition.T)
