"""Labels: their ids, partial labels, and inequalities."""

from .encoding import LabelIds, encode_labels, sort_labels
from .partial import encode_allowed, encode_partial_labels

__all__ = ["LabelIds", "encode_allowed", "encode_labels", "encode_partial_labels", "sort_labels"]
