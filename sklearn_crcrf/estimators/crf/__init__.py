"""Conditional random fields of iterative training."""

from .estimator import CRF

__all__ = ["CRF"]
