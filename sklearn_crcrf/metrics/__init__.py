"""Metrics of predicted labels, per token, per sequence and per segment; and scorers.

Every metric accepts nested lists, SequenceArray and one-dimensional arrays. A sample, which has
one entry in ``sample_weight``, is a sequence; in a one-dimensional array it is a token.
"""

from ..utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
