"""Labels: their ids, partial labels, the segments that they spell, and constraints on them."""

from ..utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
