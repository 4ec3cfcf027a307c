"""Ascent of the max-margin dual over active paths: paths with a nonzero dual variable."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ..._kernels.tree import learning
from .one_by_one import UnitVariables
from .problem import Bounds, MarginProblem

__all__ = ["DualVariables", "ascend"]


class DualVariables:
    """The active paths of each unit and their dual variables; initially the gold path alone.

    The links of the units must make forests, for which there are kernels.

    Parameters
    ----------
    problem : MarginProblem

    Attributes
    ----------
    weights : Coefficients
        The primal weights that follow from the dual variables.
    wrong : ndarray of shape (n_sequences,)
        Mean number of wrong labels under the dual variables.
    paths : ndarray of shape (capacity, n_tokens), int32
    alpha : ndarray of shape (n_sequences, capacity)
        The dual variables of the paths, with sum 1.
    number : ndarray of shape (n_sequences,)
        Number of active paths.
    """

    def __init__(self, problem: MarginProblem):
        self._problem, examples = problem, problem.examples
        self.weights = examples.zeros()
        self.paths = np.tile(examples.y, (4, 1))
        self.alpha = np.zeros((examples.n_sequences, 4))
        self.alpha[:, 0] = 1.0
        self.number = np.ones(examples.n_sequences, dtype=np.int64)
        self.wrong = np.zeros(examples.n_sequences)

    def take_steps(self, choice: Any, n_pairwise: int, order: np.ndarray) -> None:
        """Take a step on each sequence, in this order.

        Parameters
        ----------
        choice : learning.FROM_ALL or learning.FROM_WORST
            The active paths from which weight is moved to the best path of all.
        n_pairwise : int
            How often weight is then moved from the worst to the best active path.
        order : ndarray of int
            The sequences, each once.
        """
        examples = self._problem.examples
        self._make_room()
        y, *attributes = examples.arguments
        active = learning.ActivePaths(self.paths, self.alpha, self.number, self.wrong)
        search, bound = examples.search(self.weights), self._problem.bound
        for piece in examples.pieces(order):
            learning.take_steps(
                choice, n_pairwise, search, piece, y, bound, *attributes, self.weights.state, active
            )
            examples.require_finite(self.wrong)

    def _make_room(self) -> None:
        """Make room for one more path of each sequence, and one that is never used."""
        capacity = len(self.paths)
        if self.number.max() + 2 > capacity:
            self.paths = np.concatenate([self.paths, np.zeros_like(self.paths)])
            self.alpha = np.concatenate([self.alpha, np.zeros_like(self.alpha)], axis=1)


def ascend(
    problem: MarginProblem,
    choice: Any,
    n_pairwise: int,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[OptimizeResult], None] | None,
    rng: np.random.RandomState,
) -> OptimizeResult:
    """Pass through the sequences in random order, by :meth:`DualVariables.take_steps`.

    Returns
    -------
    OptimizeResult
        With x, fun, dual, nit, success and message.
    """
    kind = DualVariables if problem.examples.has_kernels else UnitVariables
    variables, bounds = kind(problem), Bounds(problem, max_iter, tol, callback)
    while not bounds.message:
        variables.take_steps(choice, n_pairwise, rng.permutation(problem.sequences))
        bounds.advance(variables.weights, problem.lower_bound(variables.weights, variables.wrong))
    return bounds.result()
