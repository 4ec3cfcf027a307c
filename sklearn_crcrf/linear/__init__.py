"""Scores that are linear in weights: terms, gradients and training objectives."""

from ..base.weights import Weights

__all__ = ["Weights"]
