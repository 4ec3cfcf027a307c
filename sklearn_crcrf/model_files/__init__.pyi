"""The public names, and the files that define them."""

__all__: list[str]

from ..utils.unpacking import MAX_BYTES as MAX_BYTES
from .compact import CompactClassifier as CompactClassifier
from .saving import StoredModel as StoredModel
from .saving import load_model as load_model
from .saving import save_model as save_model
