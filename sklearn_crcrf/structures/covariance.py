"""Means of linear functions of paths, and their derivatives: covariances."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._kernels.chain.covariance import add_covariances, average_prefixes
from .messages import Messages
from .scores import ScoreGradient, add_with_ends, ends

__all__ = ["PathMeans", "entropy"]


class PathMeans:
    """The mean of a linear function <v, f(y)> of paths y, and its derivative.

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
    mean : ndarray of shape (n_sequences,)
        NaN where no path is possible, 0 for an empty sequence.
    """

    def __init__(
        self, messages: Messages, v_state: np.ndarray, v_transition: np.ndarray, v_edges: np.ndarray
    ):
        self._offsets = messages.offsets
        direction = (
            np.ascontiguousarray(values, dtype=float) for values in (v_state, v_transition, v_edges)
        )
        self._given = messages.arrays, messages.backward, *direction
        self._prefixes = np.empty_like(messages.forward), np.empty_like(messages.increment)
        self.mean = np.empty(len(messages.log_z))
        average_prefixes(*self._given, *self._prefixes, self.mean)

    def pullback(self, weight: np.ndarray, out: ScoreGradient) -> ScoreGradient:
        """Add the covariances of f(y) and <v, f(y)>, times the weight of each sequence."""
        weight = np.asarray(weight, dtype=float)
        covariance = np.zeros(self._prefixes[0].shape)
        add_covariances(
            *self._given,
            *self._prefixes,
            weight,
            covariance,
            out.transition,
            out.token_transitions,
        )
        add_with_ends(out, covariance, ends(self._offsets))
        return out


def entropy(messages: Any, means: Callable[..., Any], lengths: np.ndarray) -> np.ndarray:
    """log Z - E[score], token by token, so that large scores do not hide small entropies.

    Parameters
    ----------
    messages : Messages or TreeMessages
    means : callable
        Makes the means of a linear function: PathMeans or TreeMeans.
    lengths : ndarray of shape (n_units,)
        The number of tokens of each unit.

    Returns
    -------
    ndarray of shape (n_units,)
    """
    surprise = _finite(messages.increment)[:, None] - _finite(messages.state)
    transition, edges = -_finite(messages.transition), -_finite(messages.token_transitions.score)
    mean = means(messages, surprise, transition, edges).mean
    # Where scores are so large that rounding hides differences, one labelling has all probability.
    mean[np.isnan(mean) & np.isfinite(messages.log_z)] = 0.0
    return np.clip(mean, 0.0, lengths * np.log(messages.state.shape[1]))


def _finite(scores: np.ndarray) -> np.ndarray:
    """Scores with 0 in place of -inf: what is impossible has no part in a mean."""
    return np.where(np.isneginf(scores), 0.0, scores)
