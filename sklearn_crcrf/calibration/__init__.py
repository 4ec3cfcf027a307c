"""Probabilities that agree with how often they are right."""

from .estimator import CalibratedSequenceClassifier

__all__ = ["CalibratedSequenceClassifier"]
