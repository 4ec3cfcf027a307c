"""Structures: the sets of labellings that are summed and maximised over."""

from .chain import Chain, Pullback
from .parts import AddTo, Edges, PartCounts, Parts
from .second_order import SecondOrderChain

__all__ = [
    "AddTo",
    "Chain",
    "Edges",
    "PartCounts",
    "Parts",
    "Pullback",
    "SecondOrderChain",
]
