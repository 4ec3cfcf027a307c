"""Training data on disk that need not fit into memory."""

from .corpus_folder import CorpusFolder
from .predictions import predict_to_file
from .writing import write_corpus

__all__ = ["CorpusFolder", "predict_to_file", "write_corpus"]
