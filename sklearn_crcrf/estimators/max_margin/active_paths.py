"""Ascent of the max-margin dual over active paths: paths with a nonzero dual variable."""

from typing import Any

import numpy as np

from ..._kernels.tree import learning
from .one_by_one import UnitVariables
from .problem import MarginProblem, Pass, Solver

# Steps between active paths after each step to the best path; more hardly help.
CORRECTIONS = 4
# Number of pairs of active paths after each pair with the best path of all.
PAIRS = 8


class DualVariables:
    """The active paths of each unit and their dual variables; initially the gold path alone.

    The links of the units must make forests, for which there are kernels.

    Parameters
    ----------
    problem : MarginProblem
    choice : learning.FROM_ALL or learning.FROM_WORST
        The active paths from which weight is moved to the best path of all.
    n_pairwise : int
        How often weight is then moved from the worst to the best active path.

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

    def __init__(self, problem: MarginProblem, choice: Any, n_pairwise: int):
        self._problem, self._choice, self._n_pairwise = problem, choice, n_pairwise
        examples = problem.examples
        self.weights = examples.zeros()
        self.paths = np.tile(examples.y, (4, 1))
        self.alpha = np.zeros((examples.n_sequences, 4))
        self.alpha[:, 0] = 1.0
        self.number = np.ones(examples.n_sequences, dtype=np.int64)
        self.wrong = np.zeros(examples.n_sequences)

    def take_pass(self, order: np.ndarray) -> Pass:
        """Take a step on each sequence, in this order."""
        examples = self._problem.examples
        if self.number.max() + 2 > len(self.paths):  # for one more path, and one that is never used
            self.paths = np.concatenate([self.paths, np.zeros_like(self.paths)])
            self.alpha = np.concatenate([self.alpha, np.zeros_like(self.alpha)], axis=1)
        y, *attributes = examples.arguments
        active = learning.ActivePaths(self.paths, self.alpha, self.number, self.wrong)
        search, bound = examples.search(self.weights), self._problem.bound
        for piece in examples.pieces(order):
            learning.take_steps(
                self._choice,
                self._n_pairwise,
                search,
                piece,
                y,
                bound,
                *attributes,
                self.weights.state,
                active,
            )
            examples.require_finite(self.wrong)
        return Pass(self.weights, self.weights, self.wrong)


def frank_wolfe(problem: MarginProblem) -> Solver:
    """Take steps of block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013).

    For each sequence y' = argmax_y [score(y) + d(y)] is found, and the distribution alpha over
    its labellings moves towards y' by the step size that raises the dual most:

        alpha <- alpha + size * (1[y'] - alpha)

    Labellings found earlier are kept. After each step, weight is moved four times from the worst
    to the best of them, without a new search (Osokin et al. 2016): the step towards y' alone
    would never take all weight from a bad labelling.
    """
    return _solver(problem, learning.FROM_ALL, CORRECTIONS)


def minimal_optimisation(problem: MarginProblem) -> Solver:
    """Take steps of sequential minimal optimisation (Platt 1998; Taskar et al. 2003).

    Only two dual variables of a sequence change at a time, in closed form: weight moves from a
    labelling y2 to y1 so that the dual rises most, up to the whole weight of y2. y1 is the argmax
    of score(y) + d(y); y2 is the labelling with nonzero weight for which score(y) + d(y) is
    smallest. Eight more pairs are then chosen among the labellings found earlier. Taskar et al.
    store marginals instead of labellings, from which y2 would have to be reconstructed.
    """
    return _solver(problem, learning.FROM_WORST, PAIRS)


def _solver(problem: MarginProblem, choice: Any, n_pairwise: int) -> Solver:
    kind = DualVariables if problem.examples.has_kernels else UnitVariables
    return kind(problem, choice, n_pairwise)
