"""Training criteria: a loss of each sequence, and its pullback.

A criterion is called with a structure, the parts of a batch and the gold labels. It returns the
loss of each sequence, and a function that takes a weight for each sequence and returns the
derivative of the weighted sum of the losses by the parts, as PartCounts. If it ``foresees``, it can
be told beforehand what that function will be called with.
"""

from .expected_cost import expected_cost
from .local_log_loss import local_log_loss
from .log_loss import log_loss
from .marginal_likelihood import marginal_likelihood
from .max_margin import MaxMargin
from .mce import MCE
from .mce_f1 import MCEF1
from .piecewise import Piecewise
from .pseudo_likelihood import pseudo_likelihood
from .softmax_margin import SoftmaxMargin
from .token_error import TokenError

__all__ = [
    "CRITERIA",
    "MCE",
    "MCEF1",
    "MaxMargin",
    "Piecewise",
    "SoftmaxMargin",
    "TokenError",
    "expected_cost",
    "local_log_loss",
    "log_loss",
    "marginal_likelihood",
    "pseudo_likelihood",
]

CRITERIA = {
    "log_loss": log_loss,
    "piecewise": Piecewise(),
    "pseudo_likelihood": pseudo_likelihood,
    "marginal_likelihood": marginal_likelihood,
    "max_margin": MaxMargin(),
    "softmax_margin": SoftmaxMargin(),
    "expected_cost": expected_cost,
    "token_error": TokenError(),
    "mce": MCE(),
    "mce_f1": MCEF1(),
}
"""Criteria by name."""
