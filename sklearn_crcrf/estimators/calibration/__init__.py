"""Probabilities that agree with how often they are right."""

from .estimator import CalibratedSequenceClassifier
from .segment_f1 import SegmentF1Classifier

__all__ = ["CalibratedSequenceClassifier", "SegmentF1Classifier"]
