"""Sequence labelling as scikit-learn estimators."""

from .empirical import EmpiricalCRF
from .feature_extraction import SequenceVectorizer, TokenFeatures, Window
from .sequences import SequenceArray, as_sequences

__version__ = "0.1.0"

__all__ = [
    "EmpiricalCRF",
    "SequenceArray",
    "SequenceVectorizer",
    "TokenFeatures",
    "Window",
    "as_sequences",
]
