"""Co-occurrence rates of the labels of linked nodes, counted where both labels are known."""

import numpy as np

from ..counts.co_occurrence import co_occurrence_rates
from ..structures import Scores, Structure

__all__ = ["count_pairs", "end_marginals", "expected_pairs", "log_rates"]

# A scaling that changes by less is done; near-diagonal rates take many rounds.
TOLERANCE, MAX_ROUNDS = 1e-10, 1000
# Added to each mean belief, so that none is zero.
SMALL = 1e-3


def count_pairs(structure: Structure, ids: np.ndarray, n_labels: int) -> np.ndarray:
    """How often two known labels are linked.

    Parameters
    ----------
    structure : Structure
    ids : ndarray of shape (n_tokens,)
        Label ids, -1 for an unknown label.
    n_labels : int

    Returns
    -------
    ndarray of shape (n_labels, n_labels), row = previous label
        Symmetric for graphs, whose links have no direction: each counts half in both.
    """
    previous, current = (ids[ends] for ends in structure.links())
    known = (previous >= 0) & (current >= 0)
    pairs = np.zeros((n_labels, n_labels))
    np.add.at(pairs, (previous[known], current[known]), 1.0)
    return _undirected(structure, pairs)


def expected_pairs(structure: Structure, scores: Scores) -> np.ndarray:
    """How often two labels are linked in expectation, of shape (n_labels, n_labels)."""
    _, gradient = structure.log_partition_and_gradient(scores, np.ones(structure.n_units))
    return _undirected(structure, gradient.transition)


def end_marginals(structure: Structure, beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean beliefs at the first and at the second ends of links, each (n_labels,).

    Parameters
    ----------
    structure : Structure
    beliefs : ndarray of shape (n_tokens, n_labels)
        What is known of the label of each node: probabilities.
    """
    totals = [beliefs[ends].sum(axis=0) for ends in structure.links()]
    if not structure.is_directed:
        totals = [sum(totals)] * 2
    first, second = (t / max(t.sum(), 1.0) + SMALL for t in totals)
    return first / first.sum(), second / second.sum()


def log_rates(
    pairs: np.ndarray, marginals: tuple[np.ndarray, np.ndarray], sigma: float
) -> np.ndarray:
    """Logarithms of smoothed co-occurrence rates ([ECRN] eq. 3), (n_labels, n_labels).

    Rows and columns are scaled by iterative proportional fitting [1]_ until the mean rate is 1,

        sum_j rate(i, j) second(j) = 1 = sum_j first(j) rate(j, i)    for each label i,

    so a neighbour of which no more is known than the mean belief says nothing. For the marginals of
    the pairs themselves these are the rates p(i, j) / (p(i) p(j)). Without the scaling, labels that
    are rarer at the ends of counted links than elsewhere would win with every link.

    Parameters
    ----------
    pairs : ndarray of shape (n_labels, n_labels)
    marginals : pair of ndarrays of shape (n_labels,)
        Label distributions of the first and of the second ends of links; positive.
    sigma : float
        Width of the prior.

    References
    ----------
    .. [1] Deming, Stephan, "On a Least Squares Adjustment of a Sampled Frequency Table When the
       Expected Marginal Totals are Known", Annals of Mathematical Statistics 11 (1940).

    Examples
    --------
    >>> pairs, half = np.array([[8.0, 2.0], [2.0, 8.0]]), np.full(2, 0.5)
    >>> np.exp(log_rates(pairs, (half, half), 1.0)).round(2)
    array([[1.55, 0.45],
           [0.45, 1.55]])
    """
    first, second = marginals
    rates = co_occurrence_rates(pairs, first, sigma**-2.0)
    of_row = of_column = np.ones(len(rates))
    for _ in range(MAX_ROUNDS):
        before, of_row = of_row, 1.0 / (rates @ (of_column * second))
        of_column = 1.0 / ((of_row * first) @ rates)
        if np.abs(of_row / before - 1.0).max() < TOLERANCE:
            break
    return np.log(of_row[:, None] * rates * of_column)


def _undirected(structure: Structure, pairs: np.ndarray) -> np.ndarray:
    return pairs if structure.is_directed else (pairs + pairs.T) / 2
