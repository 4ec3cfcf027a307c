"""Marginals of the labels of tokens, and their derivatives by the scores."""

import numpy as np

from .messages import ends
from .scores import AddTo, ScoreGradient, Scores
from .sums import PathSums

__all__ = ["TokenMarginals"]


class TokenMarginals:
    """The marginals of the labels of all tokens; see :meth:`Chain.token_marginals`.

    They are in double precision, as derivatives by them may be of any size.

    Attributes
    ----------
    value : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, offsets: np.ndarray, order: np.ndarray, scores: Scores):
        self._offsets, self._scores = offsets, scores
        self._sums = PathSums(offsets, order, scores.tokens(slice(None)))
        self._sums.sum_forward()
        self.value = self._sums.pullback(np.ones(len(order))).state

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The covariances of what paths use with the sums of the weights of their labels."""
        counts = ScoreGradient.of(out, self._scores)
        mean = np.einsum("tj,tj->t", weight, self.value)
        states = np.zeros_like(self.value)
        self._sums.add_covariances(weight - mean[:, None], counts._replace(state=states))
        first, last = ends(self._offsets)
        counts.state[:] += states
        counts.begin[:] += states[first].sum(axis=0)
        counts.end[:] += states[last].sum(axis=0)
        return counts
