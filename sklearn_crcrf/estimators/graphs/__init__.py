"""Conditional random fields over graphs with cycles."""

from .associative import AssociativeMarkovNetwork
from .estimator import GraphCRF

__all__ = ["AssociativeMarkovNetwork", "GraphCRF"]
