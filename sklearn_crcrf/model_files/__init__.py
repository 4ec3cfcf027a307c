"""Model files: trusted content, unpacking within limits, and atomic replacement."""

from .saving import MAX_BYTES, StoredModel, load_model, require_skops, save_model

__all__ = ["MAX_BYTES", "StoredModel", "load_model", "require_skops", "save_model"]
