"""Labelled units for training that changes the weights after each unit."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.tree import learning
from ..base.weights import Weights
from ..data.csr import csr_arrays
from ..data.ragged import joined_ranges
from ..structures import Scores
from .corpus import Chunk, Corpus, edge_columns, without_columns
from .link_tables import link_tables
from .message_order import MessageOrder
from .terms import TransitionFeature

# Each call of a kernel is for sequences of about this number of scores, to be interruptible.
PIECE = 2**24


class Coefficients(NamedTuple):
    """All weights: of the attributes of tokens, and of the attributes of links.

    Parameters
    ----------
    state : ndarray of shape (n_state_attributes, n_labels)
    pairs : ndarray of shape (n_pair_attributes, n_labels * n_labels)
        Column ``n_labels * label + previous label``. The first attribute is 1 at every link: its
        weights are the transitions.
    """

    state: np.ndarray
    pairs: np.ndarray

    def copy(self) -> "Coefficients":
        """Return a copy of the arrays."""
        return Coefficients(*(part.copy() for part in self))

    def assign(self, other: "Coefficients") -> None:
        """Copy the values of other weights into these arrays."""
        for part, values in zip(self, other, strict=True):
            np.copyto(part, values)

    @classmethod
    def of(cls, weights: Weights, boundaries: bool) -> "Coefficients":
        """From weights with a matrix ``state``; ``boundaries`` adds begin and end to it as rows."""
        coef = weights.state
        if sp.issparse(coef):
            coef = coef.toarray()
        if boundaries:
            coef = np.vstack([coef, weights.begin, weights.end], dtype=coef.dtype)
        pairs = np.concatenate([weights.transition[None], weights.edges]).transpose(0, 2, 1)
        return cls(np.array(coef, order="C"), pairs.reshape(len(pairs), -1).astype(float))

    def weights(self, boundaries: bool) -> Weights:
        """Return the inverse of :meth:`of`."""
        n = self.state.shape[1]
        pairs = self.pairs.reshape(-1, n, n).transpose(0, 2, 1).copy()
        coef, ends = self.state, np.zeros((2, n))
        if boundaries:
            coef, ends = coef[:-2], coef[-2:].astype(float)
        begin, end = ends
        return Weights(coef, pairs[0], begin, end, pairs[1:])

    def squared_norm(self) -> float:
        """Return the sum of the squares."""
        return float(sum(np.vdot(part, part) for part in self))


class Differences(NamedTuple):
    """Features of gold labellings minus features of other labellings, as sparse entries.

    Parameters
    ----------
    sequence : ndarray of shape (n_entries,)
        The sequence of each entry.
    place : ndarray of shape (n_entries,)
        The weight of the feature: its position in the flattened ``state`` or ``pairs``.
    value : ndarray of shape (n_entries,)
    """

    sequence: np.ndarray
    place: np.ndarray
    value: np.ndarray


class Examples:
    """Labelled units for training that changes the weights after each unit.

    Parameters
    ----------
    state : CSR of shape (n_tokens, n_state_attributes)
        Attributes of tokens.
    pairs : CSR of shape (n_tokens, n_pair_attributes)
        Attributes of the link into each token: a constant 1, and the attributes on which
        transitions depend. The row of a token without a link into it is empty.
    corpus : Corpus
        Every label must be known.
    forbidden : tuple of (transition, begin, end)
        Arrays to add to these scores: -inf for what is impossible, else 0.

    Attributes
    ----------
    n_labels, n_sequences : int
    y : ndarray of shape (n_tokens,), int32
    structure, offsets, weight : as the corpus has them
    state, pairs, forbidden : as given
    arguments : tuple
        What kernels take: the labels, and the arrays of ``state``.
    """

    def __init__(self, state: sp.csr_array, pairs: sp.csr_array, corpus: Corpus, forbidden: tuple):
        self.state, self.pairs, self.forbidden = state, pairs, forbidden
        self.n_labels, self.n_sequences = len(forbidden[1]), len(corpus.offsets) - 1
        self.y = np.ascontiguousarray(corpus.y, dtype=np.int32)
        self.structure, self.weight = corpus.structure, np.asarray(corpus.weight, dtype=float)
        self.offsets = corpus.offsets
        self.arguments = self.y, *csr_arrays(state)

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        edge_attributes: np.ndarray,
        boundaries: bool,
        forbidden: tuple,
        only_edges: Sequence[int] | np.ndarray = (),
    ) -> "Examples":
        """From a corpus.

        Parameters
        ----------
        corpus, forbidden : as in the class
        edge_attributes : ndarray of int
            Columns of ``corpus.X`` on which transitions depend.
        boundaries : bool
            Whether the first and the last label of a sequence have weights. If so, the first
            token and the last one have an additional attribute each.
        only_edges : sequence of int, default=()
            Columns of ``corpus.X`` that have weights for transitions, but not for labels.

        Raises
        ------
        ValueError
            If a label is not known; the message says where.
        """
        corpus.require_labels()
        state = sp.csr_array(without_columns(corpus.X, only_edges))
        first, last = corpus.structure.first_tokens(), corpus.structure.last_tokens()
        pairs = _pairs(edge_columns(corpus.X, edge_attributes), first)
        if boundaries:
            state = _with_ends(state, first, last)
        return cls(state, pairs, corpus, forbidden)

    def with_state(self, state: sp.csr_array) -> "Examples":
        """Return the same units with other attributes of tokens."""
        corpus = Corpus(None, self.y, self.structure, self.weight)
        return Examples(state, self.pairs, corpus, self.forbidden)

    def zeros(self) -> Coefficients:
        """Weights that are all zero."""
        shape = self.state.shape[1], self.n_labels
        pairs = np.zeros((self.pairs.shape[1], self.n_labels**2))
        return Coefficients(np.zeros(shape, dtype=self.state.dtype), pairs)

    @cached_property
    def has_kernels(self) -> bool:
        """Whether kernels can search the units, since their links make forests."""
        return self._order is not None

    def search(self, coefficients: Coefficients) -> Any:
        """Make what kernels need to find best labellings, and to change weights of links."""
        return learning.Search(*self._search, coefficients.pairs)

    def pieces(self, order: np.ndarray) -> list[np.ndarray]:
        """Return the order of sequences, cut into runs for one kernel call each."""
        n_scores = np.diff(self.offsets)[order].sum() * self.n_labels
        return np.array_split(order, 1 + int(n_scores) // PIECE)

    def require_finite(self, values: np.ndarray) -> None:
        """Raise ValueError if the value of a sequence is NaN: its scores were not finite."""
        overflowed = np.flatnonzero(np.isnan(values))
        if len(overflowed):
            largest = np.abs(self.state.data).max(initial=0.0)
            raise ValueError(
                f"X, sequence {overflowed[0]}: the scores are not finite, with attribute values of "
                f"up to {largest:.3g} and weights of sequences of up to {self.weight.max():.3g}; "
                "scale them"
            )

    def n_wrong(self, found: np.ndarray) -> np.ndarray:
        """Count the labels of each sequence that are not gold; of shape (n_sequences,)."""
        total = np.append(0.0, np.cumsum(found != self.y))
        return np.diff(total[self.offsets])

    def differences(self, found: np.ndarray) -> tuple[Differences, Differences]:
        """Return the features of the gold paths minus the features of the paths found.

        Returns
        -------
        state, pairs : Differences
        """
        n, sequence = self.n_labels, np.repeat(np.arange(self.n_sequences), np.diff(self.offsets))
        wrong = found != self.y
        tokens = np.flatnonzero(wrong)
        of_tokens = self.y[tokens], found[tokens], n, sequence[tokens]
        previous, current = (
            ends[wrong[self._links[0]] | wrong[self._links[1]]] for ends in self._links
        )
        gold, other = (n * y[current] + y[previous] for y in (self.y, found))
        of_links = gold, other, n * n, sequence[current]
        return (
            _differences(self.state, tokens, *of_tokens),
            _differences(self.pairs, current, *of_links),
        )

    def unit(self, u: int) -> "Examples":
        """Return the examples of unit u alone."""
        return self.run(u, u + 1)

    def run(self, first: int, last: int) -> "Examples":
        """Return the examples of the units ``first`` to ``last - 1``."""
        start, stop = self.offsets[first], self.offsets[last]
        structure, y = self.structure.take(slice(first, last)), self.y[start:stop]
        corpus = Corpus(None, y, structure, self.weight[first:last])
        return Examples(self.state[start:stop], self.pairs[start:stop], corpus, self.forbidden)

    def scores(self, coefficients: Coefficients, cost: float = 0.0) -> Scores:
        """Return the scores of all tokens, with a cost added to each wrong label."""
        n, (transition, begin, end) = self.n_labels, self.forbidden
        pairs = coefficients.pairs.reshape(-1, n, n).transpose(0, 2, 1)
        scores = Scores.of(self.state @ coefficients.state, pairs[0] + transition, begin, end)
        scores = scores._replace(state=scores.state + cost * scores.costs(self.y))
        if len(pairs) == 1:
            return scores
        chunk = Chunk(0, len(self.y), self.structure, self.y, self.weight, scores.token_transitions)
        return self._pair_term.add_scores(pairs[1:], chunk, scores)

    @cached_property
    def _pair_term(self) -> TransitionFeature:
        return TransitionFeature(sp.csr_array(self.pairs[:, 1:]), self.n_labels)

    @cached_property
    def _links(self) -> tuple[np.ndarray, np.ndarray]:
        return self.structure.links()

    @cached_property
    def _order(self) -> MessageOrder | None:
        return MessageOrder.of(self.structure)

    @cached_property
    def _search(self) -> tuple:
        transition, begin, end = self.forbidden
        forbidden = begin, end, np.ascontiguousarray(transition.T)
        row, *tables = link_tables(self.pairs, self.n_labels)
        return self.offsets, self._order, forbidden, csr_arrays(self.pairs), row, tables


def find(
    examples: Examples, coefficients: Coefficients, cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best paths with a cost of wrong labels, and their scores minus the gold scores."""
    n = examples.n_sequences
    if examples.has_kernels:
        costs = np.full(n, float(cost))
        return correct(examples, coefficients, np.arange(n), np.zeros(n), costs)
    found, losses = examples.y.copy(), np.zeros(n)
    for piece in examples.pieces(np.arange(n)):
        if len(piece) == 0:
            continue
        first, last = piece[0], piece[-1] + 1
        units, tokens = examples.run(first, last), slice(*examples.offsets[[first, last]])
        scores = units.scores(coefficients, cost)
        best, found[tokens] = units.structure.maximum(scores)
        losses[first:last] = best - units.structure.score(scores, units.y)[0]
    examples.require_finite(losses)
    return found, losses


def correct(
    examples: Examples,
    coefficients: Coefficients,
    order: np.ndarray,
    rate: np.ndarray,
    cost: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Correct weights, in place, by the sequences that they label wrongly.

    The weights of the features of the gold path go up by the rate, and the weights of the
    features of the path found go down by it.

    Parameters
    ----------
    examples : Examples
    coefficients : Coefficients
    order : ndarray of int
        Sequences in the order in which they are learned from.
    rate, cost : ndarray of shape (n_sequences,)
        For each sequence the size of its correction, and the cost that is added to the score
        of every wrong label.

    Returns
    -------
    found : ndarray of shape (n_tokens,), int32
        The path of each sequence with the best score, costs included, when its turn came.
    losses : ndarray of shape (n_sequences,)
        How much higher that score is than the score of the gold path.

    Raises
    ------
    ValueError
        If scores of a sequence are not finite.
    """
    found, losses = examples.y.copy(), np.zeros(examples.n_sequences)
    if examples.has_kernels:
        search, (y, *attributes) = examples.search(coefficients), examples.arguments
        for piece in examples.pieces(order):
            learning.correct(
                search, piece, y, rate, cost, *attributes, coefficients.state, found, losses
            )
            examples.require_finite(losses)
        return found, losses
    for u in order:
        unit, tokens = examples.unit(u), slice(*examples.offsets[u : u + 2])
        scores = unit.scores(coefficients, cost[u])
        (best,), found[tokens] = unit.structure.maximum(scores)
        losses[u] = best - unit.structure.score(scores, unit.y)[0][0]
        if rate[u] == 0:
            continue
        if not np.isfinite(losses[u]):
            losses[u] = np.nan
            examples.require_finite(losses)
        for part, new in zip(coefficients, unit.differences(found[tokens]), strict=True):
            np.add.at(part.reshape(-1), new.place, (rate[u] * new.value).astype(part.dtype))
    return found, losses


def step_by_margin(
    examples: Examples,
    coefficients: Coefficients,
    order: np.ndarray,
    power: float,
    sizes: tuple[np.ndarray, ...],
    variances: Coefficients | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Change weights, in place, by steps whose size depends on the margin.

    Parameters
    ----------
    examples : Examples
    coefficients : Coefficients
    order : ndarray of int
        Sequences in the order in which they are learned from.
    power : float
        The margin is the number of wrong labels to this power.
    sizes : three ndarrays of shape (n_sequences,)
        bound, slack and spread, as ``_kernels/tree/margin_steps.pxi`` defines them.
    variances : Coefficients of dtype float64, or None
        Of all weights; they change in place. None stands for ones that stay.

    Returns
    -------
    found : ndarray of shape (n_tokens,), int32
        The best path of each sequence when its turn came.
    taken : ndarray of shape (n_sequences,)
        The size of the step of each sequence.

    Raises
    ------
    ValueError
        If links make loops, or scores of a sequence are not finite.
    """
    if not examples.has_kernels:
        raise ValueError("y: steps that depend on the margin need units without loops")
    found = examples.y.copy()
    losses, taken = np.zeros(examples.n_sequences), np.zeros(examples.n_sequences)
    search, (y, *attributes) = examples.search(coefficients), examples.arguments
    most = tuple(
        2 * int(np.diff(matrix.indptr[examples.offsets]).max(initial=0))
        for matrix in (examples.state, examples.pairs)
    )
    steps = learning.MarginSteps(
        power, sizes, variances, [part.size for part in coefficients], most
    )
    for piece in examples.pieces(order):
        learning.step_by_margin(
            search, steps, piece, y, *attributes, coefficients.state, found, losses, taken
        )
        examples.require_finite(losses)
    return found, taken


def _with_ends(X: sp.csr_array, first: np.ndarray, last: np.ndarray) -> sp.csr_array:
    """X and two more attributes, which are 1 at first tokens and at last tokens."""
    ends = np.zeros((X.shape[0], 2), dtype=X.dtype)
    ends[first, 0] = 1
    ends[last, 1] = 1
    return sp.csr_array(sp.hstack([X, sp.csr_array(ends)], format="csr"))


def _pairs(edges: sp.csr_array, first: np.ndarray) -> sp.csr_array:
    """Attributes of the link into each token: 1, and those on which transitions depend."""
    n_tokens = edges.shape[0]
    follows = np.ones(n_tokens)
    follows[first] = 0
    n_links = n_tokens - len(first)
    indptr = np.append(0, np.cumsum(follows, dtype=np.int64))
    ones = np.ones(n_links), np.zeros(n_links, dtype=np.int64), indptr
    constant = sp.csr_array(ones, shape=(n_tokens, 1))
    if edges.shape[1] == 0:
        return constant
    pairs = sp.hstack([constant, sp.diags_array(follows) @ edges])
    pairs = sp.csr_array(pairs, dtype=float)
    pairs.eliminate_zeros()
    return pairs


def _differences(
    attributes: sp.csr_array,
    tokens: np.ndarray,
    gold: np.ndarray,
    other: np.ndarray,
    n_columns: int,
    sequence: np.ndarray,
) -> Differences:
    """Return the attributes of tokens in the gold column, and their negatives in the other column.

    Arrays other than ``attributes`` are of shape (n,), with one entry for each token or link.
    """
    starts, counts = attributes.indptr[tokens], np.diff(attributes.indptr)[tokens]
    entries, which = joined_ranges(starts, counts), np.repeat(np.arange(len(tokens)), counts)
    row, value = attributes.indices[entries].astype(np.int64) * n_columns, attributes.data[entries]
    place = np.concatenate([row + gold[which], row + other[which]])
    return Differences(np.tile(sequence[which], 2), place, np.concatenate([value, -value]))
