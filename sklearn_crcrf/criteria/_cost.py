"""Scores with a cost added to wrong labels."""

import numpy as np

from ..structures import Scores

__all__ = ["with_cost"]


def with_cost(scores: Scores, y: np.ndarray, cost: float) -> Scores:
    """Scores with ``cost`` added to the state scores of wrong labels.

    Raises
    ------
    ValueError
        If the cost is negative or not finite.
    """
    if not 0 <= cost < np.inf:
        raise ValueError(f"cost must be finite and not negative, but is {cost}")
    costs = scores.costs(y)
    costs *= costs.dtype.type(cost)
    costs += scores.state
    return scores.with_state(costs)
