"""The training objective in small batches, for stochastic descent."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from .objective import Shard
from .terms import TermWeights

# When the common scale of the state weights is below this, they are multiplied by it.
SMALLEST_SCALE = 1e-4


class _Open:
    """The shard whose batches are gone through, with its own weights, which change in place.

    The node weights are ``scale * weights.node``. Since the shard was opened, all weights were
    multiplied by ``decay``.
    """

    def __init__(self, number: int, shard: Shard, x: np.ndarray, scale: float):
        own = x if shard.columns is None else shard.columns.take(x)
        self.number, self.shard, self.scale, self.decay = number, shard, scale, 1.0
        self.weights: TermWeights = shard.weights(own)
        self.masks = [term.array(np.ones(term.n_weights)) for term in shard.terms.shared]
        # To allocate these arrays for every batch would take longer than to fill them.
        self.steps = [np.empty_like(mask) for mask in self.masks]

    def vector(self) -> np.ndarray:
        """Return its own weights as a new vector."""
        terms, design = self.shard.terms, self.shard.design
        node = design.flat(self.weights.node) * design.dtype.type(self.scale)
        return terms.join(self.weights._replace(node=node), np.empty(terms.n_weights, design.dtype))


@dataclass
class _State:
    """All weights except the weights of an open shard; node weights are ``scale * x``."""

    x: np.ndarray
    scale: float = 1.0
    opened: _Open | None = None


class BatchObjective:
    """The batches of all shards, whose gradients go straight into the weights.

    Random orders go through one shard after another, so that each is opened once. A shard that has
    all weights stays open.

    Parameters
    ----------
    shards : sequence of Shard
        Is asked for a shard whenever it is opened. Their designs need no blocks.
    sigma : float
    """

    def __init__(self, shards: Sequence[Shard], sigma: float):
        self._shards, self.precision, sizes = shards, sigma**-2.0, []
        for shard in shards:
            sizes.append([batch.weight.sum() for batch in shard.batches])
            self._n = (shard.columns or shard.terms).n_node_weights
        self._starts = np.cumsum([0, *map(len, sizes)])
        self.sizes = np.concatenate(sizes)
        # The shard of each batch, and its number there.
        self._places = [(k, i) for k, found in enumerate(sizes) for i in range(len(found))]

    def order(self, rng: np.random.RandomState) -> np.ndarray:
        """Return all batches, by shards in random order, in random order in each shard."""
        first, last = self._starts[:-1], self._starts[1:]
        shards = rng.permutation(len(first))
        return np.concatenate([first[k] + rng.permutation(last[k] - first[k]) for k in shards])

    def start(self, x: np.ndarray) -> _State:
        """Return the weights of a vector, which steps may overwrite."""
        return _State(x)

    def step(self, state: _State, batch: int, rate: float, decay: float) -> None:
        """Multiply all weights by ``decay``, and subtract ``rate`` times the gradient."""
        number, place = self._places[batch]
        if state.opened is None or state.opened.number != number:
            self._close(state)
            state.opened = _Open(number, self._shards[number], state.x, state.scale)
        opened = state.opened
        shard, weights = opened.shard, opened.weights
        chunk = shard.batches[place]
        scores = np.empty((chunk.stop - chunk.start, shard.terms.n_labels), shard.design.dtype)
        _, gradient = shard.loss_gradient(chunk, weights, opened.scale, scores)
        opened.scale *= decay
        opened.decay *= decay
        scores *= scores.dtype.type(-rate / opened.scale)
        shard.design.add_to_weights(scores, weights.node, chunk.start, chunk.stop)
        for step in opened.steps:
            step.fill(0.0)
        shard.terms.add_gradient(chunk, gradient, opened.steps)
        for array, mask, step in zip(weights.shared, opened.masks, opened.steps, strict=True):
            array[...] = decay * array - rate * mask * step
        if opened.scale < SMALLEST_SCALE:
            opened.weights, opened.scale = shard.weights(opened.vector()), 1.0

    def add(self, state: _State, factor: float, out: np.ndarray) -> None:
        """Add a multiple of the weights to a vector."""
        node, shared, scale = self._flat(state)
        if self._n:  # axpy refuses to add nothing
            get_blas_funcs("axpy", [node])(node, out[: self._n], a=factor * scale)
        out[self._n :] += factor * shared

    def loss(self, state: _State, batches: np.ndarray | None = None) -> float:
        """Return the loss of some batches, by default all, and their share of the penalty."""
        node, shared, scale = self._flat(state)
        squares = scale**2 * float(np.dot(node, node)) + np.square(shared, dtype=float).sum()
        share = 1.0
        runs: Any = ((number, None) for number in range(len(self._shards)))
        if batches is not None:
            share = self.sizes[batches].sum() / self.sizes.sum()
            runs = groupby((self._places[batch] for batch in batches), itemgetter(0))
        loss = 0.5 * share * self.precision * float(squares)
        for number, run in runs:
            opened = state.opened or _Open(number, self._shards[number], state.x, scale)
            shard = opened.shard
            chunks = shard.chunks if run is None else [shard.batches[place] for _, place in run]
            losses = (shard.loss(chunk, opened.weights, opened.scale) for chunk in chunks)
            loss += shard.combined(sum(losses))
        return loss

    def _flat(self, state: _State) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the node weights, the other weights, and the scale of the node weights."""
        opened = state.opened
        if opened is None or opened.shard.columns is not None:
            self._close(state)
            return state.x[: self._n], state.x[self._n :], state.scale
        node = opened.shard.design.flat(opened.weights.node)
        return node, opened.shard.terms.join_shared(opened.weights), opened.scale

    def _close(self, state: _State) -> None:
        """Write the weights of the open shard to their places."""
        opened, state.opened = state.opened, None
        if opened is None:
            return
        columns: Any = opened.shard.columns
        state.scale *= opened.decay
        state.x[self._n :] *= opened.decay  # other shards have these too
        own = opened.vector()
        own[: columns.n_own_node] /= own.dtype.type(state.scale)
        columns.put(own, state.x)
        if state.scale < SMALLEST_SCALE:
            state.x[: self._n] *= state.x.dtype.type(state.scale)
            state.scale = 1.0
