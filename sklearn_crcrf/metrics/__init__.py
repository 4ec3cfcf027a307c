"""How good are predicted labels: per token, per sequence and per segment; and scorers.

Every metric takes nested lists, SequenceArray and one-dimensional arrays alike. A sample, the
thing that ``sample_weight`` has one entry for, is a sequence; in a one-dimensional array it is
a token.
"""

from ._errors import SegmentErrors, segment_errors
from ._probability import token_log_loss
from ._report import segment_report
from ._scorer import get_sequence_scorer, get_sequence_scorer_names
from ._segment import (
    SegmentScores,
    segment_f1,
    segment_precision,
    segment_precision_recall_f1,
    segment_recall,
)
from ._token import (
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
