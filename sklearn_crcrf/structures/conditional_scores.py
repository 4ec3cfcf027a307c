"""Scores of the labels of single tokens, given the labels of their neighbours."""

from collections.abc import Collection

import numpy as np

from .._kernels.chain.paths import add_transition_counts, add_transition_scores
from .base import Structure
from .ends import add_with_ends, with_ends
from .scores import AddTo, ScoreGradient, Scores

__all__ = ["ConditionalScores"]


class ConditionalScores:
    """What each label of a token adds to the score of a labelling, given its neighbours.

    See :meth:`Capabilities.conditional_scores`.

    Attributes
    ----------
    scores : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, structure: Structure, scores: Scores, y: np.ndarray, steps: Collection[int]):
        self._scores, self._steps = scores, steps
        self._links = structure.links()
        self._ends = structure.first_tokens(), structure.last_tokens()
        self._y = np.ascontiguousarray(y, dtype=np.int32)
        self.scores = with_ends(scores, self._ends).astype(scores.state.dtype, copy=False)
        for step in steps:
            add_transition_scores(
                *self._tokens(step),
                self._y,
                _seen_from(step, scores.transition),
                *self._edges(step),
                scores.token_transitions.score,
                self.scores,
            )

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the conditional scores, each times its weight, added to ``out``."""
        gradient = ScoreGradient.of(out, self._scores)
        add_with_ends(gradient, weight, self._ends)
        for step in self._steps:
            transition = np.zeros(gradient.transition.shape)
            add_transition_counts(
                *self._tokens(step),
                self._y,
                *self._edges(step),
                weight,
                transition,
                gradient.token_transitions,
            )
            gradient.transition[:] += _seen_from(step, transition)
        return gradient

    def _tokens(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The token of each link whose scores are wanted, and its neighbour."""
        previous, current = self._links
        return (current, previous) if step < 0 else (previous, current)

    def _edges(self, step: int) -> tuple:
        """Rows and entries of the token transitions, the labels of the neighbours first."""
        row, indptr, previous, current, _ = self._scores.token_transitions
        row = row[self._links[1]]
        return (row, indptr, previous, current) if step < 0 else (row, indptr, current, previous)


def _seen_from(step: int, transition: np.ndarray) -> np.ndarray:
    """Transitions, transposed if the neighbour is the later token: its label is the row."""
    return transition if step < 0 else np.ascontiguousarray(transition.T)
