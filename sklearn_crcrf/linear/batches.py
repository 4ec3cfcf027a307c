"""The training objective in small batches, for stochastic descent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_blas_funcs

from .corpus import Chunk
from .objective import Objective
from .weight_vector import TermWeights

__all__ = ["BatchObjective"]

# When the common scale of the state weights is below this, they are multiplied by it.
SMALLEST_SCALE = 1e-4


@dataclass
class _State:
    """Weights that change in place; the node weights are ``scale * weights.node``."""

    weights: TermWeights
    scale: float


class BatchObjective:
    """Batches of units, whose gradients go straight into the weights.

    Parameters
    ----------
    objective : Objective
        Each of its chunks is a batch; its design needs no blocks.
    chunks : sequence of Chunk
        The same units in larger chunks, to compute the loss of all units.
    """

    def __init__(self, objective: Objective, chunks: Sequence[Chunk]):
        self._objective, self._chunks = objective, chunks
        self.precision = objective.precision
        self.sizes = np.array([chunk.weight.sum() for chunk in objective.chunks])
        self._masks = objective.terms.masks()
        # To allocate these arrays for every batch would take longer than to fill them.
        self._steps = [np.empty_like(mask) for mask in self._masks]

    def order(self, rng: np.random.RandomState) -> np.ndarray:
        """All batches in random order."""
        return rng.permutation(len(self.sizes))

    def start(self, x: np.ndarray) -> _State:
        """The weights of a vector, which steps may overwrite."""
        return _State(self._objective.weights(x), 1.0)

    def vector(self, state: _State) -> np.ndarray:
        """The weights as a new vector."""
        x = np.zeros(self._objective.terms.n_weights, dtype=self._objective.design.dtype)
        self.add(state, 1.0, x)
        return x

    def add(self, state: _State, factor: float, out: np.ndarray) -> None:
        """Add a multiple of the weights to a vector."""
        design, terms = self._objective.design, self._objective.terms
        n = terms.n_node_weights
        if n:  # axpy refuses to add nothing
            node = design.flat(state.weights.node)
            axpy = get_blas_funcs("axpy", [node])
            axpy(node, out[:n], a=factor * state.scale)
        out[n:] += factor * terms.join_shared(state.weights)

    def step(self, state: _State, batch: int, rate: float, decay: float) -> None:
        """Multiply the weights by ``decay``; subtract ``rate`` times the gradient of a batch."""
        objective, weights = self._objective, state.weights
        chunk = objective.chunks[batch]
        scores = np.empty(
            (chunk.stop - chunk.start, objective.terms.n_labels), objective.design.dtype
        )
        _, gradient = objective.loss_gradient(chunk, weights, state.scale, scores)
        state.scale *= decay
        scores *= scores.dtype.type(-rate / state.scale)
        objective.design.add_to_weights(scores, weights.node, chunk.start, chunk.stop)
        for step in self._steps:
            step.fill(0.0)
        objective.terms.add_gradient(chunk, gradient, self._steps)
        for array, mask, step in zip(weights.shared, self._masks, self._steps, strict=True):
            array[...] = decay * array - rate * mask * step
        if state.scale < SMALLEST_SCALE:
            state.weights, state.scale = objective.weights(self.vector(state)), 1.0

    def loss(self, state: _State, batches: np.ndarray | None = None) -> float:
        """The loss of some batches plus their share of the penalty; by default of all batches."""
        objective, chunks, share = self._objective, self._chunks, 1.0
        if batches is not None:
            chunks = [objective.chunks[k] for k in batches]
            share = self.sizes[batches].sum() / self.sizes.sum()
        counted = sum(objective.loss(chunk, state.weights, state.scale) for chunk in chunks)
        return objective.combined(counted) + 0.5 * share * self.precision * self._squared_norm(
            state
        )

    def _squared_norm(self, state: _State) -> float:
        node = self._objective.design.flat(state.weights.node)
        shared = sum(float((array**2).sum()) for array in state.weights.shared)
        return state.scale**2 * float(np.dot(node, node)) + shared
