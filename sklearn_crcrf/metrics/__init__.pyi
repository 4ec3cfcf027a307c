"""The public names, and the files that define them."""

__all__: list[str]

from .errors import SegmentErrors as SegmentErrors
from .errors import segment_errors as segment_errors
from .probabilities import token_log_loss as token_log_loss
from .report import segment_report as segment_report
from .report import token_report as token_report
from .scorers import get_sequence_scorer as get_sequence_scorer
from .scorers import get_sequence_scorer_names as get_sequence_scorer_names
from .segments import SegmentScores as SegmentScores
from .segments import segment_f1 as segment_f1
from .segments import segment_precision as segment_precision
from .segments import segment_precision_recall_f1 as segment_precision_recall_f1
from .segments import segment_recall as segment_recall
from .spans import span_precision_recall_f1 as span_precision_recall_f1
from .tokens import known_accuracy as known_accuracy
from .tokens import sequence_accuracy as sequence_accuracy
from .tokens import token_accuracy as token_accuracy
from .tokens import token_confusion_matrix as token_confusion_matrix
from .tokens import token_f1 as token_f1
from .tokens import unknown_accuracy as unknown_accuracy
