"""Structures: the sets of labellings that are summed and maximised over."""

from .chain import Chain, Pullback
from .parts import Edges, PartCounts, Parts
from .second_order import SecondOrderChain

__all__ = ["Chain", "Edges", "PartCounts", "Parts", "Pullback", "SecondOrderChain"]
