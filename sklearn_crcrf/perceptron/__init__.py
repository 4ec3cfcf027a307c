"""The structured perceptron."""

from .estimator import StructuredPerceptron

__all__ = ["StructuredPerceptron"]
