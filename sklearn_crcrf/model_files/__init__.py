"""Files of models: what may be in them, how they are unpacked, and how they replace others."""

from .saving import MAX_BYTES, StoredModel, load_model, require_skops, save_model

__all__ = ["MAX_BYTES", "StoredModel", "load_model", "require_skops", "save_model"]
