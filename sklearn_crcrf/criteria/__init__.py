"""Training criteria: a loss of each sequence, and its pullback.

A criterion is called with a structure, the parts of a batch and the gold labels. It returns the
loss of each sequence, and a function that takes a weight for each sequence and returns the
derivative of the weighted sum of the losses by the parts, as PartCounts.
"""

from .local_log_loss import local_log_loss
from .log_loss import log_loss
from .mce import MCE

__all__ = ["CRITERIA", "MCE", "local_log_loss", "log_loss"]

CRITERIA = {
    "log_loss": log_loss,
    "mce": MCE(),
}
"""Criteria by name."""
