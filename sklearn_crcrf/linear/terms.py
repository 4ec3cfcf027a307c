"""Terms of scores: one for each kind of weights, with the scores they give and its derivative.

A vector of weights is a concatenation. First come the weights of attributes and labels, by far the
most, which a design multiplies with the attributes of tokens (``designs.py``); then the weights of
the terms here, which all units share.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.ragged import joined_ranges
from ..structures import ScoreGradient, Scores, Structure, TokenTransitions
from .weights import Weights

__all__ = [
    "Boundary",
    "Forbidden",
    "Term",
    "TermWeights",
    "Terms",
    "Transition",
    "TransitionFeature",
    "edge_columns",
    "shared_terms",
]


class Term(ABC):
    """One kind of weights that all units share.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array of weights from which scores are computed.
    places : ndarray of int, optional
        Which entries of the flattened array have a weight; by default all. The other entries are
        zero.

    Attributes
    ----------
    n_weights : int
    """

    def __init__(self, shape: tuple[int, ...], places: np.ndarray | None = None):
        self._shape, self._places = shape, places
        self.n_weights = int(np.prod(shape)) if places is None else len(places)

    def array(self, flat: np.ndarray) -> np.ndarray:
        """A vector of weights as a new array, in double precision."""
        if self._places is None:
            return np.array(flat, dtype=float).reshape(self._shape)
        weights = np.zeros(int(np.prod(self._shape)))
        weights[self._places] = flat
        return weights.reshape(self._shape)

    def flat(self, array: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`array`; entries without a weight are left out."""
        flat = array.reshape(-1)
        return flat if self._places is None else flat[self._places]

    @abstractmethod
    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        """Add this term to scores; return the sum.

        Parameters
        ----------
        array : ndarray
            As :meth:`array` returns it.
        chunk : Chunk or Batch
            With ``start``, ``stop`` and ``structure``.
        scores : Scores
            The scores of all terms before.
        """

    @abstractmethod
    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        """Add the scores of this term to the direction in which scores move with the weights."""

    @abstractmethod
    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        """Add the derivative by the array to ``out``, given the score gradient.

        Returns
        -------
        ScoreGradient
            The derivatives by the scores of all terms before.
        """

    @abstractmethod
    def select(self, weights: Weights) -> np.ndarray:
        """The array of this term among the weights of a model."""

    @abstractmethod
    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        """The inverse of :meth:`select`."""


class Transition(Term):
    """A weight for pairs of labels of linked tokens.

    Parameters
    ----------
    has_weight : bool ndarray of shape (n_labels, n_labels)
    """

    def __init__(self, has_weight: np.ndarray):
        places = None if has_weight.all() else np.flatnonzero(has_weight)
        super().__init__(has_weight.shape, places)

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        return scores._replace(transition=scores.transition + array)

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        return direction._replace(transition=direction.transition + array)

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        out += gradient.transition
        return gradient

    def select(self, weights: Weights) -> np.ndarray:
        return weights.transition

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights._replace(transition=array)


class Boundary(Term):
    """Weights for the labels of tokens without a link into them, or without a link out of them."""

    def __init__(self, n_labels: int):
        super().__init__((2, n_labels))

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        begin, end = array
        return scores._replace(begin=scores.begin + begin, end=scores.end + end)

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        begin, end = array
        return direction._replace(begin=direction.begin + begin, end=direction.end + end)

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        out[0] += gradient.begin
        out[1] += gradient.end
        return gradient

    def select(self, weights: Weights) -> np.ndarray:
        return np.stack([weights.begin, weights.end])

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights._replace(begin=array[0], end=array[1])


class Forbidden(Term):
    """Scores without weights: -inf for what is impossible, else 0.

    Parameters
    ----------
    transition : ndarray of shape (n_labels, n_labels)
    begin, end : ndarray of shape (n_labels,)
    """

    def __init__(self, transition: np.ndarray, begin: np.ndarray, end: np.ndarray):
        super().__init__((0,))
        self._transition, self._begin, self._end = transition, begin, end

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        return scores._replace(
            transition=scores.transition + self._transition,
            begin=scores.begin + self._begin,
            end=scores.end + self._end,
        )

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        return direction

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        return gradient

    def select(self, weights: Weights) -> np.ndarray:
        return np.zeros(0)

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights


class TransitionFeature(Term):
    """A weight for each pair of labels of linked tokens and each attribute of the later token.

    Parameters
    ----------
    attributes : CSR of shape (n_tokens, n_edge_attributes)
        The attributes of all tokens on which transitions depend.
    n_labels : int
    """

    def __init__(self, attributes: sp.csr_array, n_labels: int):
        self._attributes, self._n_labels = attributes, n_labels
        self._found: dict[tuple, tuple] = {}
        super().__init__((attributes.shape[1], n_labels, n_labels))

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        row, combinations = self._combinations(chunk)
        n_rows, n = combinations.shape[0], self._n_labels
        gains = self._gains(combinations, array)
        lowest = scores.transition + np.minimum(gains.min(axis=0, initial=0.0), 0.0)
        labels, starts = np.arange(n, dtype=np.int32), np.arange(n_rows + 1, dtype=np.int64) * n * n
        previous, current = np.tile(labels, n_rows * n), np.tile(np.repeat(labels, n), n_rows)
        of_pairs = _by_current(scores.transition + gains)
        transitions = TokenTransitions(row, starts, previous, current, of_pairs)
        return scores._replace(transition=lowest, token_transitions=transitions)

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        gains = self._gains(self._combinations(chunk)[1], array)
        return direction._replace(token_transitions=_by_current(direction.transition + gains))

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        _, combinations = self._combinations(chunk)
        n = self._n_labels
        pairs = gradient.token_transitions.reshape(-1, n, n).transpose(0, 2, 1)
        out += (combinations.T @ pairs.reshape(-1, n * n)).reshape(out.shape)
        return gradient._replace(transition=gradient.transition + pairs.sum(axis=0))

    def select(self, weights: Weights) -> np.ndarray:
        return weights.edges

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights._replace(edges=array)

    def _gains(self, combinations: sp.csr_array, array: np.ndarray) -> np.ndarray:
        """What attributes add to transition scores; (n_combinations, n_labels, n_labels)."""
        n = self._n_labels
        return (combinations @ array.reshape(-1, n * n)).reshape(-1, n, n)

    def _combinations(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        """Which distinct row of attributes each token has, -1 without a link into it; the rows."""
        where = chunk.start, chunk.stop
        if where not in self._found:
            self._found[where] = _different_rows(self._attributes, *where, chunk.structure)
        return self._found[where]


def _by_current(scores: np.ndarray) -> np.ndarray:
    """Scores of all pairs of labels, in the order of the current label."""
    return scores.transpose(0, 2, 1).reshape(-1)


def _different_rows(
    attributes: sp.csr_array, start: int, stop: int, structure: Structure
) -> tuple[np.ndarray, sp.csr_array]:
    """Which distinct row each token has, -1 without a link into it; the distinct rows."""
    attributes = sp.csr_array(attributes[start:stop])
    attributes.sum_duplicates()
    n_entries = np.diff(attributes.indptr)
    token = np.repeat(np.arange(stop - start), n_entries)
    entry = joined_ranges(np.zeros(stop - start, dtype=np.int64), n_entries)
    table = np.zeros((2, stop - start, entry.max(initial=0) + 1))
    table[:, token, entry] = attributes.indices + 1, attributes.data
    both = np.concatenate(table, axis=1)
    _, example, row = np.unique(both, axis=0, return_index=True, return_inverse=True)
    row = row.reshape(-1).astype(np.int64)
    row[structure.first_tokens()] = -1
    return row, attributes[example]


def edge_columns(X: sp.csr_array | np.ndarray, columns: np.ndarray) -> sp.csr_array:
    """The attributes of all tokens on which transitions depend."""
    if len(columns) == 0:
        return sp.csr_array((X.shape[0], 0))
    return sp.csr_array(X[:, columns])


def shared_terms(
    transitions: np.ndarray,
    boundaries: bool,
    forbidden: tuple[np.ndarray, np.ndarray, np.ndarray],
    edge_attributes: sp.csr_array,
) -> list[Term]:
    """The terms of a model, besides the weights of attributes and labels.

    Parameters
    ----------
    transitions : bool ndarray of shape (n_labels, n_labels)
        The transitions that have a weight.
    boundaries : bool
        Whether begin and end have weights.
    forbidden : tuple of (transition, begin, end)
        Arrays to add to these scores: -inf for what is impossible, else 0.
    edge_attributes : CSR of shape (n_tokens, n_edge_attributes)

    Returns
    -------
    list of Term
    """
    n_labels = len(transitions)
    terms: list[Term] = [Transition(transitions)]
    if boundaries:
        terms.append(Boundary(n_labels))
    if any(scores.any() for scores in forbidden):
        terms.append(Forbidden(*forbidden))
    if edge_attributes.shape[1]:
        terms.append(TransitionFeature(edge_attributes, n_labels))
    return terms


class TermWeights(NamedTuple):
    """All weights, or the derivatives by them, arranged to compute scores.

    Parameters
    ----------
    node : Any
        The weights of attributes and labels, arranged by the design.
    shared : list of ndarray
        The arrays of the terms.
    """

    node: Any
    shared: list[np.ndarray]


class Terms:
    """All terms of a model, whose weights follow each other in a vector.

    Parameters
    ----------
    n_node_weights : int
        The number of weights of attributes and labels, which come first.
    shared : sequence of Term
    n_labels : int

    Attributes
    ----------
    n_weights : int
    n_node_weights, shared, n_labels : as given

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear.terms import Boundary, Terms, Transition
    >>> terms = Terms(3, [Transition(np.eye(2, dtype=bool)), Boundary(2)], 2)
    >>> _, (transition, boundary) = terms.split(np.arange(9.0))
    >>> transition
    array([[3., 0.],
           [0., 4.]])
    >>> boundary
    array([[5., 6.],
           [7., 8.]])
    """

    def __init__(self, n_node_weights: int, shared: Sequence[Term], n_labels: int):
        self.n_node_weights, self.shared, self.n_labels = n_node_weights, list(shared), n_labels
        sizes = [n_node_weights, *(term.n_weights for term in shared)]
        self._cuts = np.cumsum(sizes)[:-1]
        self.n_weights = sum(sizes)
        self._zeros = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)

    def split(self, vector: np.ndarray) -> TermWeights:
        """The weights of a vector; the node weights are a one-dimensional view of it."""
        node, *shared = np.split(vector, self._cuts)
        return TermWeights(
            node, [term.array(flat) for term, flat in zip(self.shared, shared, strict=True)]
        )

    def join(self, weights: TermWeights, out: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`split`."""
        of_node, of_shared = np.split(out, [self.n_node_weights])
        if self.n_node_weights and not np.shares_memory(of_node, weights.node):
            of_node[:] = weights.node
        of_shared[:] = self.join_shared(weights)
        return out

    def join_shared(self, weights: TermWeights) -> np.ndarray:
        """The weights of the terms that all units share, as one vector."""
        flat = (term.flat(a) for term, a in zip(self.shared, weights.shared, strict=True))
        return np.concatenate([np.zeros(0), *flat])

    def named(self, vector: np.ndarray) -> Weights:
        """The weights of a vector, by name."""
        node, shared = self.split(vector)
        n = self.n_labels
        transition, begin, end = map(np.copy, self._zeros)
        weights = Weights(node, transition, begin, end, np.zeros((0, n, n)))
        for term, array in zip(self.shared, shared, strict=True):
            weights = term.insert(array, weights)
        return weights

    def vector(self, weights: Weights, out: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`named`."""
        shared = [term.select(weights) for term in self.shared]
        return self.join(TermWeights(weights.state, shared), out)

    def masks(self) -> list[np.ndarray]:
        """Arrays that are 1 for each entry that has a weight, else 0."""
        return [term.array(np.ones(term.n_weights)) for term in self.shared]

    def scores(self, state: np.ndarray, shared: Sequence[np.ndarray], chunk: Any) -> Scores:
        """The scores of a chunk, given its state scores and the arrays of the terms."""
        scores = Scores(state, *self._zeros, chunk.no_transitions)
        for term, array in zip(self.shared, shared, strict=True):
            scores = term.add_scores(array, chunk, scores)
        return scores

    def along(self, state: np.ndarray, shared: Sequence[np.ndarray], chunk: Any) -> ScoreGradient:
        """The direction in which the scores of a chunk move with the weights."""
        direction = ScoreGradient(state, *self._zeros, np.zeros(0))
        for term, array in zip(self.shared, shared, strict=True):
            direction = term.along(array, chunk, direction)
        return direction

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: Sequence[np.ndarray]) -> None:
        """Add the derivatives by the arrays of the terms to ``out``, given the score gradient."""
        for term, array in zip(reversed(self.shared), reversed(out), strict=True):
            gradient = term.add_gradient(chunk, gradient, array)
