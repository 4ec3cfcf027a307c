"""Engines that find sums and maxima over the labellings of graphs, one in each file."""

from .auto import Auto
from .base import Convergence, Inference, Report
from .cut import Cut
from .exact import Exact
from .ilp import IntegerProgram
from .loopy import Loopy
from .registry import INFERENCE, as_inference
from .tree_reweighted import TreeReweighted

__all__ = [
    "INFERENCE",
    "Auto",
    "Convergence",
    "Cut",
    "Exact",
    "Inference",
    "IntegerProgram",
    "Loopy",
    "Report",
    "TreeReweighted",
    "as_inference",
]
