"""The training problem of a lattice."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._kernels.lattice import sums as lattices
from ...criteria import Criterion
from ...linear.corpus import Corpus
from ...linear.objective import Objective
from ...utils.memory import retain_freed_memory
from .design import Features, LatticeDesign

# About the number of scores of a shard, which stay in the cache of a processor.
SHARD = 2**16
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
        """Return the least value of each weight: there are none."""
        return None

    def objective(self) -> Objective:
        """Return the objective over all sequences."""
        return Objective(LatticeShards(self).add, sigma=self.sigma)

    def curved_objective(self) -> tuple[Objective, Callable[..., np.ndarray]]:
        """Return the objective, and the product of its Hessian at w with a vector."""
        shards = LatticeShards(self)
        objective = Objective(shards.add, sigma=self.sigma)
        return objective, partial(shards.hessian_product, precision=objective.precision)

    def start(self) -> np.ndarray:
        """Return the weights from which training starts: 1 for scores known beforehand, else 0."""
        x = np.zeros(self.features.n_weights, dtype=self.corpus.X.dtype)
        x[sum(self.features.sizes[:2]) :] = 1.0
        return x


class LatticeShards:
    """Runs of units, over which losses and gradients are summed.

    Parameters
    ----------
    problem : LatticeProblem
    """

    def __init__(self, problem: LatticeProblem):
        self._features, self._criterion = problem.features, problem.criterion
        retain_freed_memory()
        corpus = problem.corpus
        lattice: Any = corpus.structure
        starts = lattice.start[:, lattice.offsets].sum(axis=0)
        n_shards = -(-int(starts[-1] - starts[0]) // SHARD)
        cuts = np.searchsorted(starts, np.linspace(starts[0], starts[-1], n_shards + 1))
        cuts[:1], cuts[-1:] = 0, lattice.n_units
        self._shards = []
        for first, last in pairwise(np.unique(cuts).tolist()):
            tokens = slice(*lattice.offsets[[first, last]].tolist())
            own = lattice.take(slice(first, last))
            design = LatticeDesign(corpus.X[tokens], own, problem.features)
            self._shards.append((design, corpus.y[tokens], corpus.weight[first:last]))

    def add(self, w: np.ndarray, gradient: np.ndarray) -> Iterator[float]:
        """Add to the gradient; yield the loss of each shard."""
        total = self._features.derivatives(gradient)
        for design, y, weight in self._shards:
            scores: Any = design.lattice_scores(w)
            losses, derivatives = self._criterion.value_and_gradient(
                design.lattice, scores, y, weight
            )
            runs: Any = derivatives
            design.add_gradient(runs.runs, total)
            yield float(weight @ losses)
        self._features.join(total, gradient)

    def hessian_product(self, w: np.ndarray, direction: np.ndarray, precision: float) -> np.ndarray:
        """Return the product of the Hessian at w with a vector.

        The criterion must define ``curvature``.
        """
        product = np.multiply(direction, direction.dtype.type(precision))
        total = self._features.derivatives(product)
        for design, y, weight in self._shards:
            scores: Any = design.lattice_scores(w)
            ahead: Any = design.lattice_scores(direction)
            pullback = self._criterion.curvature(design.lattice, scores, y, ahead)
            runs: Any = pullback(weight)
            design.add_gradient(runs.runs, total)
        return self._features.join(total, product)


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
        """Return weights, sums of squared derivatives, sums of steps, and penalties, as a table."""
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
        """Return the mean of the weights of n steps; ValueError if their squares overflow."""
        if not np.isfinite(table[:, 1]).all():
            raise ValueError(
                "the squares of derivatives are not finite: scale the attributes or the weights of "
                "sequences"
            )
        return table[:, 0] - table[:, 2] / table.dtype.type(n)
