"""Conditional Markov models: probabilities of each label, given the label before it."""

import numpy as np
import scipy.sparse as sp

from .base import Structure
from .messages import Messages, rows_of_chains
from .scores import Scores, ends, with_ends

# Sums of probabilities below this are computed again in logarithms.
UNDERFLOW = 1e-280


def local_partition(structure: Structure, scores: Scores) -> np.ndarray:
    """Logarithms of the sums of potentials over the labels of a token, given the label before.

    Parameters
    ----------
    structure : Structure
        With at most one link into each token.
    scores : Scores

    Returns
    -------
    ndarray of shape (n_tokens, n_labels)
        Columns are labels of the token before, -inf where no label can follow. If there is no
        token before, all columns are equal.
    """
    first, _ = structure.ends
    state = with_ends(scores, structure.ends)
    sums = _sum_products(state, scores.transition)
    # Where the sum underflows, and where a token has transition scores of its own.
    inexact = np.isneginf(sums).any(axis=1) | (scores.token_transitions.row >= 0)
    inexact[first] = False
    sums[inexact] = _sum_pairs(state[inexact], scores, np.flatnonzero(inexact))
    sums[first] = np.logaddexp.reduce(state[first], axis=1)[:, None]
    return sums


def locally_normalised(structure: Structure, scores: Scores) -> Scores:
    """Return the conditional Markov model; see :meth:`Capabilities.locally_normalised`."""
    sums, (first, _) = local_partition(structure, scores), structure.ends
    state = with_ends(scores, structure.ends)
    previous, current = structure.links()
    by_previous = np.argsort(previous, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(previous, minlength=len(state))))
    into = sp.csr_array(
        (np.ones(len(current)), current[by_previous], starts), shape=(len(state), len(state))
    )
    every = np.arange(len(state))
    for tokens, divisors in ((every, into @ sums), (first, sums[first])):
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
    """Return the same for some tokens, in logarithms, as sums over the paths of two tokens."""
    n_tokens, n_labels = state.shape
    pairs = np.zeros((2 * n_tokens, n_labels))
    pairs[1::2] = state
    row = np.full(2 * n_tokens, -1)
    row[1::2] = scores.token_transitions.row[tokens]
    zeros, edges = np.zeros(n_labels), scores.token_transitions._replace(row=row)
    of_pairs = Scores(pairs, scores.transition, zeros, zeros, edges)
    offsets, before = 2 * np.arange(n_tokens + 1), np.arange(-1, 2 * n_tokens - 1)
    before[::2] = -1
    rows = rows_of_chains(offsets, before)
    messages = Messages(offsets, before, ends(offsets), rows, of_pairs)
    log_z = messages.log_z[:, None]
    return np.where(log_z > -np.inf, messages.up[::2], 0.0) + log_z
