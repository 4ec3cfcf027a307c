"""Which labels may follow which, begin a sequence and end it."""

from .constraints import Constraints, as_constraints, segment_constraints

__all__ = ["Constraints", "as_constraints", "segment_constraints"]
