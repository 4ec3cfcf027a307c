"""The product of the marginals of the gold labels."""

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._tokens import check_all_known, repeat_by_token, sum_by_sequence
from .base import Criterion

# Smaller marginals count as this value, as their reciprocals could overflow.
SMALLEST = 1e-250


class MarginalLikelihood(Criterion):
    r"""Negative log-likelihood of each gold label on its own, by its marginal probability [1]_.

    .. math::

       -\sum_t \log p(y_t \mid x)

    It fits the marginals, so decoding by maximal marginals suits it best. It is not convex, so
    training starts from the optimum of the log loss. For sequences of one token it is the log loss.
    Labels must not be partial. A marginal below 1e-250 counts as 1e-250, with zero derivatives.

    References
    ----------
    .. [1] Kakade, Teh, Roweis, "An Alternate Objective Function for Markovian Fields", ICML 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import marginal_likelihood
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> loss, _ = marginal_likelihood(Chain(np.array([0, 2])), scores, np.array([0, 1]))
    >>> np.exp(-loss)
    array([0.22222222])
    """

    requires = ("token_marginals",)
    convex = False
    decoding = "marginal"
    takes_partial_labels = False

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        check_all_known("marginal_likelihood", y)
        marginals, pull_marginals = structure.token_marginals(scores)
        token = np.arange(len(y))
        gold = np.maximum(marginals[token, y], SMALLEST)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            slope = np.zeros_like(marginals)
            of_tokens = repeat_by_token(structure, weight)
            slope[token, y] = np.where(gold > SMALLEST, -of_tokens / gold, 0.0)
            return pull_marginals(slope, out)

        return sum_by_sequence(structure, -np.log(gold)), pullback


marginal_likelihood = MarginalLikelihood()
