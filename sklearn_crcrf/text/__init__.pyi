"""The public names, and the files that define them."""

__all__: list[str]

from .estimator import TextTagger as TextTagger
from .formats.documents import Documents as Documents
from .formats.registry import read_spans as read_spans
from .formats.registry import write_spans as write_spans
from .spans import Span as Span
from .spans import labels_to_spans as labels_to_spans
from .spans import spans_to_labels as spans_to_labels
from .tagger import SpanTagger as SpanTagger
from .tokens import find_sentences as find_sentences
from .tokens import find_tokens as find_tokens
from .tokens import split_tokens as split_tokens
