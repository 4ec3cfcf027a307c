"""One unit of the max-margin problem, with the scores of a structure as its dual variables."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...linear.corpus import Chunk
from ...linear.examples import Coefficients, Examples
from ...linear.terms import TransitionFeature
from ...structures import Scores


class UnitScores(NamedTuple):
    """The scores of one unit, or counts of how often labellings use each.

    Parameters
    ----------
    state : ndarray of shape (n_tokens, n_labels)
    pairs : ndarray of shape (n_pair_attributes, n_labels ** 2)
        Columns as in Coefficients.
    """

    state: np.ndarray
    pairs: np.ndarray

    def plus(self, factor: float, other: "UnitScores") -> "UnitScores":
        """Return the sum of these and ``factor * other``."""
        return UnitScores(*(a + factor * b for a, b in zip(self, other, strict=True)))

    def dot(self, other: "UnitScores") -> float:
        """Return the sum of the products."""
        return float(sum(np.vdot(a, b) for a, b in zip(self, other, strict=True)))


class Block:
    """A unit, its attributes and its possible labellings.

    Parameters
    ----------
    examples : Examples
    s : int

    Attributes
    ----------
    gold : UnitScores
        Counts of the gold labelling.
    cost : UnitScores
        1 for each wrong label of a token.
    """

    def __init__(self, examples: Examples, s: int):
        unit, n = examples.unit(s), examples.n_labels
        self._n_labels, self._structure = n, unit.structure
        self._transition, self._begin, self._end = unit.forbidden
        self._attributes, self._state = _used(unit.state)
        self._pair_attributes, pairs = _used(unit.pairs, np.zeros(1, dtype=int))
        self._term = TransitionFeature(sp.csr_array(pairs[:, 1:]), n)
        state = np.eye(n)[unit.y]
        none = Scores.of(state, self._transition).token_transitions
        self._chunk = Chunk(0, len(state), unit.structure, unit.y, unit.weight, none)
        self.cost = UnitScores(1.0 - state, np.zeros((len(self._pair_attributes), n * n)))
        self._pairs = pairs
        self.gold = self.counts(unit.y)

    def counts(self, y: np.ndarray) -> UnitScores:
        """Return how often a labelling uses each score."""
        n, (previous, current) = self._n_labels, self._structure.links()
        used, y = np.zeros((len(y), n * n)), y.astype(np.int64)
        np.add.at(used, (current, n * y[current] + y[previous]), 1.0)
        return UnitScores(np.eye(n)[y], self._pairs.T @ used)

    def scores(self, weights: Coefficients) -> UnitScores:
        """State scores, and scores of label pairs by attribute."""
        state = self._state @ weights.state[self._attributes]
        return UnitScores(state, weights.pairs[self._pair_attributes])

    def best(self, theta: UnitScores) -> np.ndarray:
        """Return the best labelling under the scores ``theta``, of shape (n_tokens,)."""
        return self._structure.maximum(self._scores(theta))[1]

    def expected(self, theta: UnitScores) -> UnitScores:
        """Expected counts under the distribution with the scores ``theta``."""
        n, scores = self._n_labels, self._scores(theta)
        _, gradient = self._structure.log_partition_and_gradient(scores, np.ones(1))
        by_features = np.zeros((len(theta.pairs) - 1, n, n))
        if len(by_features):
            gradient = self._term.add_gradient(self._chunk, gradient, by_features)
        pairs = np.concatenate([gradient.transition[None], by_features]).transpose(0, 2, 1)
        return UnitScores(gradient.state, pairs.reshape(-1, n * n))

    def _scores(self, theta: UnitScores) -> Scores:
        n = self._n_labels
        transition, *features = theta.pairs.reshape(-1, n, n).transpose(0, 2, 1)
        scores = Scores.of(theta.state, transition + self._transition, self._begin, self._end)
        if features:
            scores = self._term.add_scores(np.array(features), self._chunk, scores)
        return scores

    def squared_norm(self, used: UnitScores) -> float:
        """Return the squared norm of the features, each as often as it is used."""
        state = self._state.T @ used.state
        return float(np.vdot(state, state) + np.vdot(used.pairs, used.pairs))

    def add_to(self, weights: Coefficients, factor: float, used: UnitScores) -> None:
        """Add the features, each as often as it is used, times a factor."""
        weights.state[self._attributes] += factor * (self._state.T @ used.state)
        weights.pairs[self._pair_attributes] += factor * used.pairs


def _used(
    matrix: sp.csr_array, always: np.ndarray | tuple[int, ...] = ()
) -> tuple[np.ndarray, sp.csr_array]:
    """Return the columns that are not empty or in ``always``, and the matrix of these columns."""
    columns = np.union1d(matrix.indices, always).astype(np.int64)
    indices = np.searchsorted(columns, matrix.indices)
    shape = matrix.shape[0], len(columns)
    return columns, sp.csr_array((matrix.data, indices, matrix.indptr), shape=shape)
