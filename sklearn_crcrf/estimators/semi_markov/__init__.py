"""SemiMarkovCRF: chains of segments, with features of whole segments."""

from .estimator import SemiMarkovCRF
from .features import SegmentFeatures
from .gazetteer import SegmentGazetteer
from .segmented import SegmentedArray
from .with_segments import WithSegments

__all__ = ["SegmentFeatures", "SegmentGazetteer", "SegmentedArray", "SemiMarkovCRF", "WithSegments"]
