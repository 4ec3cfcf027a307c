"""SemiMarkovCRF: chains of segments, with features of whole segments."""

from .estimator import SemiMarkovCRF
from .segmented import SegmentedArray

__all__ = ["SegmentedArray", "SemiMarkovCRF"]
