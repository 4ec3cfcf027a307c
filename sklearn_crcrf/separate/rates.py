"""Co-occurrence rates of the labels of linked nodes, counted where both labels are known."""

import numpy as np

from ..counts.co_occurrence import co_occurrence_rates
from ..structures import Graph, Scores, Structure

__all__ = ["count_pairs", "expected_pairs", "log_rates"]


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


def log_rates(pairs: np.ndarray, prior: np.ndarray, sigma: float) -> np.ndarray:
    """Logarithms of smoothed co-occurrence rates ([ECRN] eq. 3), (n_labels, n_labels).

    Parameters
    ----------
    pairs : ndarray of shape (n_labels, n_labels)
    prior : ndarray of shape (n_labels,)
        Positive label probabilities.
    sigma : float
        Width of the prior.
    """
    return np.log(co_occurrence_rates(pairs, prior, sigma**-2.0))


def _undirected(structure: Structure, pairs: np.ndarray) -> np.ndarray:
    return (pairs + pairs.T) / 2 if isinstance(structure, Graph) else pairs
