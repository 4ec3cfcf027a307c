"""The training objective in small batches, for stochastic descent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
        self._has_weight = objective.layout.mask()

    def start(self, x: np.ndarray) -> _State:
        """Weights that can be changed in place."""
        return _State(self._objective.unpack(x.copy()), 1.0)

    def vector(self, state: _State) -> np.ndarray:
        """The weights as a vector of their own."""
        layout = self._objective.layout
        x = np.empty(layout.n_weights, dtype=self._objective.design.dtype)
        self._objective.pack(state.weights, x)
        x[: layout.n_state] *= x.dtype.type(state.scale)
        return x

    def step(self, state: _State, batch: int, rate: float, decay: float) -> None:
        """Multiply the weights by ``decay``, and take ``rate`` times a gradient from them."""
        objective, weights = self._objective, state.weights
        chunk = objective.chunks[batch]
        scores = np.empty(
            (chunk.stop - chunk.start, objective.layout.n_labels), objective.design.dtype
        )
        _, counts = objective.lose(chunk, weights, state.scale, scores)
        state.scale *= decay
        scores *= scores.dtype.type(-rate / state.scale)
        objective.design.add_to_weights(scores, weights.state, chunk.start, chunk.stop)
        steps = Weights(None, *(np.zeros_like(part) for part in weights[1:]))
        objective.add_others(chunk, counts, steps)
        for part, change, mask in zip(weights[1:], steps[1:], self._has_weight[1:], strict=True):
            part *= decay
            part -= rate * mask * change
        if state.scale < SMALLEST_SCALE:
            state.weights, state.scale = objective.unpack(self.vector(state)), 1.0

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
