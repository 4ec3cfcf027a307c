"""The max-margin problem: its objective, and the lower bound from its dual."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from ...linear.examples import Coefficients, Examples, find
from ...structures import Unsupported


class MarginProblem:
    """The max-margin problem of labelled sequences.

    The objective, with d(y) the number of wrong labels of y, is

        sum_s weight_s * max_y [score(y) + d(y) - score(gold_s)] + ||w||^2 / (2 C).

    The dual variables are a distribution over the labellings of each sequence. They give

        w = C sum_s weight_s * (features(gold_s) - E_s[features]),
        sum_s weight_s * E_s[d] - ||w||^2 / (2 C)

    which are weights and a lower bound of the objective; at the optimum, objective and bound are
    equal (Taskar, Guestrin & Koller 2003).

    Parameters
    ----------
    examples : Examples
    C : float

    Raises
    ------
    Unsupported
        If the structure has scores of its own, without weights.

    Attributes
    ----------
    bound : ndarray of shape (n_sequences,)
        C times the weights of the sequences.
    sequences : ndarray of int
        The sequences with tokens and nonzero weight.
    """

    def __init__(self, examples: Examples, C: float):
        if examples.structure.own_scores:
            raise Unsupported(examples.structure, "weights for all scores", "max margin")
        self.examples, self.C = examples, float(C)
        self.bound = self.C * examples.weight
        self.sequences = np.flatnonzero((np.diff(examples.offsets) > 0) & (examples.weight != 0))

    def objective(self, weights: Coefficients) -> float:
        """Return the objective."""
        _, losses = find(self.examples, weights, 1.0)
        return float(self.examples.weight @ losses) + weights.squared_norm() / (2 * self.C)

    def lower_bound(self, weights: Coefficients, wrong: np.ndarray) -> float:
        """Return the dual objective.

        Parameters
        ----------
        weights : Coefficients
            The weights that follow from the dual variables.
        wrong : ndarray of shape (n_sequences,)
            E_s[d], the mean number of wrong labels.
        """
        return float(self.examples.weight @ wrong) - weights.squared_norm() / (2 * self.C)


class Pass(NamedTuple):
    """What a pass over all sequences has found.

    Parameters
    ----------
    weights : Coefficients
    dual_weights : Coefficients
        The weights that follow from the dual variables.
    wrong : ndarray of shape (n_sequences,)
        The mean number of wrong labels under the dual variables.
    """

    weights: Coefficients
    dual_weights: Coefficients
    wrong: np.ndarray


class Solver(Protocol):
    """What takes passes over the sequences of a problem."""

    def take_pass(self, order: np.ndarray) -> Pass:
        """Take a step on each sequence, in this order."""


def minimise(
    problem: MarginProblem,
    make_solver: Callable[[MarginProblem], Solver],
    *,
    max_iter: int = 200,
    tol: float = 1e-2,
    callback: Callable[[OptimizeResult], None] | None = None,
    rng: np.random.RandomState,
) -> OptimizeResult:
    """Pass through the sequences in random order until the duality gap is small.

    Parameters
    ----------
    problem : MarginProblem
    make_solver : callable
        Takes the problem.
    max_iter : int, default=200
        Maximum number of passes over the sequences.
    tol : float, default=1e-2
        Stop when the duality gap is at most this fraction of the objective.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, dual, nit) after every pass; may raise
        StopIteration.
    rng : RandomState

    Returns
    -------
    OptimizeResult
        With x, fun, dual, nit, success and message; x are the best Coefficients so far, and the
        minimum is between dual and fun.

    Raises
    ------
    ValueError
        If the objective or its lower bound is not finite.
    """
    solver = make_solver(problem)
    result = OptimizeResult(x=None, fun=np.inf, dual=-np.inf, nit=0, success=False)
    while result.nit < max_iter and not result.success:
        weights, dual_weights, wrong = solver.take_pass(rng.permutation(problem.sequences))
        objective, dual = problem.objective(weights), problem.lower_bound(dual_weights, wrong)
        result.nit += 1
        if not np.isfinite([objective, dual]).all():
            raise ValueError(
                f"after {result.nit} passes the objective is {objective} and its lower bound "
                f"{dual}: scale the attributes, or lower C={problem.C:g} or the weights of "
                "sequences"
            )
        result.dual = max(result.dual, dual)
        if objective < result.fun:
            result.fun, result.x = objective, weights.copy()
        if callback is not None:
            try:
                callback(result)
            except StopIteration:
                result.success, result.message = True, "stopped by the callback"
                return result
        result.success = bool(result.fun - result.dual <= tol * abs(result.fun))
    if result.success:
        result.message = "the duality gap is small"
    else:
        gap = f"{result.fun - result.dual:.3g} of {result.fun:.3g}"
        result.message = f"the duality gap is {gap} after max_iter={max_iter} passes"
    return result
