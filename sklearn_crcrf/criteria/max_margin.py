"""The structured hinge loss."""

from dataclasses import dataclass

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from ._cost import with_cost
from .base import Criterion


@dataclass(eq=False, repr=False)
class MaxMargin(Criterion):
    r"""Hinge loss: the gold path should beat all others by the cost of their errors [1]_.

    .. math::

       \max_{y'} \left[s(y') + \mathrm{cost} \cdot d(y, y')\right] - s(y)

    with s the score, and d the number of tokens whose labels differ. It is convex, but has kinks;
    its pullback returns a subgradient, from the best y'. With a cost of zero it is the loss of the
    perceptron. With partial labels, the gold path is the best path that the labels allow, and the
    loss is not convex [2]_.

    Parameters
    ----------
    cost : float, default=1.0
        The margin for each wrong label, not negative.

    References
    ----------
    .. [1] Taskar, Guestrin, Koller, "Max-Margin Markov Networks", NIPS 2003.
    .. [2] Yu, Joachims, "Learning Structural SVMs with Latent Variables", ICML 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import MaxMargin
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.array([[2.0, 0.0], [0.5, 0.0]]), np.zeros((2, 2)))
    >>> loss, _ = MaxMargin()(Chain(np.array([0, 2])), scores, np.array([0, 0]))
    >>> loss
    array([0.5])
    """

    cost: float = 1.0

    requires = ("maximum",)
    smooth = False

    # In spite of the kinks, it gets to a lower loss than stochastic descent in the same time.
    solver = "lbfgs"

    # At zero weights all labellings tie, and training takes long to leave that point.
    start = "log_loss"

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        raised = with_cost(scores, y, self.cost)
        _, worst = structure.maximum(raised)
        if y.ndim == 2:
            _, y = structure.maximum(scores.allow(y))
        score, pull_worst = structure.score(raised, worst)
        gold, pull_gold = structure.score(scores, y)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return pull_gold(-weight, pull_worst(weight, out))

        return score - gold, pullback
