"""All weights of a linear chain, as one vector and in the form in which scores are made."""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Layout", "Weights"]


class Weights(NamedTuple):
    """All weights, or derivatives by them.

    Parameters
    ----------
    state : what the design makes of its weights
    transition : ndarray of shape (n_labels, n_labels)
    begin, end : ndarray of shape (n_labels,)
    edges : ndarray of shape (n_edge_attributes, n_labels, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear import Weights
    >>> none = np.zeros(2)
    >>> weights = Weights(np.ones((3, 2)), np.eye(2), none, none, np.zeros((0, 2, 2)))
    >>> weights.state.shape, weights.edges.size
    ((3, 2), 0)
    """

    state: Any
    transition: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    edges: np.ndarray


class Layout:
    """Where each weight stands in a vector of all.

    Parameters
    ----------
    n_state : int
        Number of weights of the state, which come first.
    transitions : bool ndarray of shape (n_labels, n_labels)
        Which transitions have a weight.
    boundaries : bool
        Whether there are weights of the first and of the last labels.
    n_edge_attributes : int

    Attributes
    ----------
    n_labels, n_state, n_weights : int
    """

    def __init__(
        self, n_state: int, transitions: np.ndarray, boundaries: bool, n_edge_attributes: int
    ):
        self.n_labels = n = len(transitions)
        self._transitions = np.flatnonzero(transitions)
        self._shapes = [(n,), (n,), (n_edge_attributes, n, n)]
        self._n_ends = ends = n if boundaries else 0
        sizes = [n_state, len(self._transitions), ends, ends, n_edge_attributes * n * n]
        self._cuts = np.cumsum(sizes)[:-1]
        self.n_state, self.n_weights = n_state, sum(sizes)

    def split(self, vector: np.ndarray) -> Weights:
        """The weights of a vector; those of the state are a view of it, in one dimension."""
        state, transition, *others = np.split(vector, self._cuts)
        scores = np.zeros(self.n_labels**2)
        scores[self._transitions] = transition
        others = [
            np.array(part, dtype=float).reshape(shape) if part.size else np.zeros(shape)
            for part, shape in zip(others, self._shapes, strict=True)
        ]
        return Weights(state, scores.reshape(self.n_labels, self.n_labels), *others)

    def join(self, weights: Weights, out: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`split`; what has no weight is left out."""
        of_state, others = np.split(out, [self.n_state])
        if self.n_state and not np.shares_memory(of_state, weights.state):
            of_state[:] = weights.state
        others[:] = self.join_others(weights)
        return out

    def join_others(self, weights: Weights) -> np.ndarray:
        """All but the weights of the state, as they stand in a vector."""
        transition = weights.transition.reshape(-1)[self._transitions]
        ends = (weights.begin[: self._n_ends], weights.end[: self._n_ends])
        return np.concatenate([transition, *ends, weights.edges.reshape(-1)])

    def mask(self) -> Weights:
        """1 for the transitions, ends and edges that have a weight, else 0."""
        return self.split(np.broadcast_to(1.0, self.n_weights))
