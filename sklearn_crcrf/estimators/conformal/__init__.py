"""Sets of labellings, spans and labels that hold the truth as often as they promise."""

from .estimator import ConformalSequenceClassifier

__all__ = ["ConformalSequenceClassifier"]
