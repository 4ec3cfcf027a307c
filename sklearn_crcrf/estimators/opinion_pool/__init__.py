"""Logarithmic opinion pools: one chain made of several, the experts."""

from .estimator import OpinionPoolCRF
from .expert_makers import label_experts, positional_experts, random_experts
from .merged_labels import MergedLabels
from .random_attributes import RandomAttributes

__all__ = [
    "MergedLabels",
    "OpinionPoolCRF",
    "RandomAttributes",
    "label_experts",
    "positional_experts",
    "random_experts",
]
