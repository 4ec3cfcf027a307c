"""Scores of tokens, to which boosting adds one step after another."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from .residuals import Residuals, TrainingData
from .steps import Step, tree_scores

__all__ = ["Booster", "HeldOut"]

# Maximum number of halvings of a step that raises the loss.
HALVINGS = 10


class Booster:
    """Scores of the training data, and their residuals.

    Parameters
    ----------
    data : TrainingData
    state : ndarray of shape (n_tokens, n_labels)
        Initial state scores; changed in place.
    transition : ndarray of shape (n_labels, n_labels)

    Attributes
    ----------
    residuals : Residuals
        Residuals under the current scores.
    transition : ndarray of shape (n_labels, n_labels)
    """

    def __init__(self, data: TrainingData, state: np.ndarray, transition: np.ndarray):
        self.data, self.transition, self._state = data, transition, state
        self.residuals: Residuals = data.residuals(state, transition)

    def take(self, step: Step) -> Step:
        """Add a step, halved until it does not raise the loss.

        A full step can raise it: the Newton step ignores that neighbouring labels depend on each
        other.

        Returns
        -------
        Step
            The step that was added.
        """
        before, added = self.residuals.loss, tree_scores(step.tree, self.data.corpus.X)
        self._add(step, added, 1.0)
        for _ in range(HALVINGS):
            if self.residuals.loss <= before:
                break
            step = step.halve()
            added *= 0.5
            self._add(step, added, -1.0)
        return step

    def _add(self, step: Step, added: np.ndarray, sign: float) -> None:
        self._state += sign * added
        self.transition = self.transition + sign * step.transition
        self.residuals = self.data.residuals(self._state, self.transition)


class HeldOut:
    """Scores of held-out sequences.

    Parameters
    ----------
    data : TrainingData
    state : ndarray of shape (n_tokens, n_labels)
        Initial state scores; changed in place.
    """

    def __init__(self, data: TrainingData, state: np.ndarray):
        self._data, self._state = data, state

    def loss(self, tree: DecisionTreeRegressor, transition: np.ndarray) -> float:
        """Add a tree; return the mean loss with these transition scores."""
        self._state += tree_scores(tree, self._data.corpus.X)
        return self._data.mean_loss(self._state, transition)
