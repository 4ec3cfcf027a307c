"""The public names, and the files that define them."""

__all__: list[str]

from .found_labels import FoundLabels as FoundLabels
from .gazetteer import Gazetteer as Gazetteer
from .per_token import PerToken as PerToken
from .template_features import TemplateFeatures as TemplateFeatures
from .text_features import text_features as text_features
from .token_features import TokenFeatures as TokenFeatures
from .vectorizer import SequenceVectorizer as SequenceVectorizer
from .window import Window as Window
from .word_clusters import WordClusters as WordClusters
from .word_vectors import WordVectors as WordVectors
