"""Terms of scores: one for each kind of weights, with the scores they give and its derivative.

A vector of weights is a concatenation. First come the weights of attributes and labels, by far the
most, which a design multiplies with the attributes of tokens (``designs.py``); then the weights of
the terms here, which all units share.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..base.weights import Weights
from ..structures import ScoreGradient, Scores

__all__ = ["Boundary", "Forbidden", "Term", "Transition", "numbered"]


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
        """A vector of weights as a new array, in double precision."""
        weights = np.zeros(self._size)
        weights[self._entries] = self._share * flat[self._weight]
        return weights.reshape(self._shape)

    def flat(self, array: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`array`, and for derivatives by the array its transpose.

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
    weight_of : ndarray of int of shape (n_labels, n_labels)
        As in :class:`Term`.
    """

    def __init__(self, weight_of: np.ndarray):
        super().__init__(weight_of.shape, weight_of)

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
