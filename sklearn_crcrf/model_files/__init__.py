"""Model files: trusted content, unpacking within limits, and atomic replacement."""

from ..utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
