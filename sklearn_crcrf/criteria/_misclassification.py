"""Misclassification measures: by how much other labellings are better than the gold one."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# A ratio is not larger than exp of this, so that its square is a number; beyond that it is flat.
LARGEST = 300.0

Value = tuple[np.ndarray, np.ndarray | float, np.ndarray | float]


def _score(gold: np.ndarray, others: np.ndarray) -> Value:
    """d = others - gold."""
    return others - gold, -1.0, 1.0


def _difference(gold: np.ndarray, others: np.ndarray) -> Value:
    """d = exp(others) - exp(gold), of logarithms of probabilities."""
    p, q = np.exp(gold), np.exp(others)
    return q - p, -p, q


def _ratio(gold: np.ndarray, others: np.ndarray) -> Value:
    """d = exp(others) / exp(gold); what both are divided by cancels."""
    d = others - gold
    ratio = np.exp(np.minimum(d, LARGEST))
    slope = np.where(d < LARGEST, ratio, 0.0)
    return ratio, -slope, slope


class Measure(NamedTuple):
    """d, a function of the gold score and of the soft maximum of the other scores.

    Parameters
    ----------
    value : callable
        Takes both, arrays of shape (n_sequences,), and returns d and its derivatives by them.
    normalised : bool, default=False
        Whether it takes logarithms of probabilities instead of scores.
    """

    value: Callable[[np.ndarray, np.ndarray], Value]
    normalised: bool = False


MEASURES = {
    "score": Measure(_score),
    "difference": Measure(_difference, normalised=True),
    "ratio": Measure(_ratio),
}
"""Measures by name."""
