"""Scores that are linear in weights: terms, gradients and training objectives."""

from ..base.weights import NamedWeights, Weights
from ..data.sums import state_scores
from .batches import BatchObjective
from .corpus import (
    Chunk,
    Corpus,
    check_magnitude,
    edge_columns,
    transition_counts,
    without_columns,
)
from .correcting import correct, find, step_by_margin
from .designs import (
    DenseDesign,
    FactoredDesign,
    ObservedDesign,
    SparseDesign,
    design_of,
    sparse_design,
)
from .duplicate_columns import DuplicateColumns, find_duplicates
from .edge_data import EdgeEncoder
from .examples import Coefficients, Differences, Examples
from .link_tables import different_rows
from .objective import Objective, Shard
from .single_weights import observed_pairs
from .terms import (
    Term,
    Terms,
    Transition,
    TransitionFeature,
    TransitionTables,
    numbered,
    shared_terms,
)

__all__ = [
    "BatchObjective",
    "Chunk",
    "Coefficients",
    "Corpus",
    "DenseDesign",
    "Differences",
    "DuplicateColumns",
    "EdgeEncoder",
    "Examples",
    "FactoredDesign",
    "NamedWeights",
    "Objective",
    "ObservedDesign",
    "Shard",
    "SparseDesign",
    "Term",
    "Terms",
    "Transition",
    "TransitionFeature",
    "TransitionTables",
    "Weights",
    "check_magnitude",
    "correct",
    "design_of",
    "different_rows",
    "edge_columns",
    "find",
    "find_duplicates",
    "numbered",
    "observed_pairs",
    "shared_terms",
    "sparse_design",
    "state_scores",
    "step_by_margin",
    "transition_counts",
    "without_columns",
]
