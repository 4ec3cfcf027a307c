"""Rounds of induction: what is chosen, given the marginals of the present model."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...utils.searching import places_in
from .conjunctions import Conjunctions, selected
from .gains import ColumnSums, LabelledTokens, Sums, gain, least_difference
from .proposals import with_proposals

# By how much a conjunction must be better than both columns that it joins.
BETTER = 1.5
# Expected counts that differ by no more than this part of a column's total are the same.
SAME = 1e-4


class Scored(NamedTuple):
    """Candidates: pairs of column and label, with what speaks for them.

    Parameters
    ----------
    columns, labels : ndarray of shape (n_candidates,)
        Sorted by column, then by label.
    sums : Sums
    scores : ndarray of shape (n_candidates,)
        The better, the higher.
    """

    columns: np.ndarray
    labels: np.ndarray
    sums: Sums
    scores: np.ndarray

    def take(self, chosen: np.ndarray) -> "Scored":
        """Return some of the candidates."""
        sums = Sums(*(values[chosen] for values in self.sums))
        return Scored(self.columns[chosen], self.labels[chosen], sums, self.scores[chosen])


class Rule(NamedTuple):
    """What candidates there are, and when they are chosen.

    Parameters
    ----------
    max_order : int
        Most attributes of a conjunction.
    max_proba : float
        Conjunctions are made where the marginal of the known label is at most this.
    min_freq : int
        The least number of tokens of a column.
    by_gradient : bool
        Whether candidates are ranked by their gradient, not by their gain.
    least : float
        The score must be larger.
    sigma, c1 : float
        Of the model's penalty.
    """

    max_order: int
    max_proba: float
    min_freq: int
    by_gradient: bool
    least: float
    sigma: float
    c1: float

    @property
    def least_difference(self) -> float:
        """What observed and expected counts of a candidate must at least differ by."""
        if self.by_gradient:
            return self.c1 + self.least
        return least_difference(self.least, self.sigma, self.c1)

    def scores(self, sums: Sums, orders: np.ndarray) -> np.ndarray:
        """Return what the gradients of candidates exceed c1 by, or their gains by attribute.

        There are the more conjunctions, the longer they are, so the more of them gain by chance:
        gains are divided by ``orders``, the number of attributes of the column of each candidate.
        """
        if self.by_gradient:
            return np.abs(sums.difference) - self.c1
        return gain(sums, self.sigma, self.c1)[0] / orders


class Induction:
    """The features chosen so far, and the columns that they need.

    Parameters
    ----------
    tokens : LabelledTokens
    rule : Rule

    Attributes
    ----------
    conjunctions : Conjunctions
        All conjunctions that were chosen.
    columns : ndarray of int
        The columns of the model: attributes and conjunctions, in the order they were chosen.
    matrix : CSR of shape (n_tokens, n_columns)
        The values of these columns.
    places, labels, scores, rounds : ndarray of shape (n_features,)
        Of each feature its place in ``columns``, its label id, its score when it was chosen, and
        the round.
    """

    def __init__(self, tokens: LabelledTokens, rule: Rule):
        self._tokens, self._rule = tokens, rule
        n_attributes = tokens.X.shape[1]
        self._of_attributes = ColumnSums(tokens.X, np.arange(n_attributes), tokens, rule.min_freq)
        self.conjunctions = Conjunctions.none(n_attributes)
        self.columns = np.empty(0, dtype=np.int64)
        self.matrix = sp.csr_array((tokens.X.shape[0], 0), dtype=tokens.X.dtype)
        self.places = self.labels = self.rounds = np.empty(0, dtype=np.int64)
        self.scores = np.empty(0)
        self._n_rounds = 0

    @property
    def pairs(self) -> sp.csr_array:
        """The features: a CSR of shape (n_columns, n_labels) with their scores."""
        shape = len(self.columns), self._tokens.n_labels
        return sp.csr_array((self.scores, (self.places, self.labels)), shape=shape)

    def label_frequencies(self) -> np.ndarray:
        """Marginals without any feature: how frequent labels are, for every token."""
        y, weight, n = self._tokens.y, self._tokens.weight, self._tokens.n_labels
        known = y >= 0
        frequency = np.bincount(y[known], weights=weight[known], minlength=n)
        return np.tile(frequency / frequency.sum(), (len(y), 1))

    def grow(self, proba: np.ndarray, most: int) -> bool:
        """Choose more features.

        Parameters
        ----------
        proba : ndarray of shape (n_tokens, n_labels)
            Marginals of the present model.
        most : int
            The largest number of features to choose.

        Returns
        -------
        bool
            Whether any was chosen.
        """
        proba = np.ascontiguousarray(proba, dtype=self._tokens.X.dtype)
        candidates = self._proposed(proba)
        parts = candidates.parts(self._tokens.X)
        of_conjunctions = (
            ColumnSums(*part, self._tokens, self._rule.min_freq) for part in parts[1:]
        )
        sums = [self._of_attributes, *of_conjunctions]
        found = self._scored(sums, proba, candidates.orders())
        chosen = best(found, candidates, self._tokens.n_labels, most)
        self._add(chosen, candidates, parts)
        return len(chosen.columns) > 0

    def _proposed(self, proba: np.ndarray) -> Conjunctions:
        """Return the conjunctions so far, and new ones where known labels are unlikely."""
        X, y, weight, _ = self._tokens
        if self._rule.max_order < 2:
            return self.conjunctions
        likely = proba[np.arange(len(y)), y]
        where = np.flatnonzero((weight > 0) & (likely <= self._rule.max_proba))
        missing = weight[where] * (1.0 - likely[where])
        columns = self.conjunctions.columns(X[where])
        least = self._rule.least_difference
        return with_proposals(self.conjunctions, columns, missing, least, self._rule.max_order)

    def _scored(self, sums: list[ColumnSums], proba: np.ndarray, orders: np.ndarray) -> Scored:
        """Return all candidates whose scores suffice, without features chosen before."""
        found = [each.pairs(proba, self._rule.least_difference) for each in sums]
        columns, labels = (np.concatenate([each[k] for each in found]) for k in (0, 1))
        joined = Sums(*map(np.concatenate, zip(*(each[2] for each in found), strict=True)))
        scored = Scored(columns, labels, joined, self._rule.scores(joined, orders[columns]))
        n = self._tokens.n_labels
        codes, known = columns * n + labels, self.columns[self.places] * n + self.labels
        is_new = ~np.isin(codes, known)
        kept = np.flatnonzero(is_new & (scored.scores > self._rule.least))
        return scored.take(kept[np.argsort(codes[kept])])

    def _add(self, chosen: Scored, candidates: Conjunctions, parts: list) -> None:
        """Add features, and the columns that they need."""
        known = self.conjunctions
        new = np.unique(chosen.columns[chosen.columns >= known.n_columns])
        at = new - known.n_attributes
        self.conjunctions = known.joined_with(candidates.parent[at], candidates.last[at])
        # Conjunctions that were not chosen are forgotten, so the new ones have other numbers.
        number = np.arange(candidates.n_columns)
        number[new] = known.n_columns + np.arange(len(new))
        columns = number[chosen.columns]
        given = np.unique(chosen.columns)
        added = given[~np.isin(number[given], self.columns)]
        matrix = selected(parts, added)
        self.matrix = sp.csr_array(sp.hstack([self.matrix, matrix], format="csr"))
        self.columns = np.concatenate([self.columns, number[added]])
        place = np.zeros(self.conjunctions.n_columns, dtype=np.int64)
        place[self.columns] = np.arange(len(self.columns))
        self.places = np.concatenate([self.places, place[columns]])
        self.labels = np.concatenate([self.labels, chosen.labels])
        self.scores = np.concatenate([self.scores, chosen.scores])
        self.rounds = np.append(self.rounds, np.full(len(columns), self._n_rounds))
        self._n_rounds += 1


def round_sizes(max_features: int, n_rounds: int) -> list[int]:
    """Return the most features of each round: they double, and sum to ``max_features``.

    There are fewer rounds if the first ones would have no feature.

    Parameters
    ----------
    max_features, n_rounds : int

    Returns
    -------
    list of int

    Examples
    --------
    >>> from sklearn_crcrf.estimators.induction.rounds import round_sizes
    >>> round_sizes(700, 3)
    [100, 200, 400]
    """
    ends = [max_features * (2**k - 1) // (2**n_rounds - 1) for k in range(n_rounds + 1)]
    return [stop - start for start, stop in pairwise(ends) if stop > start]


def best(found: Scored, conjunctions: Conjunctions, n_labels: int, most: int) -> Scored:
    """Return the best candidates, without those that others make needless for now.

    Features that are chosen together do not know of each other. So a conjunction waits for a
    later round unless it is clearly better than both columns that it joins, for the same label;
    and of columns that have the same sums, mostly because they are equal, one is enough.

    Parameters
    ----------
    found : Scored
    conjunctions : Conjunctions
    n_labels : int
    most : int
        The largest number of candidates to return.

    Returns
    -------
    Scored
        Best first.
    """
    found = found.take(~_wait_for_parts(found, conjunctions, n_labels))
    found = found.take(~_repeat_another(found, conjunctions.orders()))
    return found.take(np.argsort(-found.scores, kind="stable")[:most])


def _wait_for_parts(found: Scored, conjunctions: Conjunctions, n_labels: int) -> np.ndarray:
    """Return which candidates are conjunctions that are not clearly better than what they join."""
    codes = found.columns * n_labels + found.labels
    wait = np.zeros(len(codes), dtype=bool)
    joins = np.flatnonzero(found.columns >= conjunctions.n_attributes)
    at = found.columns[joins] - conjunctions.n_attributes
    for part in (conjunctions.parent[at], conjunctions.last[at]):
        wanted = part.astype(np.int64) * n_labels + found.labels[joins]
        rival = np.append(found.scores, 0.0)[places_in(codes, wanted)]
        wait[joins] |= found.scores[joins] <= BETTER * rival
    return wait


def _repeat_another(found: Scored, orders: np.ndarray) -> np.ndarray:
    """Return which candidates have the same sums as one of as few attributes, or fewer."""
    observed, expected, _, total, _ = found.sums
    order = orders[found.columns]
    rising = np.lexsort((order, expected, observed, total, found.labels))
    same = np.ones(max(len(rising) - 1, 0), dtype=bool)
    for values, tolerance in (
        (found.labels, 0.0),
        (total, 0.0),
        (observed, 0.0),
        (expected, SAME * total[rising][1:]),
    ):
        same &= np.diff(values[rising]) <= tolerance
    repeats = np.zeros(len(rising), dtype=bool)
    repeats[rising[1:]] = same
    return repeats
