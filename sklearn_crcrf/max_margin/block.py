"""One sequence of the max-margin problem, with a chain as its dual variables."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..linear import Coefficients, EdgeDesign, Examples, Weights
from ..structures import Chain, Scores

__all__ = ["Block", "OfParts"]


class OfParts(NamedTuple):
    """Scores of the scores of a sequence, or how often they are used.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
    pairs : ndarray of shape (n_pair_attributes, n_labels ** 2)
        Columns as in Coefficients.
    """

    state: np.ndarray
    pairs: np.ndarray

    def plus(self, factor: float, other: "OfParts") -> "OfParts":
        """These, and others times a factor."""
        return OfParts(*(a + factor * b for a, b in zip(self, other, strict=True)))

    def dot(self, other: "OfParts") -> float:
        """The sum of the products."""
        return float(sum(np.vdot(a, b) for a, b in zip(self, other, strict=True)))


class Block:
    """A sequence, its attributes and the labellings that are possible.

    Parameters
    ----------
    examples : Examples
    s : int

    Attributes
    ----------
    gold : OfParts
        What the gold path uses.
    cost : OfParts
        1 for each wrong label of a token.
    """

    def __init__(self, examples: Examples, s: int):
        start, stop = examples.offsets[s : s + 2]
        n = self._n_labels = examples.n_labels
        self._transition, self._begin, self._end = examples.forbidden
        self._attributes, self._state = _used(examples.state[start:stop])
        self._pair_attributes, pairs = _used(examples.pairs[start:stop], np.zeros(1, dtype=int))
        offsets = np.array([0, stop - start])
        self._chain = Chain(offsets)
        self._edges = EdgeDesign.of(sp.csr_array(pairs[:, 1:]), 0, stop - start, offsets)
        state = np.eye(n)[examples.y[start:stop]]
        self.cost = OfParts(1.0 - state, np.zeros((len(self._pair_attributes), n * n)))
        y = examples.y[start:stop].astype(np.int64)
        used = np.zeros((len(y), n * n))
        used[np.arange(1, len(y)), n * y[1:] + y[:-1]] = 1.0
        self.gold = OfParts(state, pairs.T @ used)

    def scores(self, weights: Coefficients) -> OfParts:
        """Scores of the scores; of pairs, those that their attributes add."""
        state = self._state @ weights.state[self._attributes]
        return OfParts(state, weights.pairs[self._pair_attributes])

    def expected(self, theta: OfParts) -> OfParts:
        """How often scores are used by the labellings of a chain with these scores."""
        n = self._n_labels
        transition, *edges = theta.pairs.reshape(-1, n, n).transpose(0, 2, 1)
        weights = Weights(None, transition, None, None, np.reshape(edges, (-1, n, n)))
        scores = Scores.of(theta.state, transition + self._transition, self._begin, self._end)
        scores = self._edges.added_to(scores, weights)
        _, counts = self._chain.log_partition_and_counts(scores, np.ones(1))
        used = Weights(None, np.zeros((n, n)), None, None, np.zeros((len(edges), n, n)))
        self._edges.add_gradient(counts, used)
        pairs = np.concatenate([used.transition[None], used.edges]).transpose(0, 2, 1)
        return OfParts(counts.state, pairs.reshape(-1, n * n))

    def squared_norm(self, used: OfParts) -> float:
        """That of the features of scores that are used so often."""
        state = self._state.T @ used.state
        return float(np.vdot(state, state) + np.vdot(used.pairs, used.pairs))

    def add_to(self, weights: Coefficients, factor: float, used: OfParts) -> None:
        """Add the features of scores that are used so often, times a factor."""
        weights.state[self._attributes] += factor * (self._state.T @ used.state)
        weights.pairs[self._pair_attributes] += factor * used.pairs


def _used(matrix: sp.csr_array, always: np.ndarray = ()) -> tuple[np.ndarray, sp.csr_array]:
    """The columns that are not empty, or always there, and the matrix of these alone."""
    columns = np.union1d(matrix.indices, always).astype(np.int64)
    indices = np.searchsorted(columns, matrix.indices)
    shape = matrix.shape[0], len(columns)
    return columns, sp.csr_array((matrix.data, indices, matrix.indptr), shape=shape)
