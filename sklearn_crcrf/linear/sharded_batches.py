"""Stochastic descent over shards, each of which is open for all of its batches in turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from .batches import SMALLEST_SCALE, BatchObjective
from .shards import BatchShard

__all__ = ["ShardedBatches"]


@dataclass
class _Open:
    """The shard whose batches are gone through, and its own weights."""

    number: int
    shard: BatchShard
    objective: BatchObjective
    state: Any
    decay: float = 1.0


@dataclass
class _State:
    """All weights; the node weights are ``scale * x``, but for the own weights of an open shard."""

    x: np.ndarray
    scale: float
    opened: _Open | None = None


class ShardedBatches:
    """The batches of all shards, whose gradients go straight into the weights.

    Random orders go through one shard after another, so that each is opened once.

    Parameters
    ----------
    shards : sequence of BatchShard
        Is asked for a shard whenever it is opened.
    sizes : sequence of ndarray
        The weight of each batch of each shard.
    n_node_weights : int
        The number of weights of attributes and labels, which come first.
    precision : float
    batch_size : int
        The number of sequences in a batch.
    """

    def __init__(
        self,
        shards: Sequence[BatchShard],
        sizes: Sequence[np.ndarray],
        *,
        n_node_weights: int,
        precision: float,
        batch_size: int,
    ):
        self._shards, self._n, self._batch_size = shards, n_node_weights, batch_size
        self._starts = np.cumsum([0, *map(len, sizes)])
        self.sizes, self.precision = np.concatenate(sizes), precision

    def order(self, rng: np.random.RandomState) -> np.ndarray:
        """All batches, by shards in random order, in random order in each shard."""
        first, last = self._starts[:-1], self._starts[1:]
        shards = rng.permutation(len(first))
        return np.concatenate([first[k] + rng.permutation(last[k] - first[k]) for k in shards])

    def start(self, x: np.ndarray) -> _State:
        """The weights of a vector, which steps may overwrite."""
        return _State(x, 1.0)

    def step(self, state: _State, batch: int, rate: float, decay: float) -> None:
        """Multiply the weights by ``decay``; subtract ``rate`` times the gradient of a batch."""
        number = self._shard_of(batch)
        if state.opened is None or state.opened.number != number:
            self._close(state)
            state.opened = self._open(state, number)
        opened = state.opened
        opened.objective.step(opened.state, batch - self._starts[number], rate, decay)
        opened.decay *= decay

    def add(self, state: _State, factor: float, out: np.ndarray) -> None:
        """Add a multiple of the weights to a vector."""
        self._close(state)
        out[: self._n] += out.dtype.type(factor * state.scale) * state.x[: self._n]
        out[self._n :] += out.dtype.type(factor) * state.x[self._n :]

    def loss(self, state: _State, batches: np.ndarray | None = None) -> float:
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

    def _open(self, state: _State, number: int) -> _Open:
        """A shard with its own weights."""
        shard = self._shards[number]
        objective = shard.batches(self._batch_size)
        own = objective.start(shard.columns.take(state.x))
        own.scale = state.scale
        return _Open(number, shard, objective, own)

    def _close(self, state: _State) -> None:
        """Write the own weights of the open shard back to all weights."""
        if state.opened is None:
            return
        opened, state.opened = state.opened, None
        state.scale *= opened.decay
        state.x[self._n :] *= opened.decay  # other shards have these too
        own = opened.objective.vector(opened.state)
        columns = opened.shard.columns
        own[: columns.n_own_node] /= own.dtype.type(state.scale)
        columns.put(own, state.x)
        if state.scale < SMALLEST_SCALE:
            state.x[: self._n] *= state.x.dtype.type(state.scale)
            state.scale = 1.0
