"""Smoothed co-occurrence rates of linked labels, and of labels with the ends of a sequence."""

import numpy as np

# Keeps unsmoothed rates above zero, and makes them 1 where nothing was counted.
TINY = np.finfo(float).tiny


def co_occurrence_rates(counts: np.ndarray, label_prior: np.ndarray, strength: float) -> np.ndarray:
    """Rates p(i, j) / (p(i) p(j)) with Witten-Bell smoothing towards 1, in both directions.

    The more different labels follow a label, the more probability is left to unseen successors:
    p(j | i) = (c(i, j) + d_i p(j)) / (c(i) + d_i) with d_i half the number of labels seen after
    i. The rate is the mean of p(j | i) / p(j) and p(i | j) / p(i).

    Parameters
    ----------
    counts : ndarray of shape (n_labels, n_labels), row = previous label
        How often two labels are linked. Symmetric counts have symmetric rates.
    label_prior : ndarray of shape (n_labels,)
        Positive probabilities, added to the marginal counts.
    strength : float
        Multiplies d_i.

    Returns
    -------
    ndarray of shape (n_labels, n_labels)
        Positive; 1 where nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> counts, label_prior = np.array([[8.0, 2.0], [2.0, 8.0]]), np.array([0.5, 0.5])
    >>> co_occurrence_rates(counts, label_prior, 1.0).round(2)
    array([[1.55, 0.45],
           [0.45, 1.55]])
    """
    # Marginals of the same pairs, so that numerator and denominator count the same tokens.
    before = (counts.sum(axis=1) + label_prior) / (counts.sum() + 1.0)
    after = (counts.sum(axis=0) + label_prior) / (counts.sum() + 1.0)

    def rate(counts, p):
        kept = 0.5 * strength * (counts > 0).sum(axis=1, keepdims=True) + TINY
        return (counts / p + kept) / (counts.sum(axis=1, keepdims=True) + kept)

    return 0.5 * (rate(counts, after) + rate(counts.T, before).T)


def boundary_rates(counts: np.ndarray, label_prior: np.ndarray, strength: float) -> np.ndarray:
    """Rates of labels with one end of a sequence, smoothed towards 1.

    Parameters
    ----------
    counts : ndarray of shape (n_labels,)
        How often each label is at this end.
    label_prior : ndarray of shape (n_labels,)
        Positive probabilities.
    strength : float
        Half of it is the number of observations that the prior counts for.

    Returns
    -------
    ndarray of shape (n_labels,)

    Examples
    --------
    >>> import numpy as np
    >>> boundary_rates(np.array([3.0, 0.0]), np.array([0.5, 0.5]), 2.0)
    array([1.75, 0.25])
    """
    kept = 0.5 * strength + TINY
    return (counts / label_prior + kept) / (counts.sum() + kept)
