"""Segments: from labels in any scheme to (sequence, start, end, type), and back."""

from .roles import Roles, roles_of
from .segments import (
    Segments,
    SpelledSegments,
    convert_scheme,
    segments_to_labels,
    spell_segments,
    to_segments,
)

__all__ = [
    "Roles",
    "Segments",
    "SpelledSegments",
    "convert_scheme",
    "roles_of",
    "segments_to_labels",
    "spell_segments",
    "to_segments",
]
