"""The training objective in small batches, for stochastic descent."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

import numpy as np
from scipy.linalg import get_blas_funcs

from .columns import OwnColumns
from .corpus import Chunk
from .objective import Shard
from .weight_vector import TermWeights

__all__ = ["BatchObjective", "ShardedBatches"]

# When the common scale of the state weights is below this, they are multiplied by it.
SMALLEST_SCALE = 1e-4


@dataclass
class _State:
    """Weights that change in place; the node weights are ``scale * weights.node``."""

    weights: TermWeights
    scale: float


class BatchObjective:
    """The batches of a shard, whose gradients go straight into the weights.

    Parameters
    ----------
    shard : Shard
        Its design needs no blocks.
    size : int
        The number of units in a batch.
    sigma : float
    """

    def __init__(self, shard: Shard, size: int, sigma: float):
        self._shard, self._batches = shard, shard.corpus.batches(size)
        self.precision, self.sizes = sigma**-2.0, _sizes(self._batches)
        self._masks = shard.terms.masks()
        # To allocate these arrays for every batch would take longer than to fill them.
        self._steps = [np.empty_like(mask) for mask in self._masks]

    def order(self, rng: np.random.RandomState) -> np.ndarray:
        """All batches in random order."""
        return rng.permutation(len(self.sizes))

    def start(self, x: np.ndarray) -> _State:
        """The weights of a vector, which steps may overwrite."""
        return _State(self._shard.weights(x), 1.0)

    def vector(self, state: _State) -> np.ndarray:
        """The weights as a new vector."""
        x = np.zeros(self._shard.terms.n_weights, dtype=self._shard.design.dtype)
        self.add(state, 1.0, x)
        return x

    def add(self, state: _State, factor: float, out: np.ndarray) -> None:
        """Add a multiple of the weights to a vector."""
        design, terms = self._shard.design, self._shard.terms
        n = terms.n_node_weights
        if n:  # axpy refuses to add nothing
            node = design.flat(state.weights.node)
            axpy = get_blas_funcs("axpy", [node])
            axpy(node, out[:n], a=factor * state.scale)
        out[n:] += factor * terms.join_shared(state.weights)

    def step(self, state: _State, batch: int, rate: float, decay: float) -> None:
        """Multiply the weights by ``decay``; subtract ``rate`` times the gradient of a batch."""
        shard, weights, chunk = self._shard, state.weights, self._batches[batch]
        scores = np.empty((chunk.stop - chunk.start, shard.terms.n_labels), shard.design.dtype)
        _, gradient = shard.loss_gradient(chunk, weights, state.scale, scores)
        state.scale *= decay
        scores *= scores.dtype.type(-rate / state.scale)
        shard.design.add_to_weights(scores, weights.node, chunk.start, chunk.stop)
        for step in self._steps:
            step.fill(0.0)
        shard.terms.add_gradient(chunk, gradient, self._steps)
        for array, mask, step in zip(weights.shared, self._masks, self._steps, strict=True):
            array[...] = decay * array - rate * mask * step
        if state.scale < SMALLEST_SCALE:
            state.weights, state.scale = shard.weights(self.vector(state)), 1.0

    def loss(self, state: _State, batches: np.ndarray | None = None) -> float:
        """The loss of some batches plus their share of the penalty; by default of all batches."""
        chunks, share = self._shard.chunks, 1.0
        if batches is not None:
            chunks = [self._batches[k] for k in batches]
            share = self.sizes[batches].sum() / self.sizes.sum()
        counted = sum(self._shard.loss(chunk, state.weights, state.scale) for chunk in chunks)
        penalty = 0.5 * share * self.precision * self._squared_norm(state)
        return self._shard.combined(counted) + penalty

    def _squared_norm(self, state: _State) -> float:
        node = self._shard.design.flat(state.weights.node)
        shared = sum(float((array**2).sum()) for array in state.weights.shared)
        return state.scale**2 * float(np.dot(node, node)) + shared


@dataclass
class _Open:
    """The shard whose batches are gone through, and its own weights."""

    number: int
    columns: OwnColumns
    objective: BatchObjective
    state: _State
    decay: float = 1.0


@dataclass
class _AllState:
    """All weights; the node weights are ``scale * x``, but for the own weights of an open shard."""

    x: np.ndarray
    scale: float
    opened: _Open | None = None


class ShardedBatches:
    """The batches of all shards, whose gradients go straight into the weights.

    Random orders go through one shard after another, so that each is opened once.

    Parameters
    ----------
    shards : sequence of Shard
        Is asked for a shard whenever it is opened.
    size : int
        The number of units in a batch.
    sigma : float
    n_node_weights : int
        The number of weights of attributes and labels, which come first.
    """

    def __init__(self, shards: Sequence[Shard], size: int, sigma: float, n_node_weights: int):
        self._shards, self._size, self._n = shards, size, n_node_weights
        sizes = [_sizes(shard.corpus.batches(size)) for shard in shards]
        self._starts = np.cumsum([0, *map(len, sizes)])
        self.sizes, self.precision = np.concatenate(sizes), sigma**-2.0

    def order(self, rng: np.random.RandomState) -> np.ndarray:
        """All batches, by shards in random order, in random order in each shard."""
        first, last = self._starts[:-1], self._starts[1:]
        shards = rng.permutation(len(first))
        return np.concatenate([first[k] + rng.permutation(last[k] - first[k]) for k in shards])

    def start(self, x: np.ndarray) -> _AllState:
        """The weights of a vector, which steps may overwrite."""
        return _AllState(x, 1.0)

    def step(self, state: _AllState, batch: int, rate: float, decay: float) -> None:
        """Multiply the weights by ``decay``; subtract ``rate`` times the gradient of a batch."""
        number = self._shard_of(batch)
        if state.opened is None or state.opened.number != number:
            self._close(state)
            state.opened = self._open(state, number)
        opened = state.opened
        opened.objective.step(opened.state, batch - self._starts[number], rate, decay)
        opened.decay *= decay

    def add(self, state: _AllState, factor: float, out: np.ndarray) -> None:
        """Add a multiple of the weights to a vector."""
        self._close(state)
        out[: self._n] += out.dtype.type(factor * state.scale) * state.x[: self._n]
        out[self._n :] += out.dtype.type(factor) * state.x[self._n :]

    def loss(self, state: _AllState, batches: np.ndarray | None = None) -> float:
        """The loss of some batches plus their share of the penalty; by default of all batches."""
        self._close(state)
        share = 1.0
        if batches is None:
            runs = [(number, None) for number in range(len(self._starts) - 1)]
        else:
            share = self.sizes[batches].sum() / self.sizes.sum()
            by_shard = groupby(batches, self._shard_of)
            runs = [(k, np.array(list(run)) - self._starts[k]) for k, run in by_shard]
        loss = 0.0
        for number, chosen in runs:
            opened = self._open(state, number)
            loss += opened.objective.loss(opened.state, chosen)
        node, shared = state.x[: self._n], state.x[self._n :]
        squares = state.scale**2 * float(np.dot(node, node)) + float(np.dot(shared, shared))
        return loss + 0.5 * share * self.precision * squares

    def _shard_of(self, batch: int) -> int:
        return int(np.searchsorted(self._starts, batch, side="right")) - 1

    def _open(self, state: _AllState, number: int) -> _Open:
        """A shard with its own weights."""
        shard = self._shards[number]
        objective, columns = BatchObjective(shard, self._size, np.inf), cast(Any, shard.columns)
        own = objective.start(columns.take(state.x))
        own.scale = state.scale
        return _Open(number, columns, objective, own)

    def _close(self, state: _AllState) -> None:
        """Write the own weights of the open shard back to all weights."""
        if state.opened is None:
            return
        opened, state.opened = state.opened, None
        state.scale *= opened.decay
        state.x[self._n :] *= opened.decay  # other shards have these too
        own = opened.objective.vector(opened.state)
        own[: opened.columns.n_own_node] /= own.dtype.type(state.scale)
        opened.columns.put(own, state.x)
        if state.scale < SMALLEST_SCALE:
            state.x[: self._n] *= state.x.dtype.type(state.scale)
            state.scale = 1.0


def _sizes(batches: Sequence[Chunk]) -> np.ndarray:
    """The weight of each batch."""
    return np.array([batch.weight.sum() for batch in batches])
