"""The risk: the expected number of wrong labels."""

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._tokens import repeat_by_token, sum_by_sequence
from .base import Criterion


class ExpectedCost(Criterion):
    r"""Expected number of wrong labels in a labelling drawn from the model.

    .. math::

       E[d(y, Y)] = \sum_t \left[1 - p(y_t \mid x)\right],

    also known as minimum risk [1]_. As the marginals go to 0 or 1, it becomes the number of errors
    of the best labelling. It is bounded, so mislabelled tokens have little influence, and not
    convex, so training starts from the optimum of the log loss. With partial labels, no label that
    they allow counts as wrong.

    References
    ----------
    .. [1] Smith, Eisner, "Minimum Risk Annealing for Training Log-Linear Models", ACL 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import expected_cost
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> expected_cost(Chain(np.array([0, 2])), scores, np.array([0, 0]))[0]
    array([0.66666667])
    """

    requires = ("token_marginals",)
    convex = False

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        marginals, pull_marginals = structure.token_marginals(scores)
        cost = scores.costs(y).astype(float, copy=False)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            of_tokens = repeat_by_token(structure, weight)
            return pull_marginals(of_tokens[:, None] * cost, out)

        return sum_by_sequence(structure, np.einsum("tj,tj->t", cost, marginals)), pullback


expected_cost = ExpectedCost()
