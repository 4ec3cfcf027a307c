"""The training problem of a lattice."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._kernels.lattice import sums as lattices
from ..._kernels.sparse.weights import gaussian_penalty
from ...criteria import Criterion
from ...linear import Corpus
from ...structures import LatticeScores
from ...utils.memory import retain_freed_memory
from .design import Features, LatticeDesign

__all__ = ["LatticeLearning", "LatticeObjective", "LatticeProblem"]

# About the number of scores of the units whose derivatives are computed together.
PART = 2**16
# Random numbers below this decide which attributes are left out.
LARGEST = 2**16


class LatticeProblem(NamedTuple):
    """What is trained, on what, and how weights are regularised.

    It takes the place of a :class:`~sklearn_crcrf.linear.problem.Problem`.

    Parameters
    ----------
    corpus : Corpus
        Its structure is a Lattice, and its X a CSR with sorted indices.
    features : Features
    criterion : Criterion
    sigma : float
    dropout : float
        Probability that an attribute of a token is left out.
    n_threads : int
    """

    corpus: Corpus
    features: Features
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

    def curved_objective(self) -> tuple["LatticeObjective", Callable[..., np.ndarray]]:
        """The objective over all sequences, and the product of its Hessian at w with a vector."""
        objective = self.objective()
        return objective, objective.hessian_product

    def start(self) -> np.ndarray:
        """The weights from which training starts: 1 for scores known beforehand, else 0."""
        x = np.zeros(self.features.n_weights, dtype=self.corpus.X.dtype)
        x[sum(self.features.sizes[:2]) :] = 1.0
        return x


class LatticePart(NamedTuple):
    """Some of the units, with their labels and weights."""

    design: LatticeDesign
    y: np.ndarray
    weight: np.ndarray

    def scores(self, w: np.ndarray) -> Any:
        """The scores of all runs of these units."""
        return LatticeScores(self.design.scores(w), self.design.lattice.candidates)


class LatticeObjective:
    """Weighted sum of the losses of all units, plus ``||w||^2 / (2 sigma^2)``.

    Parameters
    ----------
    problem : LatticeProblem
    """

    def __init__(self, problem: LatticeProblem):
        self._features, self._criterion = problem.features, problem.criterion
        self.precision = problem.sigma**-2.0
        retain_freed_memory()
        # The scores of a part stay in the cache of a processor.
        self._parts = list(_parts(problem))
        self._gradient = np.empty(problem.features.n_weights, dtype=problem.corpus.X.dtype)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient, in an array that the next call overwrites."""
        loss = gaussian_penalty(w, self.precision, self._gradient)
        total = self._features.derivatives(self._gradient)
        for part in self._parts:
            losses, derivatives = self._criterion.value_and_gradient(
                part.design.lattice, part.scores(w), part.y, part.weight
            )
            runs: Any = derivatives
            part.design.add_gradient(runs.runs, total)
            loss += float(part.weight @ losses)
        return loss, self._features.join(total, self._gradient)

    def hessian_product(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The product of the Hessian at w with a vector.

        The criterion must define ``curvature``.
        """
        product = np.multiply(direction, direction.dtype.type(self.precision))
        total = self._features.derivatives(product)
        for part in self._parts:
            pullback = self._criterion.curvature(
                part.design.lattice, part.scores(w), part.y, part.scores(direction)
            )
            runs: Any = pullback(part.weight)
            part.design.add_gradient(runs.runs, total)
        return self._features.join(total, product)


def _parts(problem: LatticeProblem) -> Iterator[LatticePart]:
    """Runs of units with about equal numbers of scores."""
    corpus = problem.corpus
    lattice: Any = corpus.structure
    starts = lattice.start[:, lattice.offsets].sum(axis=0)
    n_parts = -(-int(starts[-1] - starts[0]) // PART)
    cuts = np.searchsorted(starts, np.linspace(starts[0], starts[-1], n_parts + 1))
    cuts[:1], cuts[-1:] = 0, lattice.n_units
    for first, last in pairwise(np.unique(cuts).tolist()):
        tokens = slice(*lattice.offsets[[first, last]].tolist())
        design = LatticeDesign(corpus.X[tokens], lattice.take(slice(first, last)), problem.features)
        yield LatticePart(design, corpus.y[tokens], corpus.weight[first:last])


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
        lattice: Any = problem.corpus.structure
        design = LatticeDesign(problem.corpus.X, lattice, problem.features)
        self._problem, self._design = problem, design
        self.n_units = lattice.n_units
        self._runs, self._numbers = lattice.runs_of_candidates, design.numbers()
        self._gold = lattice.candidates.find(problem.corpus.y)
        self._values = design.X.data

    def start(self, x: np.ndarray) -> np.ndarray:
        """A table of the weights, sums of squared derivatives, sums of steps, and penalties."""
        table = np.zeros((len(x), 4), dtype=x.dtype)
        table[:, 0] = x
        n_pairs, _, n_known = self._problem.features.sizes
        if n_known:  # weights that many tokens share then start near where they end
            table[n_pairs:, 1] = 1.0
        table[:, 3] = self._problem.sigma**-2.0 / np.maximum(self._design.uses(), 1.0)
        return table

    def begin_epoch(self, rng: np.random.RandomState) -> None:
        """Draw which attributes are left out."""
        values, dropout = self._design.X.data, self._problem.dropout
        if dropout > 0.0:
            drawn = rng.randint(LARGEST, size=len(values), dtype=np.uint16)
            self._values = values * (drawn >= dropout * LARGEST)
            self._values *= values.dtype.type(1.0 / (1.0 - dropout))

    def learn(self, table: np.ndarray, order: np.ndarray, rate: float, n_before: int) -> float:
        """Learn from units in order; return the sum of their losses, each before its step."""
        return lattices.learn_lattices(
            self._runs,
            self._numbers,
            self._values,
            self._design.known,
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
        """The mean of the weights after each of n units; ValueError if their squares overflow."""
        if not np.isfinite(table[:, 1]).all():
            raise ValueError(
                "the squares of derivatives are not finite: scale the attributes or the weights of "
                "sequences"
            )
        return table[:, 0] - table[:, 2] / table.dtype.type(n)
