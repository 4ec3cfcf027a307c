"""Co-occurrence rates of the labels of linked nodes, counted where both labels are known."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...counts.co_occurrence import smoothed_rates
from ...counts.prepared import with_tables
from ...data.ragged import joined_ranges
from ...structures import Scores, Structure

# A scaling that changes by less is done; near-diagonal rates take many rounds.
TOLERANCE, MAX_ROUNDS = 1e-10, 1000
# Added to each mean belief, so that none is zero.
SMALL = 1e-3
# Common rates count as much as this number of links of each type, or with a direction.
STRENGTH = 10.0
# With fewer pairs of known labels than this, for each pair of labels, rates are estimated again.
FEW_PAIRS, N_ROUNDS = 10, 2
# Keeps unsmoothed rates above zero.
TINY = np.finfo(float).tiny


class TypedLinks(NamedTuple):
    """The links of a structure, and their types.

    Parameters
    ----------
    structure : Structure
    kind : ndarray of shape (n_links,), int64
        The type of each link, counted from 1; 0 for a type that is not known.
    n_types : int
    """

    structure: Structure
    kind: np.ndarray
    n_types: int

    def take(self, units: np.ndarray) -> "tuple[TypedLinks, np.ndarray, np.ndarray]":
        """Return the links of some of the units.

        Parameters
        ----------
        units : ndarray of int

        Returns
        -------
        links : TypedLinks
        tokens, numbers : ndarray of int
            The tokens of these units, and the number of each of their links, among all.
        """
        offsets, structure = self.structure.offsets, self.structure.take(units)
        starts = offsets[units]
        tokens = joined_ranges(starts, offsets[units + 1] - starts)
        is_taken = np.zeros(int(offsets[-1]), dtype=bool)
        is_taken[tokens] = True
        first, second = self.structure.links()
        ours = np.lexsort((second, first))
        ours = ours[is_taken[first[ours]]]
        of_units = [tokens[ends] for ends in structure.links()]
        numbers = np.empty_like(ours)
        numbers[np.lexsort(of_units[::-1])] = ours
        return TypedLinks(structure, self.kind[numbers], self.n_types), tokens, numbers

    def row(self) -> np.ndarray:
        """Return the table of each row of token transitions, -1 where it is of no link."""
        row = np.full(self.structure.n_rows, -1)
        row[self.structure.rows_of_links()] = self.kind
        return row

    def count_pairs(self, ids: np.ndarray, n_labels: int) -> np.ndarray:
        """Return how often two known labels are linked.

        Parameters
        ----------
        ids : ndarray of shape (n_tokens,)
            Label ids, -1 for an unknown label.
        n_labels : int

        Returns
        -------
        ndarray of shape (1 + n_types, n_labels, n_labels), row = label of the first end
        """
        first, second = (ids[ends] for ends in self.structure.links())
        known = (first >= 0) & (second >= 0)
        pairs = np.zeros((1 + self.n_types, n_labels, n_labels))
        np.add.at(pairs, (self.kind[known], first[known], second[known]), 1.0)
        return pairs

    def expected_pairs(self, scores: Scores) -> np.ndarray:
        """Return how often two labels are linked in expectation, shaped as :meth:`count_pairs`."""
        structure, n = self.structure, len(scores.transition)
        _, gradient = structure.log_partition_and_gradient(scores, np.ones(structure.n_units))
        if self.n_types == 0:
            return gradient.transition[None]
        return gradient.token_transitions.reshape(-1, n, n).transpose(0, 2, 1)

    def beliefs_at_ends(self, beliefs: np.ndarray) -> np.ndarray:
        """Sums of the beliefs at the first and at the second ends of the links of each type.

        Parameters
        ----------
        beliefs : ndarray of shape (n_tokens, n_labels)
            What is known of the label of each node: probabilities.

        Returns
        -------
        ndarray of shape (2, 1 + n_types, n_labels)
        """
        n_links = len(self.kind)
        entries = np.ones(n_links), (self.kind, np.arange(n_links))
        by_type = sp.csr_array(entries, shape=(1 + self.n_types, n_links))
        return np.array([by_type @ beliefs[ends] for ends in self.structure.links()])


class LinkRates(NamedTuple):
    """Logarithms of the rates of the labels of linked nodes.

    Parameters
    ----------
    common : ndarray of shape (n_labels, n_labels), row = label of the first end
        The rates of all links.
    typed : ndarray of shape (n_types, n_labels, n_labels)
        The rates of each type of links.
    """

    common: np.ndarray
    typed: np.ndarray

    @classmethod
    def of(
        cls,
        pairs: np.ndarray,
        ends: np.ndarray,
        sigma: float,
        is_symmetric: bool,
        is_directed: bool,
    ) -> "LinkRates":
        """Smoothed rates.

        The rates of a type are smoothed towards the common rates. In a graph, where one direction
        may mean nothing, rates with a direction are smoothed towards the symmetric rates.

        Parameters
        ----------
        pairs : ndarray of shape (1 + n_types, n_labels, n_labels)
            How often labels are linked, by the type of the link.
        ends : ndarray of shape (2, 1 + n_types, n_labels)
            Sums of the beliefs at the ends of these links.
        sigma : float
            Width of the priors.
        is_symmetric : bool
            Whether to count each link in both directions.
        is_directed : bool
            Whether the links of the structure are directed anyway.

        Returns
        -------
        LinkRates
        """
        both = (pairs + pairs.transpose(0, 2, 1)) / 2, np.broadcast_to(ends.sum(axis=0), ends.shape)
        counted, at_ends = both if is_symmetric else (pairs, ends)
        broader = (pairs, ends) if is_directed else both
        all_pairs, all_ends = counted.sum(axis=0), _distributions(at_ends.sum(axis=1))
        common = log_rates(broader[0].sum(axis=0), _distributions(broader[1].sum(axis=1)), sigma)
        if not is_symmetric and not is_directed:
            common = narrower_log_rates(all_pairs, all_ends, sigma, common)
        typed = [
            narrower_log_rates(counted[k], _distributions(at_ends[:, k]), sigma, common)
            for k in range(1, len(pairs))
        ]
        return cls(common, np.array(typed).reshape(-1, *common.shape))

    @classmethod
    def estimated(
        cls,
        collect: Callable[..., Any],
        exponents: Sequence[float],
        sigma: float,
        is_symmetric: bool,
        is_directed: bool,
    ) -> "list[LinkRates]":
        """Rates for each exponent, counted where labels are known, and if these are few, expected.

        Parameters
        ----------
        collect : callable
            Takes a method of :class:`LinkEvidence` and its arguments, and returns what it returns
            for all links: sums over their parts.
        exponents : sequence of float
        sigma, is_symmetric, is_directed : as in :meth:`of`
        """
        how = sigma, is_symmetric, is_directed
        pairs, ends, n_unknown = collect(LinkEvidence.counts)
        all_rates = [cls.of(pairs, ends, *how)] * len(exponents)
        if n_unknown == 0 or pairs.sum() >= FEW_PAIRS * pairs[0].size:
            return all_rates
        for _ in range(N_ROUNDS):
            expected = collect(LinkEvidence.expected_pairs, all_rates, exponents)
            all_rates = [
                rates if exponent == 0 else cls.of(pairs, ends, *how)
                for rates, exponent, pairs in zip(all_rates, exponents, expected, strict=True)
            ]
        return all_rates

    def scores(self, state: np.ndarray, exponent: float, row: np.ndarray) -> Scores:
        """Scores with the rates to a power.

        Parameters
        ----------
        state : ndarray of shape (n_tokens, n_labels)
        exponent : float
        row : ndarray of shape (n_rows,), int64
            The table of each row of token transitions, as of :meth:`TypedLinks.row`.
        """
        scores = Scores.of(state, exponent * self.common)
        if len(self.typed) == 0:
            return scores
        tables = exponent * np.array([self.common, *self.typed])
        return with_tables(scores, row, tables)


class LinkEvidence(NamedTuple):
    """What rates are estimated from, of all links or of a part.

    Parameters
    ----------
    links : TypedLinks
    ids : ndarray of shape (n_tokens,)
        Label ids, -1 for an unknown label.
    state : ndarray of shape (n_tokens, n_labels)
        Log-probabilities of the labels by the attributes, of the tokens with an unknown label.
    """

    links: TypedLinks
    ids: np.ndarray
    state: np.ndarray

    def rates(
        self, exponents: Sequence[float], sigma: float, is_symmetric: bool
    ) -> list[LinkRates]:
        """Return the rates for each exponent, if these are all links."""
        how = sigma, is_symmetric, self.links.structure.is_directed
        return LinkRates.estimated(lambda method, *args: method(self, *args), exponents, *how)

    def counts(self) -> list[np.ndarray]:
        """Return the pairs of known labels, beliefs at the ends, and how many labels to expect."""
        n, structure = self.state.shape[1], self.links.structure
        unknown = self.ids < 0
        beliefs = np.where(unknown[:, None], np.exp(self.state), labels_left(self.ids, n))
        n_unknown = np.array(unknown.sum() if structure.can("log_partition") else 0)
        pairs = self.links.count_pairs(self.ids, n)
        return [pairs, self.links.beliefs_at_ends(beliefs), n_unknown]

    def expected_pairs(
        self, all_rates: Sequence[LinkRates], exponents: Sequence[float]
    ) -> list[np.ndarray]:
        """Return how often labels are linked in expectation, for each exponent above 0."""
        given, row = labels_left(self.ids, self.state.shape[1]), self.links.row()
        scores = (
            rates.scores(self.state, exponent, row).allow(given)
            for rates, exponent in zip(all_rates, exponents, strict=True)
        )
        return [
            self.links.expected_pairs(of_exponent) if exponent else np.zeros(1)
            for of_exponent, exponent in zip(scores, exponents, strict=True)
        ]


def labels_left(ids: np.ndarray, n_labels: int) -> np.ndarray:
    """Return which labels each token may have, (n_tokens, n_labels): all if none is known."""
    return (ids < 0)[:, None] | (ids[:, None] == np.arange(n_labels))


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
    return _scaled(smoothed_rates(pairs, marginals[0], sigma**-2.0), marginals)


def narrower_log_rates(
    pairs: np.ndarray, marginals: tuple[np.ndarray, np.ndarray], sigma: float, broader: np.ndarray
) -> np.ndarray:
    """Logarithms of rates of some links, smoothed towards the rates of more links.

    With the label frequencies p and p' at the ends of N links, c pairs and a prior of k links,
    the rate is ``(c(i, j) / (p(i) p'(j)) + k broader(i, j)) / (N + k)``, scaled as
    :func:`log_rates`.

    Parameters
    ----------
    pairs, marginals, sigma : as in :func:`log_rates`
    broader : ndarray of shape (n_labels, n_labels)
        Logarithms of the broader rates.

    Returns
    -------
    ndarray of shape (n_labels, n_labels)
    """
    first, second = marginals
    total, kept = pairs.sum(), STRENGTH * sigma**-2.0 + TINY
    before, after = (pairs.sum(axis=1) + first), (pairs.sum(axis=0) + second)
    independent = np.outer(before, after) / (total + 1.0) ** 2
    rates = (pairs / independent + kept * np.exp(broader)) / (total + kept)
    return _scaled(rates, marginals)


def _scaled(rates: np.ndarray, marginals: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Logarithms of rates, whose rows and columns are scaled until the mean rate is 1."""
    first, second = marginals
    row_factor = column_factor = np.ones(len(rates))
    for _ in range(MAX_ROUNDS):
        before, row_factor = row_factor, 1.0 / (rates @ (column_factor * second))
        column_factor = 1.0 / ((row_factor * first) @ rates)
        if np.abs(row_factor / before - 1.0).max() < TOLERANCE:
            break
    return np.log(row_factor[:, None] * rates * column_factor)


def _distributions(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive label distributions of the first and of the second ends, from sums of beliefs."""
    first, second = (total / max(total.sum(), 1.0) + SMALL for total in ends)
    return first / first.sum(), second / second.sum()
