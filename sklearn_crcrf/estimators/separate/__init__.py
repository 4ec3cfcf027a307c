"""Conditional random fields trained in two parts: nodes, and rates of linked nodes."""

from .estimator import SeparateCRF

__all__ = ["SeparateCRF"]
