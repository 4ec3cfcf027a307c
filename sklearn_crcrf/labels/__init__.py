"""Labels: their ids, partial labels, the segments that they spell, and constraints on them."""

from .constraints import (
    AtLeast,
    AtMost,
    Constraints,
    Exactly,
    GlobalConstraint,
    Implies,
    Linear,
    SameLabel,
    as_constraints,
    segment_constraints,
)
from .encoding import LabelIds, encode_labels, sort_labels
from .partial import encode_allowed, encode_partial_labels
from .segments import (
    Roles,
    Segments,
    SpelledSegments,
    convert_scheme,
    roles_of,
    segments_to_labels,
    spell_segments,
    to_segments,
)

__all__ = [
    "AtLeast",
    "AtMost",
    "Constraints",
    "Exactly",
    "GlobalConstraint",
    "Implies",
    "LabelIds",
    "Linear",
    "Roles",
    "SameLabel",
    "Segments",
    "SpelledSegments",
    "as_constraints",
    "convert_scheme",
    "encode_allowed",
    "encode_labels",
    "encode_partial_labels",
    "roles_of",
    "segment_constraints",
    "segments_to_labels",
    "sort_labels",
    "spell_segments",
    "to_segments",
]
