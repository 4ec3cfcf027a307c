"""Displays of models and of their errors, in the style of scikit-learn; they need matplotlib."""

from .attributes import TopAttributesDisplay
from .confusion import LabelConfusionDisplay
from .regularisation import RegularisationDisplay
from .reliability import ReliabilityDisplay
from .segment_errors import SegmentErrorsDisplay
from .training import TrainingCurve, TrainingDisplay
from .transitions import TransitionDisplay

__all__ = [
    "LabelConfusionDisplay",
    "RegularisationDisplay",
    "ReliabilityDisplay",
    "SegmentErrorsDisplay",
    "TopAttributesDisplay",
    "TrainingCurve",
    "TrainingDisplay",
    "TransitionDisplay",
]
