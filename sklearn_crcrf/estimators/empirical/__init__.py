"""Empirical training: conditional random fields by counting."""

from .estimator import EmpiricalCRF

__all__ = ["EmpiricalCRF"]
