"""Co-occurrence rates of linked labels, also given the type of a link, and of labels at ends."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from ...counts import BOUNDARY, Table, Template
from ...counts.co_occurrence import boundary_rates, smoothed_rates
from ...counts.counts import aggregate
from ...counts.rows import Storable, association, pair_counts, place_rows, rows_at

# Least probability of counts of links, if their direction means nothing.
LEVEL = 0.001

# The common rates count as much as this number of links of each type.
TYPE_STRENGTH = 10.0

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


def label_transitions(
    pairs: np.ndarray, first: np.ndarray, last: np.ndarray, label_prior: np.ndarray, strength: float
) -> Transitions:
    """Rates of label bigrams, and of first and last labels, smoothed towards independence.

    Parameters
    ----------
    pairs : ndarray of shape (..., n_labels, n_labels), row = previous label
        How often two labels are linked.
    first, last : ndarray of shape (..., n_labels)
        The labels of tokens without a token before them, or after them.
    label_prior : ndarray of shape (..., n_labels)
    strength : float
        As in :func:`~sklearn_crcrf.counts.co_occurrence.smoothed_rates`.

    Returns
    -------
    Transitions
    """
    return Transitions(
        np.log(smoothed_rates(pairs, label_prior, strength)),
        np.log(boundary_rates(first, label_prior, strength)),
        np.log(boundary_rates(last, label_prior, strength)),
    )


def linked_labels(
    pairs: Table, ends: Table, n_labels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count pairs of linked labels, and the labels of tokens at both ends.

    Parameters
    ----------
    pairs : Table
        Events end in (previous label, label); BOUNDARY is before the first token.
    ends : Table
        Events are (next symbol, label); BOUNDARY is after the last token.
    n_labels : int

    Returns
    -------
    pairs : ndarray of shape (n_labels, n_labels), row = previous label
    first, last : ndarray of shape (n_labels,)
    """
    previous, current = pairs.events[:, -2], pairs.events[:, -1]
    inner = previous != BOUNDARY
    counts = np.zeros((n_labels, n_labels))
    np.add.at(counts, (previous[inner], current[inner]), pairs.weights[inner])
    first = np.bincount(current[~inner], pairs.weights[~inner], n_labels)
    at_end = ends.events[:, 0] == BOUNDARY
    last = np.bincount(ends.events[at_end, -1], ends.weights[at_end], n_labels)
    return counts, first, last


def have_direction(pairs: Table) -> bool:
    """Whether the label of the first end of a link tells more than that it is one of both ends.

    This is Bowker's test of symmetry [1]_, at a level of 0.001: whether label i precedes label j
    more often than the other way round, by more than chance would make it. If links have types, the
    statistics of all types are added.

    Parameters
    ----------
    pairs : Table
        Events are (label, label) or (type, label, label); events of tokens without a link are left
        out.

    References
    ----------
    .. [1] Bowker, "A Test for Symmetry in Contingency Tables", JASA 43 (244), 1948.

    Examples
    --------
    >>> events = np.array([[0, 1], [1, 0]], dtype=np.int32)
    >>> [have_direction(Table(events, np.array(weights))) for weights in ([9, 11], [0, 20])]
    [False, True]
    """
    events, weights = _of_links(pairs)
    different = events[:, -2] != events[:, -1]
    events, weights = events[different], weights[different]
    ordered = np.hstack([events[:, :-2], np.sort(events[:, -2:], axis=1)])
    _, pair = np.unique(ordered, axis=0, return_inverse=True)
    both = np.bincount(pair, weights)
    rising = np.bincount(pair, np.where(events[:, -2] < events[:, -1], weights, -weights))
    seen = both > 0
    statistic = (rising[seen] ** 2 / both[seen]).sum()
    return bool(seen.any() and chi2.sf(statistic, seen.sum()) < LEVEL)


def pairs_of_links(pairs: Table, is_directed: bool) -> Table:
    """Return the counts of the links of graphs; without a direction, each counts half in both.

    Parameters
    ----------
    pairs : Table
        Events end in (label, label); events of tokens without a link are left out.
    is_directed : bool

    Returns
    -------
    Table
    """
    events, weights = _of_links(pairs)
    if is_directed:
        return Table(events, weights)
    both = np.concatenate([events, np.column_stack([events[:, :-2], events[:, :-3:-1]])])
    return aggregate(both.T, np.concatenate([weights, weights]) / 2, len(both))


def _of_links(pairs: Table) -> Table:
    """Choose the events of tokens with a link into them."""
    inner = pairs.events[:, -2] != BOUNDARY
    return Table(pairs.events[inner], pairs.weights[inner])


class TypeRates(Storable):
    """How far the type of a link raises the scores of label pairs above the common rates.

    The prior of a pair is CR(i; j) p(i | type) p(j | type), with the common rate CR, so a rate of
    a type is smoothed towards the common rate. All probabilities of one rate are estimated on the
    same links ([ECRN] III-D).

    Parameters
    ----------
    pairs : Table
        Events are (type, label i, label j); label -1 is before a token without a link into it.
    n_types : int
    rate : ndarray of shape (n_labels, n_labels)
        The common rates.
    label_prior : ndarray of shape (n_labels,)
        The prior of p(label | type); counts as one link.
    strength : float
        Multiplies the strength of the prior, 10 links.

    Attributes
    ----------
    coef : CSR of shape (n_types, n_labels ** 2), not negative
        Column ``j * n_labels + i`` is for label i before label j.
    """

    def __init__(
        self, pairs: Table, n_types: int, rate: np.ndarray, label_prior: np.ndarray, strength: float
    ):
        n_labels = len(label_prior)
        index, counts = pair_counts(pairs, n_labels)
        kind = counts.repeat(np.arange(len(index)))
        current, previous = np.divmod(counts.indices, n_labels)
        prior = rate[previous, current]
        for labels in (previous, current):
            by_label = np.zeros((len(index), n_labels))
            np.add.at(by_label, (kind, labels), counts.data)
            by_label = (by_label + label_prior) / (by_label.sum(axis=1, keepdims=True) + 1.0)
            prior = prior * by_label[kind, labels]
        gains = association(counts, prior, TYPE_STRENGTH * strength)
        self.coef = place_rows(gains, index, n_types).csr()

    @classmethod
    def of_rows(cls, coef: sp.csr_array) -> "TypeRates":
        """Return rates whose ``coef`` is known."""
        rates = cls.__new__(cls)
        rates.coef = coef
        return rates

    def gains(self, types: np.ndarray) -> sp.csr_array:
        """Return the rows of ``coef`` of these types, empty rows for types below 0."""
        return rows_at(self.coef, types)
