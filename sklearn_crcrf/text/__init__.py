"""Documents: their tokens, spans of their characters, and an estimator that finds spans."""

from ..utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
