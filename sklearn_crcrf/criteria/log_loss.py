"""The negative log-likelihood."""

import numpy as np

from ..labels.soft import SoftLabels
from ..structures import AddTo, Pullback, ScoreGradient, Scores, Structure
from .base import Criterion


class LogLoss(Criterion):
    r"""Negative log-likelihood of the gold paths, :math:`\log Z - s(y)` [1]_.

    It is convex. With partial labels it is the likelihood of all paths that the labels allow, and
    with probabilities of labels it is the expected log-likelihood, :math:`\log Z - E[s(y)]`.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira, "Conditional Random Fields: Probabilistic Models for
       Segmenting and Labeling Sequence Data", ICML 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> scores = Scores.of(np.zeros((2, 2)), np.log([[3.0, 1.0], [1.0, 1.0]]))
    >>> loss, _ = log_loss(Chain(np.array([0, 2])), scores, np.array([0, 0]))
    >>> np.exp(-loss)
    array([0.5])
    """

    requires = ("log_partition",)
    takes_soft_labels = True

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray | SoftLabels
    ) -> tuple[np.ndarray, Pullback]:
        log_z, pull_z = structure.log_partition(scores)
        gold, pull_gold = structure.gold_score(scores, y)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return pull_gold(-weight, pull_z(weight, out))

        return log_z - gold, pullback

    def value_and_gradient(
        self,
        structure: Structure,
        scores: Scores,
        y: np.ndarray,
        weight: np.ndarray,
        out: AddTo = None,
    ) -> tuple[np.ndarray, ScoreGradient]:
        # Going forward and backward at once needs less memory than a pullback.
        log_z, expected = structure.log_partition_and_gradient(scores, weight, out)
        gold, pull_gold = structure.gold_score(scores, y)
        return log_z - gold, pull_gold(-weight, expected)

    def curvature(
        self, structure: Structure, scores: Scores, y: np.ndarray, direction: ScoreGradient
    ) -> Pullback:
        """Return the second derivatives times a direction: a difference of covariances."""
        _, pull_z = structure.covariance(scores, direction)
        if isinstance(y, SoftLabels) or y.ndim == 1:
            return pull_z  # the score of gold labels is linear
        _, pull_gold = structure.covariance(scores.allow(y), direction)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            return pull_gold(-weight, pull_z(weight, out))

        return pullback


log_loss = LogLoss()
