"""Displays of models and of their errors, as scikit-learn has them; they need matplotlib.

A display is made by ``from_estimator``, ``from_predictions`` or the like, which draws it, too. What
is drawn are attributes of it, and ``plot`` draws it again, on given axes.
"""

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
