"""Labels of two linked tokens, by the attributes of both, and their co-occurrence rates."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...base.batches import Batch
from ...counts.prepared import PreparedLinks
from ...structures import Scores, Structure, TokenTransitions
from ...utils.searching import places_in
from .nodes import fit_classifier, log_probabilities
from .rates import LinkRates, TypedLinks
from .row_crf import RowCRF, Start

# The least share of the counted rate in the rate of a pair; accuracy is flat between 0.1 and 0.3.
# The counted rates are worth this number of links for each pair of labels.
LEAST_SHARE, LINKS_PER_PAIR = 0.2, 20.0


class PairAttributes(NamedTuple):
    """What a classifier of pairs sees: the attributes of both tokens, and those of the link.

    Parameters
    ----------
    tokens : CSR or ndarray of shape (n_tokens, n_attributes)
    edges : CSR of shape (n_links, n_edge_attributes)
    """

    tokens: Any
    edges: sp.csr_array

    @property
    def n_columns(self) -> int:
        """The number of attributes of a pair."""
        return 2 * self.tokens.shape[1] + self.edges.shape[1]

    def of(self, link: np.ndarray, first: np.ndarray, second: np.ndarray) -> Any:
        """Return a row for each link, given its number and its tokens."""
        parts = [self.tokens[first], self.tokens[second]]
        if self.edges.shape[1]:
            parts.append(self.edges[link].astype(self.tokens.dtype))
        if sp.issparse(self.tokens):
            return sp.csr_array(sp.hstack(parts, format="csr"))
        return np.hstack([part.toarray() if sp.issparse(part) else part for part in parts])


class PairClassifier(NamedTuple):
    """A classifier of the labels of two linked tokens.

    Parameters
    ----------
    estimator : classifier
        Its class k stands for the labels in row k of ``labels``.
    labels : ndarray of shape (n_pairs, 2)
        The pairs of label ids that occur.
    is_symmetric : bool
        Whether the order of the two tokens means nothing.
    share : float
        The share of the counted rates, in (0, 1), as :func:`share_of_counts` returns it.
    """

    estimator: Any
    labels: np.ndarray
    is_symmetric: bool
    share: float

    def log_probabilities(
        self, attributes: PairAttributes, link: np.ndarray, first: np.ndarray, second: np.ndarray
    ) -> np.ndarray:
        """Return log v(i, j | x, x') of links.

        Parameters
        ----------
        attributes : PairAttributes
        link, first, second : ndarray of int of shape (n_links,)
            The numbers of the links and of their tokens.

        Returns
        -------
        ndarray of shape (n_links, n_pairs)
        """
        n_pairs = len(self.labels)
        log_v = log_probabilities(self.estimator, attributes.of(link, first, second), n_pairs)
        if not self.is_symmetric:
            return log_v
        swapped = attributes.of(link, second, first)
        reverse = np.lexsort(self.labels.T)  # labels are in order, so this exchanges i and j
        other = log_probabilities(self.estimator, swapped, n_pairs)[:, reverse]
        return np.logaddexp(log_v, other) - np.log(2.0)

    def scores(
        self,
        state: np.ndarray,
        rates: LinkRates,
        exponent: float,
        structure: Structure,
        kind: np.ndarray,
        log_v: np.ndarray,
    ) -> Scores:
        r"""Return scores with the rates of pairs to a power.

        The rate of labels i and j at a link is a mixture of the classifiers' rate and the counted
        rate r(i, j), which alone is left for labels that do not occur together:

            CR(i, j | x, x') = (1 - share) v(i, j | x, x') / (u(i | x) u(j | x')) + share r(i, j).

        Parameters
        ----------
        state : ndarray of shape (n_tokens, n_labels)
            log u(i | x).
        rates : LinkRates
        exponent : float
        structure : Structure
        kind : ndarray of shape (n_links,)
            The types of the links, as in :class:`TypedLinks`.
        log_v : ndarray of shape (n_links, n_pairs)
        """
        (first, second), (i, j) = structure.links(), self.labels.T
        n_links, n = len(first), state.shape[1]
        tables = np.log(self.share) + np.array([rates.common, *rates.typed])
        common = tables.min(axis=0)
        log_rate = log_v - state[first][:, i] - state[second][:, j] + np.log1p(-self.share)
        if len(tables) == 1:
            # Labels that do not occur together have the common transition score.
            values = np.logaddexp(log_rate, common[i, j])
            order = np.argsort(j * n + i)
            previous, current, values = i[order], j[order], values[:, order]
        else:
            values = tables.transpose(0, 2, 1).reshape(len(tables), n * n)[kind]
            values[:, j * n + i] = np.logaddexp(values[:, j * n + i], log_rate)
            current, previous = np.divmod(np.arange(n * n), n)
        row = np.full(structure.n_rows, -1)
        row[structure.rows_of_links()] = np.arange(n_links)
        transitions = TokenTransitions(
            row,
            np.arange(n_links + 1, dtype=np.int64) * len(previous),
            np.tile(previous.astype(np.int32), n_links),
            np.tile(current.astype(np.int32), n_links),
            exponent * values.reshape(-1),
        )
        scores = Scores.of(state, exponent * common)
        return scores._replace(token_transitions=transitions)


class LinkedScores:
    """The scores of tokens and links, for one batch after another.

    Parameters
    ----------
    pairs : PairClassifier or None
        None for counted rates alone.
    state : ndarray of shape (n_tokens, n_labels)
        log u(i | x).
    links : TypedLinks
    attributes : PairAttributes
    tokens, numbers : ndarray of int, optional
        Which of the tokens and links of ``attributes`` these are; by default all.
    """

    def __init__(
        self,
        pairs: PairClassifier | None,
        state: np.ndarray,
        links: TypedLinks,
        attributes: PairAttributes,
        tokens: np.ndarray | None = None,
        numbers: np.ndarray | None = None,
    ):
        every, self._n_types = np.arange(len(links.kind)), links.n_types
        self._pairs, self._state, self._attributes = pairs, state, attributes
        self._tokens = np.arange(len(state)) if tokens is None else tokens
        self._numbers = every if numbers is None else numbers
        self._links = PreparedLinks.of(links.structure, [every], links.kind)

    @property
    def scores_per_token(self) -> int:
        """About how many scores a token has."""
        n_pairs = 0 if self._pairs is None else len(self._pairs.labels)
        return scores_per_token(self._state.shape[1], n_pairs, 1 + self._n_types)

    def scores(
        self, batch: Batch, rates: Sequence[LinkRates], exponents: Sequence[float]
    ) -> Iterator[Scores]:
        """Yield the scores of a batch for each exponent, and the counted rates that belong to it.

        Parameters
        ----------
        batch : Batch
        rates : sequence of LinkRates
        exponents : sequence of float
        """
        state, structure = self._state[batch.start : batch.stop], batch.structure
        links, pairs = self._links.take(batch), self._pairs
        if pairs is None:
            for counted, exponent in zip(rates, exponents, strict=True):
                yield counted.scores(state, exponent, links.types)
            return
        first, second = (self._tokens[batch.start + ends] for ends in structure.links())
        rows = structure.rows_of_links()
        number, kind = self._numbers[links.edges[rows, 0]], links.types[rows]
        log_v = pairs.log_probabilities(self._attributes, number, first, second)
        for counted, exponent in zip(rates, exponents, strict=True):
            yield pairs.scores(state, counted, exponent, structure, kind, log_v)


def fit_pairs(
    estimator: Any,
    attributes: PairAttributes,
    links: TypedLinks,
    ids: np.ndarray,
    weights: np.ndarray,
    is_symmetric: bool,
    start: Callable[[np.ndarray], Start | None],
    n_threads: int | None = None,
) -> PairClassifier | None:
    """Train a classifier of pairs on the links whose two labels are known.

    Parameters
    ----------
    estimator : classifier
    attributes : PairAttributes
    links : TypedLinks
    ids : ndarray of shape (n_tokens,)
        Label ids, -1 for an unknown label.
    weights : ndarray of shape (n_tokens,)
    is_symmetric : bool
        Whether each link counts in both orders, half in each.
    start : callable
        Returns what a ``RowCRF`` starts from, given the pairs of label ids that occur, as
        :func:`start_of_pairs`; called once the rows are ready.
    n_threads : int, optional
        For a ``RowCRF``.

    Returns
    -------
    PairClassifier or None
        None if fewer than two different pairs of labels occur.
    """
    first, second = links.structure.links()
    weight = (weights[first] + weights[second]) / 2
    link = np.flatnonzero((ids[first] >= 0) & (ids[second] >= 0) & (weight > 0))
    ends, weight = (first[link], second[link]), weight[link]
    if is_symmetric:
        ends = np.concatenate(ends), np.concatenate(ends[::-1])
        link, weight = np.tile(link, 2), np.tile(weight / 2, 2)
    n = int(ids.max(initial=0)) + 1
    pairs, y = np.unique(ids[ends[0]].astype(np.int64) * n + ids[ends[1]], return_inverse=True)
    if len(pairs) < 2:
        return None
    labels, share = np.stack(np.divmod(pairs, n), axis=1), share_of_counts(len(y), len(pairs))
    X = attributes.of(link, *ends)
    fitted = fit_classifier(estimator, X, y, weight, partial(start, labels), n_threads)
    return PairClassifier(fitted, labels, is_symmetric, share)


def start_of_pairs(
    labels: np.ndarray,
    before: PairClassifier | None,
    nodes: Callable[[], Any],
    seen: np.ndarray | None,
    n_columns: int,
) -> Start | None:
    """Return the weights from which the training of a classifier of pairs starts.

    Without an earlier one it is u(i | x) u(j | x'), by which two linked labels are independent.

    Parameters
    ----------
    labels : ndarray of shape (n_pairs, 2)
        The pairs of label ids that occur; pair k is label k of the weights.
    before : PairClassifier or None
        Fitted to some of the links.
    nodes : callable
        Returns the classifier of nodes, once it is trained.
    seen : ndarray of int or None
        The attributes of a node that pairs see; None for all.
    n_columns : int
        The number of attributes of a pair.

    Returns
    -------
    callable or None
        None if nodes have no weights.
    """
    if before is not None:
        n = 1 + max(labels.max(), before.labels.max())
        number = places_in(before.labels @ [n, 1], labels @ [n, 1])
        return lambda column, k: before.estimator.weights(column, number[k])
    u = nodes()
    if not isinstance(u, RowCRF):
        return None
    n_nodes = u.coef_.shape[0]
    of_end = np.arange(n_nodes) if seen is None else seen

    def independent(column: np.ndarray, k: np.ndarray) -> np.ndarray:
        end, attribute = np.divmod(column, max(len(of_end), 1))
        weights, is_last = np.zeros(len(column)), column == n_columns
        for number in (0, 1):
            here = np.flatnonzero((end == number) & ~is_last)
            weights[here] = u.weights(of_end[attribute[here]], labels[k[here], number])
            last = k[is_last]
            weights[is_last] += u.weights(np.full(len(last), n_nodes), labels[last, number])
        return weights

    return independent


def share_of_counts(n_rows: int, n_pairs: int) -> float:
    """Return the share of the counted rates beside a classifier of n_pairs, trained on n_rows.

    The fewer rows there are for each pair of labels, the less the classifier is worth: with many
    labels and few sentences, what it rules out is often right.

    Examples
    --------
    >>> share_of_counts(187125, 37), round(share_of_counts(21000, 1684), 2)
    (0.2, 0.62)
    """
    worth = LINKS_PER_PAIR * n_pairs
    return max(LEAST_SHARE, worth / (n_rows + worth))


def scores_per_token(n_labels: int, n_pairs: int, n_tables: int) -> int:
    """Return about how many scores a token has, if links have one of several tables."""
    if n_pairs == 0:
        return n_labels
    return n_labels + (n_pairs if n_tables == 1 else n_labels**2)
