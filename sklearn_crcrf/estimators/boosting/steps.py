"""One round of boosting: a tree of state scores, and a change of the transition scores."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from ...training import interruptible
from .residuals import Residuals

__all__ = ["Step", "newton_step", "tree_scores"]


class Step(NamedTuple):
    """A tree and a change of the transition scores, which a round adds.

    Parameters
    ----------
    tree : DecisionTreeRegressor
    transition : ndarray of shape (n_labels, n_labels)
    """

    tree: DecisionTreeRegressor
    transition: np.ndarray

    def halve(self) -> "Step":
        """Half of the step; the tree is changed in place."""
        self.tree.tree_.value[:] *= 0.5
        return self._replace(transition=0.5 * self.transition)


def newton_step(
    tree: DecisionTreeRegressor,
    X: Any,
    residuals: Residuals,
    weight: np.ndarray,
    tokens: np.ndarray | slice,
    *,
    rate: float,
    penalty: float,
) -> Step:
    """Fit a tree to the residuals of tokens, and set its leaves by a step of Newton's method.

    The transition scores move towards values for which the expected count of every pair of labels
    equals its gold count, as in iterative scaling.

    Parameters
    ----------
    tree : DecisionTreeRegressor
        Not fitted yet.
    X : ndarray or CSR of shape (n_tokens, n_attributes), float32
    residuals : Residuals
        Residuals of all tokens.
    weight : ndarray of shape (n_tokens,)
    tokens : index array, or slice
        The tokens that the tree is fitted to.
    rate : float
        Learning rate: factor of the step.
    penalty : float
        Added to the curvature in each leaf, and to the counts of each pair of labels.
    """
    rows, w = X[tokens], weight[tokens]
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
    return Step(tree, rate * np.log(ratio))


def tree_scores(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> np.ndarray:
    """The state scores that a tree adds, (n_tokens, n_labels)."""
    return tree.predict(X, check_input=False).reshape(X.shape[0], tree.n_outputs_)


def _leaves(tree: DecisionTreeRegressor, X: np.ndarray | sp.csr_array) -> sp.csr_array:
    """Indicators of the leaf of each token, (n_nodes, n_tokens)."""
    leaf = tree.apply(X, check_input=False)
    shape = tree.tree_.node_count, len(leaf)
    return sp.csr_array((np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=shape)
