"""Chains whose scores are linear in their weights: scores, gradients and training objectives."""

from .batches import BatchObjective
from .corpus import Corpus, transition_counts
from .designs import DenseDesign, ObservedDesign, SparseDesign, observed_pairs, state_scores
from .edges import EdgeDesign, edge_columns
from .examples import Coefficients, Differences, Examples
from .objective import Criterion, Objective
from .weights import Layout, Weights

__all__ = [
    "BatchObjective",
    "Coefficients",
    "Corpus",
    "Criterion",
    "DenseDesign",
    "Differences",
    "EdgeDesign",
    "Examples",
    "Layout",
    "Objective",
    "ObservedDesign",
    "SparseDesign",
    "Weights",
    "edge_columns",
    "observed_pairs",
    "state_scores",
    "transition_counts",
]
