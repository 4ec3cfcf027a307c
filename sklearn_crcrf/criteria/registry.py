"""Criteria by name."""

from collections.abc import Callable

from .base import Criterion, PlainCriterion
from .expected_cost import expected_cost
from .log_loss import log_loss
from .marginal_likelihood import marginal_likelihood
from .max_margin import MaxMargin
from .mce import MCE
from .mce_f1 import MCEF1
from .piecewise import Piecewise
from .pseudo_likelihood import pseudo_likelihood
from .softmax_margin import SoftmaxMargin
from .token_error import TokenError

CRITERIA: dict[str, Criterion] = {
    "log_loss": log_loss,
    "piecewise": Piecewise(),
    "pseudo_likelihood": pseudo_likelihood,
    "marginal_likelihood": marginal_likelihood,
    "max_margin": MaxMargin(),
    "softmax_margin": SoftmaxMargin(),
    "expected_cost": expected_cost,
    "token_error": TokenError(),
    "mce": MCE(),
    "mce_f1": MCEF1(weight=9.0),  # with which it does not lose against the log loss by defaults
}


def as_criterion(criterion: str | Callable) -> Criterion:
    """Return a criterion, given its name, the criterion itself, or a function.

    Parameters
    ----------
    criterion : str, Criterion or callable
        A function returns losses and their pullback, as :meth:`Criterion.__call__` does.

    Returns
    -------
    Criterion

    Raises
    ------
    ValueError
        If there is no criterion of this name.

    Examples
    --------
    >>> from sklearn_crcrf.criteria import as_criterion
    >>> as_criterion("max_margin")
    MaxMargin()
    """
    if isinstance(criterion, str):
        if criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {[*CRITERIA]}, got {criterion!r}")
        return CRITERIA[criterion]
    return criterion if isinstance(criterion, Criterion) else PlainCriterion(criterion)
