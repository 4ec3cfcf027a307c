"""Smooth functions of the margin by which a decision is wrong, instead of a step from 0 to 1."""

import numpy as np
from scipy.special import expit


def _sigmoid(d: np.ndarray, slope: float, offset: float) -> tuple[np.ndarray, np.ndarray]:
    """1 / (1 + exp(-(slope d + offset))), and its derivative."""
    value = expit(slope * d + offset)
    return value, slope * value * expit(-(slope * d + offset))


def _logistic(d: np.ndarray, slope: float, offset: float) -> tuple[np.ndarray, np.ndarray]:
    """log(1 + exp(slope d + offset)) / slope, and its derivative."""
    exponent = slope * d + offset
    return np.logaddexp(0.0, exponent) / slope, expit(exponent)


SMOOTHINGS = {"sigmoid": _sigmoid, "logistic": _logistic}
"""Functions of d, the slope and the offset, by name."""


def check_positive(**values: float) -> None:
    """Raise ValueError for a value that is not positive."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")
