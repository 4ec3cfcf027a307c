"""Engines that find sums and maxima over the labellings of graphs, one in each file."""

from ...utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
