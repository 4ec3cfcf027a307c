"""Conditional random fields trained in two parts: a classifier of nodes, and counted rates."""

from .estimator import SeparateCRF

__all__ = ["SeparateCRF"]
