"""Transformers from tokens to symbols and to sparse attributes."""

from .template_features import TemplateFeatures
from .token_features import TokenFeatures
from .vectorizer import SequenceVectorizer
from .window import Window

__all__ = ["SequenceVectorizer", "TemplateFeatures", "TokenFeatures", "Window"]
