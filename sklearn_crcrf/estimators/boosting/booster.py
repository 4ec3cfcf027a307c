"""Scores of tokens, to which boosting adds one tree after another."""

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from ...training import interruptible
from .residuals import Residuals, TrainingData

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
        self._data, self.transition, self._state = data, transition, state
        self.residuals: Residuals = data.residuals(state, transition)

    def add(
        self,
        tree: DecisionTreeRegressor,
        tokens: np.ndarray | slice,
        *,
        rate: float,
        penalty: float,
    ) -> None:
        """Fit a tree to the residuals of tokens, and set its leaves by a step of Newton's method.

        The transition scores move towards values for which the expected count of every pair of
        labels equals its gold count, as in iterative scaling. The step is halved until it does not
        raise the loss: it can, as it ignores that neighbouring labels depend on each other.

        Parameters
        ----------
        tree : DecisionTreeRegressor
            Not fitted yet.
        tokens : index array, or slice
            The tokens that the tree is fitted to.
        rate : float
            Learning rate: factor of the step.
        penalty : float
            Added to the curvature in each leaf, and to the counts of each pair of labels.
        """
        X, residuals = self._data.corpus.X, self.residuals
        rows, w = X[tokens], self._data.token_weight[tokens]
        gold, expected = residuals.gold[tokens], residuals.expected[tokens]
        target = (gold - expected) / w[:, None]
        columns = rows.tocsc() if sp.issparse(rows) else rows
        interruptible(tree.fit, columns, target, sample_weight=w)
        by_leaf = _leaves(tree, rows)
        gradient = by_leaf @ (gold - expected)
        curvature = by_leaf @ (expected * (1.0 - expected / w[:, None]))
        # To add one number to all scores has no effect, so one of n labels is redundant
        # (Friedman 2001).
        n_labels = gold.shape[1]
        share = rate * (n_labels - 1) / n_labels
        tree.tree_.value[:, :, 0] = share * gradient / (curvature + penalty)
        ratio = (residuals.gold_pairs + penalty) / (residuals.expected_pairs + penalty)
        change, added = rate * np.log(ratio), tree_scores(tree, X)
        self._change(added, change)
        for _ in range(HALVINGS):
            if self.residuals.loss <= residuals.loss:
                break
            for part in (tree.tree_.value, change, added):
                part *= 0.5
            self._change(-added, -change)

    def _change(self, added: np.ndarray, change: np.ndarray) -> None:
        self._state += added
        self.transition = self.transition + change
        self.residuals = self._data.residuals(self._state, self.transition)


def tree_scores(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> np.ndarray:
    """The state scores that a tree adds, (n_tokens, n_labels)."""
    return tree.predict(X, check_input=False).reshape(X.shape[0], tree.n_outputs_)


def _leaves(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> sp.csr_array:
    """Indicators of the leaf of each token, (n_nodes, n_tokens)."""
    leaf = tree.apply(X, check_input=False)
    shape = tree.tree_.node_count, len(leaf)
    return sp.csr_array((np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=shape)
