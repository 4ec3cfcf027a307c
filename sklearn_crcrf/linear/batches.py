"""The training objective in small batches, for stochastic descent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_blas_funcs

from .corpus import Chunk
from .objective import Objective
from .weights import Weights

__all__ = ["BatchObjective"]

# The state weights are multiplied out before their common factor becomes so small.
SMALLEST_SCALE = 1e-4


@dataclass
class _State:
    """Weights that change in place; those of the state are still to be multiplied by the scale."""

    weights: Weights
    scale: float


class BatchObjective:
    """Batches of sequences, whose gradients go straight into the weights.

    Parameters
    ----------
    objective : Objective
        Each of its chunks is a batch; its design needs no blocks.
    chunks : sequence of Chunk
        The same sequences in larger pieces, to find the loss of all of them.
    """

    def __init__(self, objective: Objective, chunks: Sequence[Chunk]):
        self._objective, self._chunks = objective, chunks
        self.precision = objective.precision
        self.sizes = np.array([chunk.weight.sum() for chunk in objective.chunks])
        mask = objective.layout.mask()
        # To make these for every batch takes longer than to fill them.
        self._steps = Weights(None, *(np.empty_like(part) for part in mask[1:]))
        self._trained = [(k, mask[k]) for k in range(1, len(mask)) if mask[k].any()]

    def start(self, x: np.ndarray) -> _State:
        """The weights of a vector, which steps may overwrite."""
        return _State(self._objective.weights(x), 1.0)

    def vector(self, state: _State) -> np.ndarray:
        """The weights as a vector of their own."""
        x = np.zeros(self._objective.layout.n_weights, dtype=self._objective.design.dtype)
        self.add(state, 1.0, x)
        return x

    def add(self, state: _State, factor: float, out: np.ndarray) -> None:
        """Add a multiple of the weights to a vector."""
        objective, n_state = self._objective, self._objective.layout.n_state
        if n_state:  # axpy refuses to add nothing
            of_state = objective.design.flat(state.weights.state)
            axpy = get_blas_funcs("axpy", [of_state])
            axpy(of_state, out[:n_state], a=factor * state.scale)
        out[n_state:] += factor * objective.layout.join_others(state.weights)

    def step(self, state: _State, batch: int, rate: float, decay: float) -> None:
        """Multiply the weights by ``decay``, and take ``rate`` times a gradient from them."""
        objective, weights = self._objective, state.weights
        chunk = objective.chunks[batch]
        scores = np.empty(
            (chunk.stop - chunk.start, objective.layout.n_labels), objective.design.dtype
        )
        _, counts = objective.loss_gradient(chunk, weights, state.scale, scores)
        state.scale *= decay
        scores *= scores.dtype.type(-rate / state.scale)
        objective.design.add_to_weights(scores, weights.state, chunk.start, chunk.stop)
        steps = self._steps
        for part in steps[1:]:
            part.fill(0.0)
        objective.add_others(chunk, counts, steps)
        for k, has_weight in self._trained:
            weights[k][...] = decay * weights[k] - rate * has_weight * steps[k]
        if state.scale < SMALLEST_SCALE:
            state.weights, state.scale = objective.weights(self.vector(state)), 1.0

    def loss(self, state: _State, batches: np.ndarray | None = None) -> float:
        """Sum of the losses of some batches, or of all, and their share of the penalty."""
        objective, chunks, share = self._objective, self._chunks, 1.0
        if batches is not None:
            chunks = [objective.chunks[k] for k in batches]
            share = self.sizes[batches].sum() / self.sizes.sum()
        counted = sum(objective.loss(chunk, state.weights, state.scale) for chunk in chunks)
        return objective.combined(counted) + 0.5 * share * self.precision * self._squared_norm(
            state
        )

    def _squared_norm(self, state: _State) -> float:
        of_state = self._objective.design.flat(state.weights.state)
        others = sum(float((part**2).sum()) for part in state.weights[1:])
        return state.scale**2 * float(np.dot(of_state, of_state)) + others
