"""Features that are chosen, and made, while a model is trained."""

from .estimator import FeatureInduction
from .retraining import ChosenPairs

__all__ = ["ChosenPairs", "FeatureInduction"]
