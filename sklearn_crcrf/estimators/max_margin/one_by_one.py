"""Dual variables of units of any structure, which has to find best labellings only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._kernels.tree import learning
from ...linear.examples import Coefficients
from .block import Block, UnitScores
from .problem import MarginProblem, Pass

Choose = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float]]
"""A function of the weights and values of active labellings, as in the kernel."""


def _from_all(alpha: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, float]:
    return alpha, 1.0


def _from_worst(alpha: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, float]:
    worst, beta = value.argmin(), np.zeros(len(alpha))
    beta[worst] = 1.0
    return beta, float(alpha[worst])


CHOICES: dict[Any, Choose] = {
    learning.FROM_ALL: _from_all,
    learning.FROM_WORST: _from_worst,
}


class UnitVariables:
    """The active labellings of each unit and their dual variables; initially gold alone.

    It takes the steps of :class:`DualVariables`, described in ``_kernels/tree/dual_steps.pxi``,
    with the methods of the structure. The loop over units is in Python.

    Parameters
    ----------
    problem, choice, n_pairwise : as in :class:`DualVariables`
    """

    def __init__(self, problem: MarginProblem, choice: Any, n_pairwise: int):
        self._choose, self._n_pairwise = CHOICES[choice], n_pairwise
        self._examples = examples = problem.examples
        self._weights, self._wrong = examples.zeros(), np.zeros(examples.n_sequences)
        self._units = {
            u: _Unit(Block(examples, u), examples.unit(u).y, problem.bound[u])
            for u in problem.sequences.tolist()
        }

    def take_pass(self, order: np.ndarray) -> Pass:
        """Take a step on each unit, in this order."""
        for u in order.tolist():
            unit = self._units[u]
            if unit.step_to_best(self._weights, self._choose):
                for _ in range(self._n_pairwise):
                    if not unit.step_between_active(self._weights):
                        break
            self._wrong[u] = unit.wrong
            self._examples.require_finite(self._wrong)
        return Pass(self._weights, self._weights, self._wrong)


class _Unit:
    """One unit, its active labellings, their weights, and their mean number of wrong labels."""

    def __init__(self, block: Block, gold: np.ndarray, bound: float):
        self._block, self._bound = block, bound
        self._labellings, self._alpha, self.wrong = [gold], np.ones(1), 0.0

    def step_to_best(self, weights: Coefficients, choose: Choose) -> bool:
        """Move weight to the best labelling of all; return whether that raised the dual."""
        theta = self._theta(weights)
        return self._step(weights, theta, self._block.best(theta), choose)

    def step_between_active(self, weights: Coefficients) -> bool:
        """Move weight from the worst active labelling to the best one."""
        theta = self._theta(weights)
        best = int(self._values(theta).argmax())
        return self._step(weights, theta, self._labellings[best], _from_worst)

    def _theta(self, weights: Coefficients) -> UnitScores:
        return self._block.scores(weights).plus(1.0, self._block.cost)

    def _values(self, theta: UnitScores) -> np.ndarray:
        return np.array([theta.dot(self._block.counts(y)) for y in self._labellings])

    def _step(
        self, weights: Coefficients, theta: UnitScores, labelling: np.ndarray, choose: Choose
    ) -> bool:
        value, change = self._values(theta), self._block.counts(labelling)
        beta, most = choose(self._alpha, value)
        gain = theta.dot(change) - float(beta @ value)
        if not np.isfinite(gain):
            self.wrong = np.nan
        if not 0 < gain < np.inf:
            return False
        for share, y in zip(beta, self._labellings, strict=True):
            change = change.plus(-share, self._block.counts(y))
        slope = self._bound * self._block.squared_norm(change)
        size = most if most * slope <= gain else gain / slope
        self._block.add_to(weights, -size * self._bound, change)
        self.wrong += size * change.dot(self._block.cost)
        self._shift(labelling, size, beta)
        return True

    def _shift(self, labelling: np.ndarray, size: float, beta: np.ndarray) -> None:
        """Move weight, and drop labellings whose weight becomes zero."""
        alpha = self._alpha - size * beta
        is_same = [np.array_equal(y, labelling) for y in self._labellings]
        if any(is_same):
            alpha[is_same.index(True)] += size
        else:
            alpha, self._labellings = np.append(alpha, size), [*self._labellings, labelling]
        kept = np.flatnonzero(alpha > 0)
        self._alpha, self._labellings = alpha[kept], [self._labellings[k] for k in kept]
