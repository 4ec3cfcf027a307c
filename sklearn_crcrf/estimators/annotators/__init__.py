"""Labels from labellings by several annotators."""

from .estimator import SequenceLabelModel

__all__ = ["SequenceLabelModel"]
