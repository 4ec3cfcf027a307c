"""Conditional Markov models: probabilities of each label, given the label before it."""

import numpy as np

from .messages import Messages, ends, with_ends
from .scores import Scores

__all__ = ["local_partition", "locally_normalised"]

# Sums of probabilities below this are computed again in logarithms.
UNDERFLOW = 1e-280


def local_partition(offsets: np.ndarray, scores: Scores) -> np.ndarray:
    """Logarithms of the sums of exp(score) over the labels of a token, given the label before.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    scores : Scores

    Returns
    -------
    ndarray of shape (n_tokens, n_labels)
        Columns are labels of the token before, -inf where no label can follow. At the first token
        of a sequence, with no token before it, all columns are equal.
    """
    state = with_ends(offsets, scores)
    sums = _sum_products(state, scores.transition)
    # Where the sum underflows, and where a token has transition scores of its own.
    inexact = np.isneginf(sums).any(axis=1) | (scores.token_transitions.row >= 0)
    first, _ = ends(offsets)
    inexact[first] = False
    sums[inexact] = _sum_pairs(state[inexact], scores, np.flatnonzero(inexact))
    sums[first] = np.logaddexp.reduce(state[first], axis=1)[:, None]
    return sums


def locally_normalised(offsets: np.ndarray, scores: Scores) -> Scores:
    """The conditional Markov model; see :meth:`Capabilities.locally_normalised`."""
    state, sums = with_ends(offsets, scores), local_partition(offsets, scores)
    first, last = ends(offsets)
    before = np.setdiff1d(np.arange(len(state)), last, assume_unique=True)
    for tokens, divisors in ((before, sums[before + 1]), (first, sums[first])):
        impossible = np.isneginf(divisors)
        divided = state[tokens] - np.where(impossible, 0.0, divisors)
        state[tokens] = np.where(impossible, -np.inf, divided)
    zeros = np.zeros(state.shape[1])
    return scores._replace(state=state, begin=zeros, end=zeros)


def _sum_products(state: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """log sum_j exp(state[t, j] + transition[i, j]), of shape (n_tokens, n_labels).

    -inf where the sum, relative to the largest scores, could underflow.
    """
    highest, top = state.max(axis=1, keepdims=True), transition.max()
    highest, top = (np.where(np.isneginf(scores), 0.0, scores) for scores in (highest, top))
    sums = np.exp(state - highest) @ np.exp(transition - top).T
    with np.errstate(divide="ignore"):
        return np.log(np.where(sums > UNDERFLOW, sums, 0.0)) + highest + top


def _sum_pairs(state: np.ndarray, scores: Scores, tokens: np.ndarray) -> np.ndarray:
    """The same for some tokens, in logarithms, as sums over the paths of two tokens."""
    n_tokens, n_labels = state.shape
    pairs = np.zeros((2 * n_tokens, n_labels))
    pairs[1::2] = state
    row = np.full(2 * n_tokens, -1)
    row[1::2] = scores.token_transitions.row[tokens]
    zeros, edges = np.zeros(n_labels), scores.token_transitions._replace(row=row)
    of_pairs = Scores(pairs, scores.transition, zeros, zeros, edges)
    messages = Messages(2 * np.arange(n_tokens + 1), of_pairs)
    possible = messages.log_z[:, None] > -np.inf
    log_z = np.where(possible, messages.log_z[:, None] - np.log(n_labels), -np.inf)
    return np.where(possible, messages.backward[::2], 0.0) + log_z
