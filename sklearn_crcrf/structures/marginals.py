"""Marginals of the labels of tokens, and their derivatives by the scores."""

import numpy as np

from .messages import ends
from .scores import AddTo, ScoreGradient, Scores
from .sums import PathSums

__all__ = ["TokenMarginals"]


class TokenMarginals:
    """The marginals of the labels of all tokens; see :meth:`Capabilities.token_marginals`.

    Marginals are in double precision, as derivatives by marginals may be of any size.

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
        """The score gradient of the sum of all marginals times their weights, added to ``out``.

        It is the covariance of how often a path uses each score and the sum of the weights of its
        labels.
        """
        gradient = ScoreGradient.of(out, self._scores)
        mean = np.einsum("tj,tj->t", weight, self.value)
        states = np.zeros_like(self.value)
        self._sums.add_covariances(weight - mean[:, None], gradient._replace(state=states))
        first, last = ends(self._offsets)
        gradient.state[:] += states
        gradient.begin[:] += states[first].sum(axis=0)
        gradient.end[:] += states[last].sum(axis=0)
        return gradient
