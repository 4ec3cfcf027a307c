"""Constraints: on transitions, and on the labels of whole samples."""

from .constraints import Constraints, as_constraints, forbidden_scores, segment_constraints
from .global_constraint import GlobalConstraint
from .implies import Implies
from .linear import AtLeast, AtMost, Exactly, Linear
from .same_label import SameLabel

__all__ = [
    "AtLeast",
    "AtMost",
    "Constraints",
    "Exactly",
    "GlobalConstraint",
    "Implies",
    "Linear",
    "SameLabel",
    "as_constraints",
    "forbidden_scores",
    "segment_constraints",
]
