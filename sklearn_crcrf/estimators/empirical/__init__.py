"""Empirical training: conditional random fields by counting."""

from .estimator import EmpiricalCRF
from .search import EmpiricalCRFCV

__all__ = ["EmpiricalCRF", "EmpiricalCRFCV"]
