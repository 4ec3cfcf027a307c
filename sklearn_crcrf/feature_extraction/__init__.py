"""Transformers from tokens to symbols, sparse attributes and numbers."""

from .gazetteer import Gazetteer
from .template_features import TemplateFeatures
from .token_features import TokenFeatures
from .vectorizer import SequenceVectorizer
from .window import Window
from .word_clusters import WordClusters
from .word_vectors import WordVectors

__all__ = [
    "Gazetteer",
    "SequenceVectorizer",
    "TemplateFeatures",
    "TokenFeatures",
    "Window",
    "WordClusters",
    "WordVectors",
]
