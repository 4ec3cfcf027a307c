"""What a CRF that is trained out of core cannot have."""

from collections.abc import Collection
from typing import Any

from ...criteria import as_criterion
from ...linear import Weights
from ...out_of_core.refusal import refuse_what_needs_all
from .solving import choose_solver

__all__ = ["check_out_of_core", "what_needs_all"]


def check_out_of_core(crf: Any, y: Any, sample_weight: Any) -> None:
    """Check, before any work, that a CRF can be trained on a corpus folder.

    Raises
    ------
    ValueError
        If a parameter needs all of the data at once; the message names it.
    """
    refuse_what_needs_all(y, sample_weight, what_needs_all(crf, SOLVERS))


def what_needs_all(crf: Any, solvers: Collection[str]) -> dict[str, bool]:
    """Which parameters of a CRF, as text with their values, need all of the data at once.

    Parameters
    ----------
    crf : CRF
    solvers : collection of str
        The solvers that do not.
    """
    criterion = as_criterion(crf.criterion)
    solver = choose_solver(crf.solver, crf.c1, criterion.solver)
    return {
        f"criterion={criterion}": not criterion.is_sum,
        f"features={crf.features!r}": not isinstance(crf.features, str),
        f"class_weight={crf.class_weight!r}": crf.class_weight is not None,
        f"validation_fraction={crf.validation_fraction}": crf.validation_fraction is not None,
        f"init={crf.init!r}": not isinstance(crf.init, Weights) and crf.init not in STARTS,
        f'solver="{solver}"': solver not in solvers,
    }


STARTS = ("auto", "zeros", "log_loss")
SOLVERS = ("lbfgs", "owlqn", "sgd", "cg", "rprop", "quickprop", "bundle")
"""The starts and the solvers that see only the objective, or one batch after another."""
