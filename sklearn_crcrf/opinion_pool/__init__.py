"""Logarithmic opinion pools: one chain made of several, the experts."""

from .estimator import OpinionPoolCRF
from .merged_labels import MergedLabels
from .random_attributes import RandomAttributes
from .sources import label_experts, positional_experts, random_experts

__all__ = [
    "MergedLabels",
    "OpinionPoolCRF",
    "RandomAttributes",
    "label_experts",
    "positional_experts",
    "random_experts",
]
