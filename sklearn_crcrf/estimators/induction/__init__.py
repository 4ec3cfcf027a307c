"""Features that are chosen, and made, while a model is trained."""

from .chosen_pairs import ChosenPairs
from .estimator import FeatureInduction

__all__ = ["ChosenPairs", "FeatureInduction"]
