"""Model files: trusted content, unpacking within limits, and atomic replacement."""

from .compact import CompactClassifier
from .saving import MAX_BYTES, StoredModel, load_model, require_skops, save_model

__all__ = [
    "MAX_BYTES",
    "CompactClassifier",
    "StoredModel",
    "load_model",
    "require_skops",
    "save_model",
]
