"""Chains whose scores are linear in their weights: scores, gradients and training objectives."""

from .batches import BatchObjective
from .cells import observed_pairs
from .corpus import Corpus, transition_counts
from .designs import DenseDesign, FoldedDesign, ObservedDesign, SparseDesign, sparse_design
from .edges import EdgeDesign, edge_columns
from .examples import Coefficients, Differences, Examples
from .magnitude import check_magnitude
from .named_weights import NamedWeights
from .objective import Objective
from .sums import state_scores
from .tying import Tied, tie
from .weights import Layout, Weights

__all__ = [
    "BatchObjective",
    "Coefficients",
    "Corpus",
    "DenseDesign",
    "Differences",
    "EdgeDesign",
    "Examples",
    "FoldedDesign",
    "Layout",
    "NamedWeights",
    "Objective",
    "ObservedDesign",
    "SparseDesign",
    "Tied",
    "Weights",
    "check_magnitude",
    "edge_columns",
    "observed_pairs",
    "sparse_design",
    "state_scores",
    "tie",
    "transition_counts",
]
