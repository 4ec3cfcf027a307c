"""Transformers from tokens to symbols, sparse attributes and numbers."""

from .found_labels import FoundLabels
from .gazetteer import Gazetteer
from .per_token import PerToken
from .template_features import TemplateFeatures
from .text_features import text_features
from .token_features import TokenFeatures
from .vectorizer import SequenceVectorizer
from .window import Window
from .word_clusters import WordClusters
from .word_vectors import WordVectors

__all__ = [
    "FoundLabels",
    "Gazetteer",
    "PerToken",
    "SequenceVectorizer",
    "TemplateFeatures",
    "TokenFeatures",
    "Window",
    "WordClusters",
    "WordVectors",
    "text_features",
]
