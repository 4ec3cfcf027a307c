"""Checks of the parameters that the generators share."""

from numbers import Integral, Real

__all__ = ["check_n_samples", "check_probability"]


def check_n_samples(n_samples: int) -> int:
    """Return ``n_samples`` as an int, or raise ValueError unless it is a whole number >= 0."""
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 0:
        raise ValueError(f"n_samples must be a whole number >= 0, got {n_samples!r}")
    return int(n_samples)


def check_probability(value: float, name: str) -> float:
    """Return ``value`` as a float, or raise ValueError unless it lies in [0, 1]."""
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")
    return float(value)
