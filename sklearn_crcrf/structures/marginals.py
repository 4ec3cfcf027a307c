"""Marginals of the labels of tokens, and their derivatives by the scores."""

import numpy as np

from .base import Structure
from .ends import add_with_ends
from .scaled_sums import ScaledSums
from .scores import AddTo, ScoreGradient, Scores

__all__ = ["TokenMarginals"]


class TokenMarginals:
    """The marginals of the labels of all tokens; see :meth:`Capabilities.token_marginals`.

    Marginals are in double precision, as derivatives by marginals may be of any size.

    Parameters
    ----------
    structure : Structure
    scores : Scores
    sums : ScaledSums
        Of the same scores in double precision.

    Attributes
    ----------
    value : ndarray of shape (n_tokens, n_labels)
    """

    def __init__(self, structure: Structure, scores: Scores, sums: ScaledSums):
        self._ends = structure.first_tokens(), structure.last_tokens()
        self._scores, self._sums = scores, sums
        sums.log_partition()
        self.value = sums.pullback(np.ones(structure.n_units)).state

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the sum of all marginals times their weights, added to ``out``.

        It is the covariance of how often a labelling uses each score and the sum of the weights
        of its labels.
        """
        gradient = ScoreGradient.of(out, self._scores)
        mean = np.einsum("tj,tj->t", weight, self.value)
        states = np.zeros_like(self.value)
        self._sums.add_covariances(weight - mean[:, None], gradient._replace(state=states))
        add_with_ends(gradient, states, self._ends)
        return gradient
