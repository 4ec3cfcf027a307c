"""Gradient tree boosting of chains."""

from .estimator import BoostedCRF

__all__ = ["BoostedCRF"]
