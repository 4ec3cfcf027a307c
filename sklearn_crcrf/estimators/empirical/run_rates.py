"""What the rates of three and of four labels in a row share."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Self

import numpy as np

from ...structures import RunTable

__all__ = ["SHARE", "STRENGTH", "RunRates"]

# The number of observations that the prior counts as much as.
STRENGTH = 10.0
# The exponent of the rates is this share of the exponent of transitions: they overlap.
SHARE = 0.6


class RunRates(ABC):
    """Logarithms of rates of labels in a row, times an exponent that follows the transitions.

    Parameters
    ----------
    exponent : float
        The exponent of transitions.

    Attributes
    ----------
    exponent : float
        The exponent of the rates.
    """

    exponent = 1.0  # of models whose rates were stored with their exponent

    def __init__(self, exponent: float):
        self.exponent = SHARE * exponent

    @abstractmethod
    def table(self) -> RunTable:
        """The scores as a table."""

    def __call__(self, *labels: np.ndarray) -> np.ndarray:
        """The scores of labels in a row, all of shape (n,)."""
        return self.table()(*labels)

    def following(self, exponent: float) -> Self:
        """The same rates with another exponent of transitions."""
        twin = copy(self)
        twin.exponent = SHARE * exponent
        return twin
