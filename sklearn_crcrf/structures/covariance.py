"""Means of linear functions of labellings of trees, and their derivatives: covariances."""

import numpy as np

from .._kernels.tree.messages import add_tree_covariances, average_subtrees
from .messages import Messages
from .scores import ScoreGradient, add_with_ends

__all__ = ["Means", "entropy"]


class Means:
    """The mean of a linear function <v, f(y)> of labellings y, and its derivative.

    f(y) counts how often y uses each score.

    Parameters
    ----------
    messages : Messages
    v_state : ndarray of shape (n_tokens, n_labels)
        The direction v for state scores, with its begin and end added.
    v_transition : ndarray of shape (n_labels, n_labels)
    v_edges : ndarray of shape (n_entries,)
        The direction v for token transitions.

    Attributes
    ----------
    mean : ndarray of shape (n_units,)
        NaN where no labelling is possible, 0 for a unit without tokens.
    """

    def __init__(
        self,
        messages: Messages,
        v_state: np.ndarray,
        v_transition: np.ndarray,
        v_edges: np.ndarray,
    ):
        self._ends = messages.ends
        nothing = np.zeros(v_transition.shape), np.zeros(v_edges.shape)
        marginals = messages.add_expected(np.ones(len(messages.log_z)), *nothing)
        self._sums = messages.arrays, marginals
        state, *self._direction = (
            np.ascontiguousarray(values, dtype=float) for values in (v_state, v_transition, v_edges)
        )
        self._subtrees = np.empty_like(messages.up)
        self.mean = np.empty(len(messages.log_z))
        average_subtrees(*self._sums, state, *self._direction, self._subtrees, self.mean)

    def pullback(self, weight: np.ndarray, out: ScoreGradient) -> ScoreGradient:
        """Add the covariances of f(y) and <v, f(y)>, times the weight of each unit."""
        weight = np.asarray(weight, dtype=float)
        covariance = np.empty(self._subtrees.shape)
        add_tree_covariances(
            *self._sums,
            *self._direction,
            self._subtrees,
            weight,
            covariance,
            out.transition,
            out.token_transitions,
        )
        add_with_ends(out, covariance, self._ends)
        return out


def entropy(messages: Messages, lengths: np.ndarray) -> np.ndarray:
    """log Z - E[score], token by token, so that large scores do not hide small entropies.

    Parameters
    ----------
    messages : Messages
    lengths : ndarray of shape (n_units,)
        The number of tokens of each unit.

    Returns
    -------
    ndarray of shape (n_units,)
    """
    surprise = _finite(messages.increment)[:, None] - _finite(messages.state)
    transition, edges = -_finite(messages.transition), -_finite(messages.token_transitions.score)
    mean = Means(messages, surprise, transition, edges).mean
    # Where scores are so large that rounding hides differences, one labelling has all probability.
    mean[np.isnan(mean) & np.isfinite(messages.log_z)] = 0.0
    return np.clip(mean, 0.0, lengths * np.log(messages.state.shape[1]))


def _finite(scores: np.ndarray) -> np.ndarray:
    """Scores with 0 in place of -inf: what is impossible has no part in a mean."""
    return np.where(np.isneginf(scores), 0.0, scores)
