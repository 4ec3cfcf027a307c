"""Structures: sets of labellings, with sums and maxima over all labellings."""

from ..utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
