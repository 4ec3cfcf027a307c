"""Scores with a cost added to wrong labels."""

import numpy as np

from ..structures import Scores


def check_not_negative(**parameters: float) -> None:
    """Raise ValueError for a parameter that is negative or not finite."""
    for name, value in parameters.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be finite and not negative, but is {value}")


def with_cost(scores: Scores, y: np.ndarray, cost: float) -> Scores:
    """Return scores with ``cost`` added to the state scores of wrong labels.

    Raises
    ------
    ValueError
        If the cost is negative or not finite.
    """
    check_not_negative(cost=cost)
    costs = scores.costs(y)
    costs *= costs.dtype.type(cost)
    costs += scores.state
    return scores.with_state(costs)
