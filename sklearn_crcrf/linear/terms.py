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

from ..base.weights import Weights
from ..structures import ScoreGradient, Scores, TokenTransitions
from ..utils.memory import require_memory
from .link_tables import different_rows

# Number of vectors of all weights that training takes at least.
COPIES = 3


class Term(ABC):
    """One kind of weights that all units share.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array of weights from which scores are computed.
    weight_of : ndarray of int of this shape, optional
        The number of the weight of each entry, -1 for an entry that is always zero. By default
        each entry has a weight of its own. Entries with the same number are tied: each is the
        weight divided by the square root of their number, so that the sum of the squares of the
        weights, which the penalty has, is the sum of the squares of the entries.

    Attributes
    ----------
    n_weights : int
    """

    def __init__(self, shape: tuple[int, ...], weight_of: np.ndarray | None = None):
        self._shape, self._size = shape, int(np.prod(shape))
        numbers = np.arange(self._size) if weight_of is None else weight_of.reshape(-1)
        self._entries = np.flatnonzero(numbers >= 0)
        self._weight = numbers[self._entries]
        n_tied = np.bincount(self._weight)
        self._share = np.sqrt(1.0 / n_tied[self._weight])
        self.n_weights = len(n_tied)

    def array(self, flat: np.ndarray) -> np.ndarray:
        """Return a vector of weights as a new array, in double precision."""
        weights = np.zeros(self._size)
        weights[self._entries] = self._share * flat[self._weight]
        return weights.reshape(self._shape)

    def flat(self, array: np.ndarray) -> np.ndarray:
        """Return the inverse of :meth:`array`, and for derivatives by the array its transpose.

        Entries without a weight are left out. If tied entries differ, the result is the vector of
        the nearest array whose tied entries are equal.
        """
        of_entries = self._share * array.reshape(-1)[self._entries]
        return np.bincount(self._weight, of_entries, minlength=self.n_weights)

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

    def along(self, array: np.ndarray, chunk: Any, direction: ScoreGradient) -> ScoreGradient:
        """Add the scores of this term to the direction in which scores move with the weights."""
        # A ScoreGradient has the same fields as Scores, but for the scores of single links.
        moved: Any = self.add_scores(array, chunk, direction)  # type: ignore[arg-type]
        return moved

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
        """Return the array of this term among the weights of a model."""

    @abstractmethod
    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        """Return the inverse of :meth:`select`."""


class Transition(Term):
    """A weight for pairs of labels of linked tokens.

    Parameters
    ----------
    weight_of : ndarray of int of shape (n_labels, n_labels)
        As in :class:`Term`.
    """

    def __init__(self, weight_of: np.ndarray):
        super().__init__(weight_of.shape, weight_of)

    def add_scores(self, array: np.ndarray, chunk: Any, scores: Scores) -> Scores:
        return scores._replace(transition=scores.transition + array)

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

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: np.ndarray) -> ScoreGradient:
        out[0] += gradient.begin
        out[1] += gradient.end
        return gradient

    def select(self, weights: Weights) -> np.ndarray:
        return np.stack([weights.begin, weights.end])

    def insert(self, array: np.ndarray, weights: Weights) -> Weights:
        return weights._replace(begin=array[0], end=array[1])


class TransitionTables(Term):
    """A weight for each attribute and each pair of labels, or each group of tied pairs.

    Links with equal attributes share a table of transition scores.

    Parameters
    ----------
    n_attributes, n_labels : int
    weight_of : ndarray of int of shape (n_labels, n_labels), optional
        The number of the weight of each pair of labels, as in
        :class:`Term`.
    """

    def __init__(self, n_attributes: int, n_labels: int, weight_of: np.ndarray | None = None):
        self._n_labels = n_labels
        self._found: dict[tuple, tuple] = {}
        if weight_of is not None:
            first = (weight_of.max(initial=-1) + 1) * np.arange(n_attributes)[:, None, None]
            weight_of = np.where(weight_of < 0, -1, weight_of + first)
        super().__init__((n_attributes, n_labels, n_labels), weight_of)

    @abstractmethod
    def _different_rows(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        """Find the table of each row of ``token_transitions``, -1 for none, and its attributes."""

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
        """Return what attributes add to transition scores; (n_combinations, n_labels, n_labels)."""
        n = self._n_labels
        return (combinations @ array.reshape(-1, n * n)).reshape(-1, n, n)

    def _combinations(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        """Return the same as :meth:`_different_rows`, found once for each chunk."""
        where = chunk.start, chunk.stop
        if where not in self._found:
            self._found[where] = self._different_rows(chunk)
        return self._found[where]


class TransitionFeature(TransitionTables):
    """A weight for each pair of labels of linked tokens and each attribute of the later token.

    Parameters
    ----------
    attributes : CSR of shape (n_tokens, n_edge_attributes)
        The attributes of all tokens on which transitions depend.
    n_labels : int
    """

    def __init__(self, attributes: sp.csr_array, n_labels: int):
        super().__init__(attributes.shape[1], n_labels)
        self._attributes = attributes

    def _different_rows(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        row, combinations = different_rows(self._attributes[chunk.start : chunk.stop])
        row_of_link = np.full(chunk.structure.n_rows, -1)
        row_of_link[chunk.structure.rows_of_links()] = row[chunk.structure.links()[1]]
        return row_of_link, combinations


def shared_terms(
    transitions: np.ndarray, boundaries: bool, edge_attributes: sp.csr_array
) -> list[Term]:
    """Return the terms of a model, besides the weights of attributes and labels.

    Parameters
    ----------
    transitions : ndarray of int of shape (n_labels, n_labels)
        The number of the weight of each transition, -1 without a weight. Empty for tokens that are
        not linked, which have none of these terms.
    boundaries : bool
        Whether begin and end have weights.
    edge_attributes : CSR of shape (n_tokens, n_edge_attributes)

    Returns
    -------
    list of Term
    """
    if transitions.size == 0:
        return []
    n_labels = len(transitions)
    terms: list[Term] = [Transition(transitions)]
    if boundaries:
        terms.append(Boundary(n_labels))
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
    forbidden : tuple of (transition, begin, end), optional
        Scores without weights: -inf for what is impossible, else 0.

    Attributes
    ----------
    n_weights : int
    n_node_weights, shared, n_labels : as given

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear.terms import Boundary, Terms, Transition, numbered
    >>> terms = Terms(3, [Transition(numbered(np.eye(2) > 0)), Boundary(2)], 2)
    >>> _, (transition, boundary) = terms.split(np.arange(9.0))
    >>> transition
    array([[3., 0.],
           [0., 4.]])
    >>> boundary
    array([[5., 6.],
           [7., 8.]])
    """

    def __init__(
        self,
        n_node_weights: int,
        shared: Sequence[Term],
        n_labels: int,
        forbidden: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ):
        self.n_node_weights, self.shared, self.n_labels = n_node_weights, list(shared), n_labels
        sizes = [n_node_weights, *(term.n_weights for term in shared)]
        self._cuts = np.cumsum(sizes)[:-1]
        self.n_weights = sum(sizes)
        require_memory(
            8.0 * COPIES * self.n_weights,
            f"the {self.n_weights:,} weights of attributes and pairs of the {n_labels:,} labels",
            "leave out rare attributes with min_freq, or features that do not occur",
        )
        self._zeros = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
        self._forbidden = self._zeros if forbidden is None else forbidden

    def split(self, vector: np.ndarray) -> TermWeights:
        """Return the weights of a vector; the node weights are a one-dimensional view of it."""
        node, *shared = np.split(vector, self._cuts)
        return TermWeights(
            node, [term.array(flat) for term, flat in zip(self.shared, shared, strict=True)]
        )

    def join(self, weights: TermWeights, out: np.ndarray) -> np.ndarray:
        """Return the inverse of :meth:`split`."""
        of_node, of_shared = np.split(out, [self.n_node_weights])
        if self.n_node_weights and not np.shares_memory(of_node, weights.node):
            of_node[:] = weights.node
        of_shared[:] = self.join_shared(weights)
        return out

    def join_shared(self, weights: TermWeights) -> np.ndarray:
        """Return the weights of the terms that all units share, as one vector."""
        flat = (term.flat(a) for term, a in zip(self.shared, weights.shared, strict=True))
        return np.concatenate([np.zeros(0), *flat])

    def named(self, vector: np.ndarray) -> Weights:
        """Return the weights of a vector, by name."""
        node, shared = self.split(vector)
        n = self.n_labels
        transition, begin, end = map(np.copy, self._zeros)
        weights = Weights(node, transition, begin, end, np.zeros((0, n, n)))
        for term, array in zip(self.shared, shared, strict=True):
            weights = term.insert(array, weights)
        return weights

    def vector(self, weights: Weights, out: np.ndarray) -> np.ndarray:
        """Return the inverse of :meth:`named`."""
        shared = [term.select(weights) for term in self.shared]
        return self.join(TermWeights(weights.state, shared), out)

    def scores(self, state: np.ndarray, shared: Sequence[np.ndarray], chunk: Any) -> Scores:
        """Return the scores of a chunk, given its state scores and the arrays of the terms."""
        transition, begin, end = self._forbidden
        scores = Scores(state, transition, begin, end, chunk.no_transitions)
        for term, array in zip(self.shared, shared, strict=True):
            scores = term.add_scores(array, chunk, scores)
        return scores

    def along(self, state: np.ndarray, shared: Sequence[np.ndarray], chunk: Any) -> ScoreGradient:
        """Return the direction in which the scores of a chunk move with the weights."""
        direction = ScoreGradient(state, *self._zeros, np.zeros(0))
        for term, array in zip(self.shared, shared, strict=True):
            direction = term.along(array, chunk, direction)
        return direction

    def add_gradient(self, chunk: Any, gradient: ScoreGradient, out: Sequence[np.ndarray]) -> None:
        """Add the derivatives by the arrays of the terms to ``out``, given the score gradient."""
        for term, array in zip(reversed(self.shared), reversed(out), strict=True):
            gradient = term.add_gradient(chunk, gradient, array)


def numbered(has_weight: np.ndarray) -> np.ndarray:
    """Numbers of weights, as in :class:`Term`, for entries that have a weight of their own.

    Parameters
    ----------
    has_weight : bool ndarray

    Returns
    -------
    ndarray of int of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> numbered(np.array([[True, False], [True, True]]))
    array([[ 0, -1],
           [ 1,  2]])
    """
    numbers = np.cumsum(has_weight).reshape(has_weight.shape) - 1
    return np.where(has_weight, numbers, -1)


def _by_current(scores: np.ndarray) -> np.ndarray:
    """Scores of all pairs of labels, in the order of the current label."""
    return scores.transpose(0, 2, 1).reshape(-1)
