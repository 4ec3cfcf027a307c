"""Constraints: which labels may follow each label, begin a sequence or end it."""

from .constraints import Constraints, as_constraints, segment_constraints

__all__ = ["Constraints", "as_constraints", "segment_constraints"]
