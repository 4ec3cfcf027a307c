"""The training problem of a lattice."""

from typing import Any, NamedTuple

import numpy as np

from .._kernels._gaussian import gaussian_penalty
from .._kernels._lattice_learning import learn_lattices
from ..criteria import Criterion
from ..linear import Corpus
from ..structures import Lattice, LatticeScores
from .design import LatticeDesign

__all__ = ["LatticeLearning", "LatticeObjective", "LatticeProblem"]


class LatticeProblem(NamedTuple):
    """What is trained, on what, and how weights are regularised.

    It takes the place of a :class:`~sklearn_crcrf.crf.problem.Problem`.

    Parameters
    ----------
    corpus : Corpus
        Its structure is a Lattice.
    design : LatticeDesign
    criterion : Criterion
    sigma : float
    dropout : float
        Probability that an attribute of a token is left out.
    n_threads : int
    """

    corpus: Corpus
    design: LatticeDesign
    criterion: Criterion
    sigma: float
    dropout: float
    n_threads: int

    def lower_bounds(self) -> None:
        """The least value of each weight: there are none."""
        return None

    def objective(self) -> "LatticeObjective":
        """The objective over all sequences."""
        return LatticeObjective(self)

    def start(self) -> np.ndarray:
        """The weights from which training starts: 1 for scores known beforehand, else 0."""
        x = np.zeros(self.design.n_weights, dtype=self.design.dtype)
        x[sum(self.design.features.sizes[:2]) :] = 1.0
        return x


class LatticeObjective:
    """Weighted sum of the losses of all units, plus ``||w||^2 / (2 sigma^2)``.

    Parameters
    ----------
    problem : LatticeProblem
    """

    def __init__(self, problem: LatticeProblem):
        self._problem, self.precision = problem, problem.sigma**-2.0
        self._gradient = np.empty(problem.design.n_weights, dtype=problem.design.dtype)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient, in an array that the next call overwrites."""
        corpus, design, criterion, *_ = self._problem
        lattice: Any = corpus.structure
        scores: Any = LatticeScores(design.scores(w), lattice.candidates)
        losses, derivatives = criterion.value_and_gradient(lattice, scores, corpus.y, corpus.weight)
        penalty = gaussian_penalty(w, self.precision, self._gradient)
        runs: Any = derivatives
        design.add_gradient(runs.runs, self._gradient)
        return penalty + float(corpus.weight @ losses), self._gradient


class LatticeLearning:
    """The log loss of one unit after another, for AdaGrad.

    The attributes that are left out are drawn anew for each epoch, and the values of the others
    are divided by the probability of staying. A penalty ``||w||^2 / (2 sigma^2)`` is shared by all
    scores that a weight has a part in.

    Parameters
    ----------
    problem : LatticeProblem
    """

    def __init__(self, problem: LatticeProblem):
        self._problem, design = problem, problem.design
        lattice: Lattice = design.lattice
        self.n_units = lattice.n_units
        self._runs, self._numbers = lattice.runs_of_candidates, design.numbers()
        self._gold = lattice.candidates.find(problem.corpus.y)
        self._values = design.X.data

    def start(self, x: np.ndarray) -> np.ndarray:
        """A table of the weights, sums of squared derivatives, sums of steps, and penalties."""
        table = np.zeros((len(x), 4), dtype=x.dtype)
        table[:, 0] = x
        n_pairs, _, n_known = self._problem.design.features.sizes
        if n_known:  # weights that many tokens share then start near where they end
            table[n_pairs:, 1] = 1.0
        table[:, 3] = self._problem.sigma**-2.0 / np.maximum(self._problem.design.uses(), 1.0)
        return table

    def begin_epoch(self, rng: np.random.RandomState) -> None:
        """Draw which attributes are left out."""
        values, dropout = self._problem.design.X.data, self._problem.dropout
        if dropout > 0.0:
            kept = rng.random_sample(len(values)) >= dropout
            self._values = np.where(kept, values / values.dtype.type(1.0 - dropout), 0)

    def learn(self, table: np.ndarray, order: np.ndarray, rate: float, n_before: int) -> float:
        """Learn from units in order; return the sum of their losses, each before its step."""
        return learn_lattices(
            self._runs,
            self._numbers,
            self._values,
            self._problem.design.known,
            self._gold,
            self._problem.corpus.weight,
            order,
            table,
            rate,
            n_before,
        )

    def forget_mean(self, table: np.ndarray) -> None:
        """Begin a new mean."""
        table[:, 2] = 0.0

    def mean(self, table: np.ndarray, n: int) -> np.ndarray:
        """The mean of the weights after each of n units."""
        return table[:, 0] - table[:, 2] / table.dtype.type(n)
