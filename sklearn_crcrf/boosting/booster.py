"""Scores of tokens, as step after step is added to them."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from .residuals import Residuals, TrainingData
from .steps import Step, tree_scores

__all__ = ["Booster", "HeldOut"]

# A step that raises the loss is halved so many times at most.
HALVINGS = 10


class Booster:
    """Scores of the training data, and their residuals.

    Parameters
    ----------
    data : TrainingData
    state : ndarray of shape (n_tokens, n_labels)
        Where the state scores start. It is changed in place.
    transition : ndarray of shape (n_labels, n_labels)

    Attributes
    ----------
    residuals : Residuals
        Under the present scores.
    transition : ndarray of shape (n_labels, n_labels)
    """

    def __init__(self, data: TrainingData, state: np.ndarray, transition: np.ndarray):
        self.data, self.transition, self._state = data, transition, state
        self.residuals: Residuals = data.residuals(state, transition)

    def take(self, step: Step) -> Step:
        """Add a step, or as much of it as does not raise the loss.

        Neighbouring labels depend on each other, which Newton's method does not know here.

        Returns
        -------
        Step
            What was added.
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
    """Scores of sequences that are not trained on.

    Parameters
    ----------
    data : TrainingData
    state : ndarray of shape (n_tokens, n_labels)
        Where the state scores start. It is changed in place.
    """

    def __init__(self, data: TrainingData, state: np.ndarray):
        self._data, self._state = data, state

    def loss(self, tree: DecisionTreeRegressor, transition: np.ndarray) -> float:
        """The mean loss with one tree more, and these transition scores."""
        self._state += tree_scores(tree, self._data.corpus.X)
        return self._data.mean_loss(self._state, transition)
