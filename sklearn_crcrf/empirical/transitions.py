"""Co-occurrence rates of neighbouring labels, and of labels with the ends of a sequence."""

from typing import NamedTuple

import numpy as np

from ..counts import BOUNDARY, Table, Template
from ..counts.co_occurrence import boundary_rates, co_occurrence_rates
from ..counts.tables import aggregate

__all__ = ["LABEL_PAIRS", "Transitions", "label_transitions", "undirected"]

LABEL_PAIRS = Template((), (-1, 0))
"""The template of the labels of links."""


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
    """Rates of label bigrams, and of first and last labels, smoothed towards independence.

    Parameters
    ----------
    pairs : Table
        Events end in (previous label, label); BOUNDARY is before the first token.
    ends : Table
        Events are (next symbol, label); BOUNDARY is after the last token.
    label_prior : ndarray of shape (n_labels,)
    strength : float
        As in :func:`~sklearn_crcrf.counts.co_occurrence.co_occurrence_rates`.

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
        np.log(co_occurrence_rates(counts, label_prior, strength)),
        np.log(boundary_rates(first, label_prior, strength)),
        np.log(boundary_rates(last, label_prior, strength)),
    )


def undirected(pairs: Table) -> Table:
    """The counts of links that have no direction: each counts half in both.

    Parameters
    ----------
    pairs : Table
        Events end in (label, label); events of tokens without a link are left out.

    Returns
    -------
    Table
    """
    inner = pairs.events[:, -2] != BOUNDARY
    events, weights = pairs.events[inner], pairs.weights[inner] / 2
    both = np.concatenate([events, np.column_stack([events[:, :-2], events[:, :-3:-1]])])
    return aggregate(both.T, np.concatenate([weights, weights]), len(both))
