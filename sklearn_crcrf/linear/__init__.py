"""Chains whose scores are linear in their weights: scores, gradients and training objectives."""

from .batches import BatchObjective
from .corpus import Corpus, observed_transitions
from .designs import DenseDesign, ObservedDesign, SparseDesign, observed_pairs, state_scores
from .edges import EdgeDesign
from .objective import Objective
from .weights import Layout, Weights

__all__ = [
    "BatchObjective",
    "Corpus",
    "DenseDesign",
    "EdgeDesign",
    "Layout",
    "Objective",
    "ObservedDesign",
    "SparseDesign",
    "Weights",
    "observed_pairs",
    "observed_transitions",
    "state_scores",
]
