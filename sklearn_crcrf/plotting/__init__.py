"""Displays of models and of their errors, in the style of scikit-learn; they need matplotlib.

``from_estimator``, ``from_predictions`` or a similar method makes a display and draws it. The drawn
data are attributes of the display, and ``plot`` draws it again, on given axes.
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
