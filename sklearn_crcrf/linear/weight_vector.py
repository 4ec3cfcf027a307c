"""The terms of a model, whose weights follow each other in one vector."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..base.weights import Weights
from ..structures import ScoreGradient, Scores
from ..utils.memory import require_memory
from .terms import Boundary, Forbidden, Term, Transition
from .transition_feature import TransitionFeature

__all__ = ["TermWeights", "Terms", "shared_terms"]

# Number of vectors of all weights that training takes at least.
COPIES = 3


def shared_terms(
    transitions: np.ndarray,
    boundaries: bool,
    forbidden: tuple[np.ndarray, np.ndarray, np.ndarray],
    edge_attributes: sp.csr_array,
) -> list[Term]:
    """The terms of a model, besides the weights of attributes and labels.

    Parameters
    ----------
    transitions : ndarray of int of shape (n_labels, n_labels)
        The number of the weight of each transition, -1 without a weight.
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
    >>> from sklearn_crcrf.linear.terms import Boundary, Transition, numbered
    >>> from sklearn_crcrf.linear.weight_vector import Terms
    >>> terms = Terms(3, [Transition(numbered(np.eye(2) > 0)), Boundary(2)], 2)
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
        require_memory(
            8.0 * COPIES * self.n_weights,
            f"the {self.n_weights:,} weights of attributes and pairs of the {n_labels:,} labels",
            "leave out rare attributes with min_freq, or features that do not occur",
        )
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
