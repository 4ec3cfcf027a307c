"""The structured perceptron, and online training with steps that depend on the margin."""

from .arow import ArowCRF
from .estimator import StructuredPerceptron
from .passive_aggressive import PassiveAggressiveCRF

__all__ = ["ArowCRF", "PassiveAggressiveCRF", "StructuredPerceptron"]
