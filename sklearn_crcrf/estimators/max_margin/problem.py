"""The max-margin problem: its objective, and the lower bound from its dual."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

from ...linear.examples import Coefficients, Examples, find
from ...structures import Unsupported

__all__ = ["Bounds", "MarginProblem"]


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
        """The objective."""
        _, losses = find(self.examples, weights, 1.0)
        return float(self.examples.weight @ losses) + weights.squared_norm() / (2 * self.C)

    def lower_bound(self, weights: Coefficients, wrong: np.ndarray) -> float:
        """The dual objective.

        Parameters
        ----------
        weights : Coefficients
            The weights that follow from the dual variables.
        wrong : ndarray of shape (n_sequences,)
            E_s[d], the mean number of wrong labels.
        """
        return float(self.examples.weight @ wrong) - weights.squared_norm() / (2 * self.C)


class Bounds:
    """Upper and lower bounds of the minimum after each pass, and the stopping rule.

    Parameters
    ----------
    problem : MarginProblem
    max_iter : int
    tol : float
        The run has converged when the duality gap is at most this fraction of the objective.
    callback : callable, optional
        Called with an OptimizeResult (x, fun, dual, nit) after every pass; it may raise
        StopIteration.

    Attributes
    ----------
    x : Coefficients or None
        The best weights so far, in arrays that do not change.
    fun : float
        Objective of the best weights.
    dual : float
        The largest lower bound.
    message : str
        Why the run ended; empty while it goes on.
    """

    def __init__(
        self, problem: MarginProblem, max_iter: int, tol: float, callback: Callable | None
    ):
        self._problem, self._max_iter, self._tol = problem, max_iter, tol
        self._callback = callback
        self.x: Coefficients | None = None
        self.fun, self.dual = np.inf, -np.inf
        self.nit, self.success, self.message = 0, False, ""

    def advance(self, weights: Coefficients, dual: float) -> None:
        """Record the end of a pass.

        Raises
        ------
        ValueError
            If the objective or the bound is not finite.
        """
        self.nit += 1
        objective = self._problem.objective(weights)
        if not np.isfinite([objective, dual]).all():
            raise ValueError(
                f"after {self.nit} passes the objective is {objective} and its lower bound {dual}: "
                f"scale the attributes, or lower C={self._problem.C:g} or the weights of sequences"
            )
        self.dual = max(self.dual, dual)
        if objective < self.fun:
            self.fun, self.x = objective, weights.copy()
        if self._callback is not None:
            try:
                self._callback(OptimizeResult(x=self.x, fun=self.fun, dual=self.dual, nit=self.nit))
            except StopIteration:
                self.success, self.message = True, "stopped by the callback"
                return
        if self.fun - self.dual <= self._tol * abs(self.fun):
            self.success, self.message = True, "the duality gap is small"
        elif self.nit >= self._max_iter:
            self.message = (
                f"the duality gap is {self.fun - self.dual:.3g} of {self.fun:.3g} after "
                f"max_iter={self._max_iter} passes"
            )

    def result(self) -> OptimizeResult:
        """The result that a solver returns."""
        return OptimizeResult(
            x=self.x,
            fun=self.fun,
            dual=self.dual,
            nit=self.nit,
            success=self.success,
            message=self.message,
        )
