"""Training criteria: a loss of each sequence, and its pullback.

A criterion is called with a structure, the scores of a batch and the gold labels. It returns the
loss of each sequence, and a pullback: a function that takes a weight for each sequence and returns
the score gradient of the weighted sum of the losses.
"""

from .base import Criterion, PlainCriterion
from .expected_cost import ExpectedCost, expected_cost
from .local_log_loss import LocalLogLoss, local_log_loss
from .log_loss import LogLoss, log_loss
from .marginal_likelihood import MarginalLikelihood, marginal_likelihood
from .max_margin import MaxMargin
from .mce import MCE
from .mce_f1 import MCEF1
from .piecewise import Piecewise
from .pseudo_likelihood import PseudoLikelihood, pseudo_likelihood
from .registry import CRITERIA, as_criterion
from .softmax_margin import SoftmaxMargin
from .token_error import TokenError

__all__ = [
    "CRITERIA",
    "MCE",
    "MCEF1",
    "Criterion",
    "ExpectedCost",
    "LocalLogLoss",
    "LogLoss",
    "MarginalLikelihood",
    "MaxMargin",
    "Piecewise",
    "PlainCriterion",
    "PseudoLikelihood",
    "SoftmaxMargin",
    "TokenError",
    "as_criterion",
    "expected_cost",
    "local_log_loss",
    "log_loss",
    "marginal_likelihood",
    "pseudo_likelihood",
]
