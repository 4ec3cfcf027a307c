"""The public names, and the files that define them."""

__all__: list[str]

from .found_labels import FoundLabels as FoundLabels
from .lookups import Gazetteer as Gazetteer
from .lookups import WordClusters as WordClusters
from .lookups import WordVectors as WordVectors
from .per_token import PerToken as PerToken
from .spelling import TokenFeatures as TokenFeatures
from .template_features import TemplateFeatures as TemplateFeatures
from .text_features import text_features as text_features
from .vectorizer import SequenceVectorizer as SequenceVectorizer
from .window import Window as Window
