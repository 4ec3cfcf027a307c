"""The log loss with a margin."""

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._cost import with_cost
from .base import Criterion
from .log_loss import log_loss

__all__ = ["SoftmaxMargin"]


class SoftmaxMargin(Criterion):
    """Log loss in which wrong labels have a higher score than in prediction [1]_.

        log sum_y' exp(score(y') + cost * d(y, y')) - score(y)

    with d the number of tokens whose labels differ. It is convex, smooth and never below the
    margin loss of the same cost; with a cost of zero it is the log loss. With partial labels, no
    label that they allow costs anything.

    Parameters
    ----------
    cost : float, default=1.0
        What is added to the score of each wrong label, not negative.

    References
    ----------
    .. [1] Gimpel, Smith, "Softmax-Margin CRFs: Training Log-Linear Models with Cost Functions",
       NAACL 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import SoftmaxMargin
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((1, 2)), np.zeros((2, 2)))
    >>> loss, _ = SoftmaxMargin(cost=np.log(3))(Chain(np.array([0, 1])), scores, np.array([0]))
    >>> np.exp(-loss)
    array([0.25])
    """

    requires = ("log_partition",)

    def __init__(self, cost: float = 1.0):
        self.cost = cost

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        return log_loss(structure, with_cost(scores, y, self.cost), y)

    def value_and_gradient(
        self,
        structure: Structure,
        scores: Scores,
        y: np.ndarray,
        weight: np.ndarray,
        out: AddTo = None,
    ) -> tuple[np.ndarray, ScoreGradient]:
        raised = with_cost(scores, y, self.cost)
        return log_loss.value_and_gradient(structure, raised, y, weight, out)

    def curvature(
        self, structure: Structure, scores: Scores, y: np.ndarray, direction: ScoreGradient
    ) -> Pullback:
        """The product of the second derivatives with a direction."""
        raised = with_cost(scores, y, self.cost)
        return log_loss.curvature(structure, raised, y, direction)
