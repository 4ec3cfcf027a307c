"""The training objective of linear models of sequences: criterion plus Gaussian penalty."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels._gaussian import gaussian_penalty
from ..criteria import Criterion
from ..structures import ScoreGradient, Scores
from ..utils.memory import retain_freed_memory
from ..utils.threads import Started, Threads, my_threads
from .corpus import Chunk
from .edges import EdgeDesign
from .weights import Layout, Weights

__all__ = ["Objective"]

# Weights whose penalty is one task.
PIECE = 2**18


class Objective:
    """Weighted sum of the losses of all sequences, plus ``||w||^2 / (2 sigma^2)``.

    The sum is made in the same order whatever the number of threads. A criterion that is no sum
    counts something instead, in one row for each sequence, and combines the weighted sums of the
    rows.

    Parameters
    ----------
    design : FactoredDesign, SparseDesign, ObservedDesign or DenseDesign
        Of the tokens in the order of the chunks, with the same blocks.
    layout : Layout
    blocks : list of lists of Chunk
    edge_attributes : CSR of shape (n_tokens, n_edge_attributes)
    criterion : Criterion
    forbidden : tuple of (transition, begin, end)
        What is added to these scores: 0, or -inf for what is impossible.
    sigma : float
        Standard deviation of the Gaussian prior of each weight; inf for none.
    n_threads : int

    Attributes
    ----------
    chunks : list of Chunk
    precision : float
        ``1 / sigma ** 2``
    """

    def __init__(
        self,
        design: Any,
        layout: Layout,
        blocks: Sequence[Sequence[Chunk]],
        edge_attributes: sp.csr_array,
        criterion: Criterion,
        forbidden: tuple[np.ndarray, np.ndarray, np.ndarray],
        *,
        sigma: float,
        n_threads: int,
    ):
        self.design, self.layout, self.precision = design, layout, sigma**-2.0
        self.chunks = [chunk for block in blocks for chunk in block]
        self._blocks, self._criterion = blocks, criterion
        self._forbidden = forbidden if any(scores.any() for scores in forbidden) else None
        self._n_threads = n_threads
        self._edge_attributes, self._edge_designs = edge_attributes, {}
        retain_freed_memory()
        largest = max(block[-1].stop - block[0].start for block in blocks)
        # While the sums over the tokens of a block are made, other threads begin with the next.
        self._n_ahead = 1 if n_threads > 1 else 0
        n_buffers = 2 * self._n_ahead + 1
        self._scores = np.empty((n_buffers, largest, layout.n_labels), dtype=design.dtype)
        self._gradient = np.empty(layout.n_weights, dtype=design.dtype)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient, in an array that the next call overwrites.

        Parameters
        ----------
        w : ndarray of shape (n_weights,), of the type of the design

        Returns
        -------
        loss : float
        gradient : ndarray of shape (n_weights,)
        """
        gradient = self._gradient

        def penalise(start: int) -> float:
            piece = slice(start, start + PIECE)
            return gaussian_penalty(w[piece], self.precision, gradient[piece])

        with my_threads(self._n_threads) as threads:
            penalties = threads.start(penalise, range(0, len(w), PIECE))
            weights, slope = self.weights(w), None
            if not self._criterion.is_sum:
                _, slope = self._criterion.combine(self._sum(weights, threads))
            penalty, total = sum(penalties.results()), self.derivatives(gradient)
            counted = self._add_blocks(weights, total, slope, threads)
        return penalty + self.combined(counted), self.join(total, gradient)

    def weights(self, vector: np.ndarray) -> Weights:
        """The weights of a vector, as scores are made of them."""
        weights = self.layout.split(vector)
        return weights._replace(state=self.design.weights(weights.state))

    def derivatives(self, vector: np.ndarray) -> Weights:
        """The derivatives by the weights of a vector, as others are added to them."""
        derivatives = self.layout.split(vector)
        return derivatives._replace(state=self.design.derivatives(derivatives.state))

    def join(self, derivatives: Weights, out: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`derivatives`."""
        state = self.design.flat(derivatives.state)
        return self.layout.join(derivatives._replace(state=state), out)

    def hessian_product(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The product of the second derivatives at w with a vector.

        The criterion must have a curvature.
        """
        weights, ahead = self.weights(w), self.weights(direction)
        product = np.multiply(direction, direction.dtype.type(self.precision))
        total = self.derivatives(product)
        for number, block in enumerate(self._blocks):
            start = block[0].start
            buffer = np.empty((block[-1].stop - start, self.layout.n_labels), self.design.dtype)
            for chunk in block:
                scores = self._chunk_scores(chunk, weights, 1.0)
                state = self.design.scores(ahead.state, chunk.start, chunk.stop)
                along = ScoreGradient(state, *ahead[1:4], self._edges(chunk).scores(ahead))
                pullback = self._criterion.curvature(chunk.structure, scores, chunk.y, along)
                state = buffer[chunk.start - start : chunk.stop - start]
                counts = _written(pullback(chunk.weight, state), state)
                self.add_others(chunk, counts, total)
            for share in range(self._n_threads):
                self.design.add_gradient(number, buffer, total.state, share, self._n_threads)
        return self.join(total, product)

    def losses(self, w: np.ndarray) -> np.ndarray:
        """What the criterion returns for all sequences, in the order of the chunks."""
        weights = self.weights(w)
        return np.concatenate([self._losses(chunk, weights, 1.0) for chunk in self.chunks])

    def total(self, w: np.ndarray) -> float:
        """The objective without the penalty."""
        with my_threads(self._n_threads) as threads:
            return self.combined(self._sum(self.weights(w), threads))

    def combined(self, counted: float | np.ndarray) -> float:
        """The loss, given the sum over sequences."""
        criterion = self._criterion
        return float(counted if criterion.is_sum else criterion.combine(counted)[0])

    def loss(self, chunk: Chunk, weights: Weights, scale: float = 1.0) -> float | np.ndarray:
        """The sum over the sequences of a chunk; the state weights are times the scale."""
        return chunk.weight @ self._losses(chunk, weights, scale)

    def loss_gradient(
        self,
        chunk: Chunk,
        weights: Weights,
        scale: float,
        state: np.ndarray,
        slope: np.ndarray | None = None,
    ) -> tuple[float | np.ndarray, ScoreGradient]:
        """The sum over the sequences of a chunk, and the derivatives of the loss by the scores.

        Those by the state scores are written to ``state``. A criterion that combines sums has the
        slope given by the sums over all sequences; by default the chunk is taken to be all.
        """
        scores = self._chunk_scores(chunk, weights, scale)
        criterion, labelled = self._criterion, (chunk.structure, scores, chunk.y)
        if criterion.is_sum:
            losses, counts = criterion.value_and_gradient(*labelled, chunk.weight, state)
            return chunk.weight @ losses, _written(counts, state)
        rows, pullback = criterion(*labelled)
        counted = chunk.weight @ rows
        slope = criterion.combine(counted)[1] if slope is None else slope
        counts = pullback(np.multiply.outer(chunk.weight, slope), state)
        return counted, _written(counts, state)

    def add_others(self, chunk: Chunk, counts: ScoreGradient, out: Weights) -> None:
        """Add the derivatives by all weights but those of the state."""
        self._edges(chunk).add_gradient(counts, out)
        out.begin[:] += counts.begin
        out.end[:] += counts.end

    def _sum(self, weights: Weights, threads: Threads) -> float | np.ndarray:
        """What the criterion counts, over all sequences."""
        return sum(threads.map(lambda chunk: self.loss(chunk, weights), self.chunks))

    def _losses(self, chunk: Chunk, weights: Weights, scale: float) -> np.ndarray:
        loss, _ = self._criterion(
            chunk.structure, self._chunk_scores(chunk, weights, scale), chunk.y
        )
        return loss

    def _edges(self, chunk: Chunk) -> EdgeDesign:
        where = chunk.start, chunk.stop
        if where not in self._edge_designs:
            offsets = chunk.structure.offsets
            self._edge_designs[where] = EdgeDesign.of(self._edge_attributes, *where, offsets)
        return self._edge_designs[where]

    def _chunk_scores(self, chunk: Chunk, weights: Weights, scale: float) -> Scores:
        state = self.design.scores(weights.state, chunk.start, chunk.stop)
        if scale != 1.0:
            state *= state.dtype.type(scale)
        shared, edges = weights[1:4], self._edges(chunk)
        if self._forbidden is not None:
            shared = map(np.add, shared, self._forbidden)
        return edges.added_to(Scores(state, *shared, edges.none), weights)

    def _add_blocks(
        self, weights: Weights, total: Weights, slope: np.ndarray | None, threads: Threads
    ) -> float | np.ndarray:
        """Add the gradient of all blocks; return their sum over sequences."""
        numbers = iter(range(len(self._blocks)))

        def start(n_blocks: int) -> list[Started]:
            next_ones = islice(numbers, n_blocks)
            return [self._start_block(number, weights, slope, threads) for number in next_ones]

        counted, sums, ahead = 0.0, None, deque(start(self._n_ahead))
        for number, block in enumerate(self._blocks):
            ahead.extend(start(1))
            for chunk, (of_chunk, counts) in zip(block, ahead.popleft().results(), strict=True):
                counted = counted + of_chunk
                self.add_others(chunk, counts, total)
            if sums is not None:
                sums.results()
            sums = self._start_sums(number, total, threads)
        sums.results()
        return counted

    def _start_block(
        self, number: int, weights: Weights, slope: np.ndarray | None, threads: Threads
    ) -> Started:
        """Have the losses of the chunks of a block computed, and the derivatives by the scores."""
        block, scores = self._blocks[number], self._scores_of(number)

        def of_chunk(chunk: Chunk) -> tuple[float, ScoreGradient]:
            start = chunk.start - block[0].start
            state = scores[start : start + chunk.stop - chunk.start]
            return self.loss_gradient(chunk, weights, 1.0, state, slope)

        return threads.start(of_chunk, block)

    def _start_sums(self, number: int, total: Weights, threads: Threads) -> Started:
        """Have the sums over the tokens of a block added."""
        scores = self._scores_of(number)

        def add_share(share: int) -> None:
            self.design.add_gradient(number, scores, total.state, share, self._n_threads)

        return threads.start(add_share, range(self._n_threads))

    def _scores_of(self, number: int) -> np.ndarray:
        """Where the derivatives by the scores of a block are."""
        block = self._blocks[number]
        return self._scores[number % len(self._scores), : block[-1].stop - block[0].start]


def _written(counts: ScoreGradient, state: np.ndarray) -> ScoreGradient:
    """The derivatives by the scores; those by state scores are in the array given for them."""
    if counts.state is not state:
        # A criterion need not make use of the array.
        state[:] = counts.state
    return counts
