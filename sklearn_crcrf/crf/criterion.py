"""What a training criterion says of itself, with defaults for those that say nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..criteria import CRITERIA
from ..linear import Criterion

__all__ = ["criterion_for", "decoding_of", "solver_of", "start_of"]


def criterion_for(criterion: str | Callable, classes: np.ndarray) -> Criterion:
    """A criterion by its name or as it is, for these labels where it needs to know them."""
    criterion = _named(criterion)
    return criterion.for_labels(classes) if hasattr(criterion, "for_labels") else criterion


def solver_of(criterion: str | Callable) -> str:
    """The solver that suits a criterion."""
    return _trait(criterion, "solver", "lbfgs")


def decoding_of(criterion: str | Callable) -> str:
    """The decoding that suits a criterion."""
    return _trait(criterion, "decoding", "viterbi")


def start_of(criterion: str | Callable) -> str:
    """Where training starts: what is not convex starts from the optimum of what is."""
    convex = _trait(criterion, "convex", True)
    return _trait(criterion, "start", "zeros" if convex else "log_loss")


def _named(criterion: str | Callable) -> Callable:
    return CRITERIA[criterion] if isinstance(criterion, str) else criterion


def _trait(criterion: str | Callable, name: str, default: Any) -> Any:
    return getattr(_named(criterion), name, default)
