"""The training objective in small batches, for stochastic descent."""

from dataclasses import dataclass

import numpy as np

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
        Each of its blocks is one batch.
    """

    def __init__(self, objective: Objective):
        self._objective = objective
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
        objective.design.add_gradient(batch, scores, weights.state)
        steps = Weights(None, *(np.zeros_like(part) for part in weights[1:]))
        objective.add_others(chunk, counts, steps)
        for part, change, mask in zip(weights[1:], steps[1:], self._has_weight[1:], strict=True):
            part *= decay
            part -= rate * mask * change
        if state.scale < SMALLEST_SCALE:
            state.weights, state.scale = objective.unpack(self.vector(state)), 1.0

    def loss(self, state: _State, batches: np.ndarray) -> float:
        """Sum of the losses of some batches, and their share of the penalty."""
        objective, x = self._objective, self.vector(state)
        share = self.sizes[batches].sum() / self.sizes.sum()
        losses = (objective.loss(objective.chunks[k], state.weights, state.scale) for k in batches)
        return sum(losses) + 0.5 * share * self.precision * float(np.dot(x, x))
