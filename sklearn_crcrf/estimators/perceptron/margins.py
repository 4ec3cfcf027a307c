"""Learners whose steps depend on the margin."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...linear import Coefficients, Examples, step_by_margin
from .learning import LastWeights, Learned, MeanWeights

__all__ = ["MARGIN_LEARNERS", "MarginRule"]


class MarginRule(NamedTuple):
    """How the size of a step depends on the margin.

    Parameters
    ----------
    power : float
        The margin is the number of wrong labels to this power.
    sizes : callable
        Makes bound, slack and spread from the weights of the sequences, which are not zero.
    variance : float or None
        Of all weights before training; None if weights have no variances.
    """

    power: float
    sizes: Callable[[np.ndarray], tuple]
    variance: float | None = None


class _ByMargin(LastWeights):
    """A learner with a rule for its steps.

    Parameters
    ----------
    start : Learned
    rule : MarginRule
    """

    def __init__(self, start: Learned, rule: MarginRule):
        super().__init__(start)
        self._rule, self._variances = rule, None
        if rule.variance is not None:
            parts = (np.full(part.shape, float(rule.variance)) for part in start.last)
            self._variances = Coefficients(*parts)

    def copy(self) -> "_ByMargin":
        """Another learner in the same state."""
        twin = type(self)(self.learned(), self._rule)
        twin._variances = None if self._variances is None else self._variances.copy()
        return twin

    def _correct(
        self, examples: Examples, order: np.ndarray, cost: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, dict]:
        variances = None if self._variances is None else self._variances.copy()
        used = examples.weight > 0
        sizes = tuple(
            np.where(used, size, nothing) * 1.0
            for size, nothing in zip(
                self._rule.sizes(np.where(used, examples.weight, 1.0)),
                (0.0, np.inf, np.inf),
                strict=True,
            )
        )
        found, taken = step_by_margin(
            examples, self._spare, order, self._rule.power, sizes, variances
        )
        return found, taken, {"_variances": variances}


class LastByMargin(_ByMargin):
    """A learner that predicts with the weights after the last example."""


class MeanByMargin(_ByMargin, MeanWeights):
    """A learner that predicts with the mean of the weights after each example."""


MARGIN_LEARNERS = {"none": LastByMargin, "mean": MeanByMargin}
"""Learners, by the value of ``averaging``."""
