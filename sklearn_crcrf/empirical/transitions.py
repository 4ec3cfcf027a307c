"""Co-occurrence rates of neighbouring labels, and of labels with the ends of a sequence."""

from typing import NamedTuple

import numpy as np

from ..counts import BOUNDARY, Table

__all__ = ["Transitions", "label_transitions"]

# Keeps unsmoothed rates above zero, and makes them 1 where nothing was counted.
TINY = np.finfo(float).tiny


class Transitions(NamedTuple):
    """Logarithms of co-occurrence rates.

    Parameters
    ----------
    inner : ndarray of shape (n_labels, n_labels), row = previous label
    begin, end : ndarray of shape (n_labels,)
    """

    inner: np.ndarray
    begin: np.ndarray
    end: np.ndarray


def label_transitions(pairs: Table, ends: Table, label_prior: np.ndarray, strength: float):
    """Label bigrams with Witten-Bell smoothing towards independence, in both directions.

    The more different labels follow a label, the more probability is left to unseen successors:
    p(j | i) = (c(i, j) + d_i p(j)) / (c(i) + d_i) with d_i half the number of labels seen after
    i. The co-occurrence rate is the mean of p(j | i) / p(j) and p(i | j) / p(i).

    Parameters
    ----------
    pairs : Table
        Events end in (previous label, label); BOUNDARY is before the first token.
    ends : Table
        Events are (next symbol, label); BOUNDARY is after the last token.
    label_prior : ndarray of shape (n_labels,)
    strength : float
        Multiplies d_i. Half of it is the number of observations that the prior of begin and
        end counts for.

    Returns
    -------
    Transitions
    """
    n_labels = len(label_prior)
    previous, current = pairs.events[:, -2], pairs.events[:, -1]
    inner = previous != BOUNDARY
    counts = np.zeros((n_labels, n_labels))
    np.add.at(counts, (previous[inner], current[inner]), pairs.weights[inner])
    first = np.bincount(current[~inner], pairs.weights[~inner], n_labels)
    at_end = ends.events[:, 0] == BOUNDARY
    last = np.bincount(ends.events[at_end, -1], ends.weights[at_end], n_labels)
    return Transitions(
        np.log(_co_occurrence_rate(counts, label_prior, strength)),
        np.log(_boundary_rate(first, label_prior, strength)),
        np.log(_boundary_rate(last, label_prior, strength)),
    )


def _co_occurrence_rate(counts: np.ndarray, label_prior: np.ndarray, strength: float):
    # Marginals of the same pairs, so that numerator and denominator count the same tokens.
    before = (counts.sum(axis=1) + label_prior) / (counts.sum() + 1.0)
    after = (counts.sum(axis=0) + label_prior) / (counts.sum() + 1.0)

    def rate(counts, p):
        kept = 0.5 * strength * (counts > 0).sum(axis=1, keepdims=True) + TINY
        return (counts / p + kept) / (counts.sum(axis=1, keepdims=True) + kept)

    return 0.5 * (rate(counts, after) + rate(counts.T, before).T)


def _boundary_rate(counts: np.ndarray, label_prior: np.ndarray, strength: float) -> np.ndarray:
    kept = 0.5 * strength + TINY
    return (counts / label_prior + kept) / (counts.sum() + kept)
