"""The log loss with a margin."""

from dataclasses import dataclass

import numpy as np

from ..structures import AddTo, Pullback, ScoreGradient, Scores, SegmentCosts, Structure
from ._cost import check_not_negative, with_cost
from ._tokens import check_all_known
from .base import Criterion
from .log_loss import log_loss


@dataclass(eq=False, repr=False)
class SoftmaxMargin(Criterion):
    r"""Log loss in which wrong labels have a higher score than in prediction [1]_.

    .. math::

       \log \sum_{y'} \exp\left(s(y') + \mathrm{cost} \cdot d(y, y')\right) - s(y)

    with s the score, and d the number of tokens whose labels differ. It is convex, smooth and never
    below the margin loss of the same cost; with a cost of zero it is the log loss. With partial
    labels, no label that they allow costs anything. In chains of segments, wrong segments may have
    a cost too.

    Parameters
    ----------
    cost : float, default=1.0
        What is added to the score of each wrong label, not negative.
    segment_cost : float, default=0.0
        What is added to the score of each segment that is not gold, not negative. It needs
        chains of segments (:class:`~sklearn_crcrf.SemiMarkovCRF`), in which segments longer than
        ``max_length`` cost nothing, and labels that are not partial.

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

    cost: float = 1.0
    segment_cost: float = 0.0

    @property
    def requires(self) -> tuple[str, ...]:  # type: ignore[override]
        """The capabilities that a structure must have."""
        return ("log_partition", "segment_costs") if self.segment_cost else ("log_partition",)

    @property
    def takes_partial_labels(self) -> bool:  # type: ignore[override]
        """Whether some labels may not be known: not if segments have costs."""
        return not self.segment_cost

    def __call__(
        self, structure: Structure, scores: Scores, y: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        raised = with_cost(scores, y, self.cost)
        if not self.segment_cost:
            return log_loss(structure, raised, y)
        costs = self._segment_costs(structure, raised, y)
        loss, pullback = log_loss(costs.structure, costs.scores, y)
        return loss, costs.pulled(pullback)

    def value_and_gradient(
        self,
        structure: Structure,
        scores: Scores,
        y: np.ndarray,
        weight: np.ndarray,
        out: AddTo = None,
    ) -> tuple[np.ndarray, ScoreGradient]:
        raised = with_cost(scores, y, self.cost)
        if not self.segment_cost:
            return log_loss.value_and_gradient(structure, raised, y, weight, out)
        costs = self._segment_costs(structure, raised, y)
        begun = None if isinstance(out, ScoreGradient) else out
        given = costs.structure, costs.scores, y, weight, begun
        loss, gradient = log_loss.value_and_gradient(*given)
        return loss, costs.restored(gradient, out)

    def curvature(
        self, structure: Structure, scores: Scores, y: np.ndarray, direction: ScoreGradient
    ) -> Pullback:
        """Return the product of the second derivatives with a direction."""
        raised = with_cost(scores, y, self.cost)
        if not self.segment_cost:
            return log_loss.curvature(structure, raised, y, direction)
        costs = self._segment_costs(structure, raised, y)
        ahead = costs.along(direction)
        return costs.pulled(log_loss.curvature(costs.structure, costs.scores, y, ahead))

    def _segment_costs(self, structure: Structure, scores: Scores, y: np.ndarray) -> SegmentCosts:
        check_not_negative(segment_cost=self.segment_cost)
        check_all_known("SoftmaxMargin with a segment_cost", y)
        return structure.segment_costs(scores, y, self.segment_cost)
