"""Chains of conditional probabilities, each of a label given the one before it."""

import numpy as np

from .messages import Messages, ends, with_ends
from .parts import Parts

__all__ = ["local_partition", "locally_normalised"]


def local_partition(offsets: np.ndarray, parts: Parts) -> np.ndarray:
    """Logarithms of the sums of exp(score) over the labels of one token, given the one before.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    parts : Parts

    Returns
    -------
    ndarray of shape (n_tokens, n_labels)
        Columns are labels of the token before, -inf where none can follow. At the first token of
        a sequence, which has none before it, all columns are equal.
    """
    state = with_ends(offsets, parts)
    n_tokens, n_labels = state.shape
    first, _ = ends(offsets)
    second = np.setdiff1d(np.arange(n_tokens), first, assume_unique=True)
    # Each sum is over the paths of two tokens that begin with a given label.
    pairs = np.zeros((2 * len(second), n_labels))
    pairs[1::2] = state[second]
    row = np.full(2 * len(second), -1)
    row[1::2] = parts.edges.row[second]
    edges = parts.edges._replace(row=row)
    zeros = np.zeros(n_labels)
    two = Messages(
        2 * np.arange(len(second) + 1), Parts(pairs, parts.transition, zeros, zeros, edges)
    )
    possible = two.log_z > -np.inf
    sums = np.full((n_tokens, n_labels), -np.inf)
    uniform = np.log(n_labels)
    sums[second[possible]] = (two.backward[::2] + (two.log_z - uniform)[:, None])[possible]
    sums[first] = np.logaddexp.reduce(state[first], axis=1)[:, None]
    return sums


def locally_normalised(offsets: np.ndarray, parts: Parts) -> Parts:
    """The parts of a conditional Markov model; see :meth:`Chain.locally_normalised`."""
    state, sums = with_ends(offsets, parts), local_partition(offsets, parts)
    first, last = ends(offsets)
    before = np.setdiff1d(np.arange(len(state)), last, assume_unique=True)
    for tokens, divisors in ((before, sums[before + 1]), (first, sums[first])):
        possible = divisors > -np.inf
        state[tokens] = np.where(possible, state[tokens] - np.where(possible, divisors, 0), -np.inf)
    zeros = np.zeros(state.shape[1])
    return parts._replace(state=state, begin=zeros, end=zeros)
