"""Sequence labelling as scikit-learn estimators."""

from .sequences import SequenceArray, as_sequences

__version__ = "0.1.0"

__all__ = ["SequenceArray", "as_sequences"]
