"""Chains whose scores are linear in their weights: scores, gradients and training objectives."""

from .batches import BatchObjective
from .corpus import Corpus, transition_counts
from .designs import DenseDesign, FactoredDesign, ObservedDesign, SparseDesign, sparse_design
from .duplicate_columns import DuplicateColumns, find_duplicates
from .edges import EdgeDesign, edge_columns
from .examples import Coefficients, Differences, Examples
from .magnitude import check_magnitude
from .named_weights import NamedWeights
from .objective import Objective
from .single_weights import observed_pairs
from .sums import state_scores
from .weights import Layout, Weights

__all__ = [
    "BatchObjective",
    "Coefficients",
    "Corpus",
    "DenseDesign",
    "Differences",
    "DuplicateColumns",
    "EdgeDesign",
    "Examples",
    "FactoredDesign",
    "Layout",
    "NamedWeights",
    "Objective",
    "ObservedDesign",
    "SparseDesign",
    "Weights",
    "check_magnitude",
    "edge_columns",
    "find_duplicates",
    "observed_pairs",
    "sparse_design",
    "state_scores",
    "transition_counts",
]
