"""Metrics of predicted labels, per token, per sequence and per segment; and scorers.

Every metric accepts nested lists, SequenceArray and one-dimensional arrays. A sample, which has
one entry in ``sample_weight``, is a sequence; in a one-dimensional array it is a token.
"""

from .errors import SegmentErrors, segment_errors
from .probabilities import token_log_loss
from .report import segment_report
from .scorers import get_sequence_scorer, get_sequence_scorer_names
from .segments import (
    SegmentScores,
    segment_f1,
    segment_precision,
    segment_precision_recall_f1,
    segment_recall,
)
from .tokens import (
    known_accuracy,
    sequence_accuracy,
    token_accuracy,
    token_confusion_matrix,
    token_f1,
    unknown_accuracy,
)

__all__ = [
    "SegmentErrors",
    "SegmentScores",
    "get_sequence_scorer",
    "get_sequence_scorer_names",
    "known_accuracy",
    "segment_errors",
    "segment_f1",
    "segment_precision",
    "segment_precision_recall_f1",
    "segment_recall",
    "segment_report",
    "sequence_accuracy",
    "token_accuracy",
    "token_confusion_matrix",
    "token_f1",
    "token_log_loss",
    "unknown_accuracy",
]
