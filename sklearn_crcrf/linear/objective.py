"""The training objective of linear models of sequences: criterion plus Gaussian penalty."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from .._kernels.sparse.weights import gaussian_penalty
from .._kernels.threads import Started, Threads, my_threads
from ..criteria import Criterion
from ..structures import ScoreGradient, Scores
from ..utils.memory import retain_freed_memory
from .corpus import Chunk
from .weight_vector import Terms, TermWeights

__all__ = ["Objective"]

# Number of weights whose penalty is computed as one task.
PIECE = 2**18


class Objective:
    """Weighted sum of the losses of all units, plus ``||w||^2 / (2 sigma^2)``.

    The losses are added in the same order for any number of threads. A criterion whose loss is not
    a sum over units (``is_sum`` is False) returns a row of numbers for each unit instead, and
    combines the weighted sums of the rows.

    Parameters
    ----------
    design : FactoredDesign, SparseDesign, ObservedDesign or DenseDesign
        The attributes of the tokens, in the order and the blocks of the chunks.
    terms : Terms
        The weights of the design come first.
    blocks : list of lists of Chunk
        The chunks of each block.
    criterion : Criterion
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
        terms: Terms,
        blocks: Sequence[Sequence[Chunk]],
        criterion: Criterion,
        *,
        sigma: float,
        n_threads: int,
    ):
        self.design, self.terms, self.precision = design, terms, sigma**-2.0
        self.chunks = [chunk for block in blocks for chunk in block]
        self._blocks, self._criterion = blocks, criterion
        self._n_threads = n_threads
        retain_freed_memory()
        largest = max(block[-1].stop - block[0].start for block in blocks)
        # While some threads add the gradient of one block, others begin with the next block.
        self._n_ahead = 1 if n_threads > 1 else 0
        n_buffers = 2 * self._n_ahead + 1
        self._scores = np.empty((n_buffers, largest, terms.n_labels), dtype=design.dtype)
        self._gradient = np.empty(terms.n_weights, dtype=design.dtype)

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

    def weights(self, vector: np.ndarray) -> TermWeights:
        """The weights of a vector, arranged to compute scores from them."""
        weights = self.terms.split(vector)
        return weights._replace(node=self.design.weights(weights.node))

    def derivatives(self, vector: np.ndarray) -> TermWeights:
        """The derivatives in a vector, arranged so that the gradients of chunks can be added."""
        derivatives = self.terms.split(vector)
        return derivatives._replace(node=self.design.derivatives(derivatives.node))

    def join(self, derivatives: TermWeights, out: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`derivatives`."""
        node = self.design.flat(derivatives.node)
        return self.terms.join(derivatives._replace(node=node), out)

    def hessian_product(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The product of the Hessian at w with a vector.

        The criterion must define ``curvature``.
        """
        weights, ahead = self.weights(w), self.weights(direction)
        product = np.multiply(direction, direction.dtype.type(self.precision))
        total = self.derivatives(product)
        for number, block in enumerate(self._blocks):
            start = block[0].start
            buffer = np.empty((block[-1].stop - start, self.terms.n_labels), self.design.dtype)
            for chunk in block:
                scores = self._chunk_scores(chunk, weights, 1.0)
                state = self.design.scores(ahead.node, chunk.start, chunk.stop)
                along = self.terms.along(state, ahead.shared, chunk)
                pullback = self._criterion.curvature(chunk.structure, scores, chunk.y, along)
                state = buffer[chunk.start - start : chunk.stop - start]
                gradient = _written(pullback(chunk.weight, state), state)
                self.terms.add_gradient(chunk, gradient, total.shared)
            for share in range(self._n_threads):
                self.design.add_gradient(number, buffer, total.node, share, self._n_threads)
        return self.join(total, product)

    def losses(self, w: np.ndarray) -> np.ndarray:
        """The loss (or row of numbers) of each unit, in the order of the chunks."""
        weights = self.weights(w)
        return np.concatenate([self._losses(chunk, weights, 1.0) for chunk in self.chunks])

    def total(self, w: np.ndarray) -> float:
        """The objective without the penalty."""
        with my_threads(self._n_threads) as threads:
            return self.combined(self._sum(self.weights(w), threads))

    def combined(self, counted: Any) -> float:
        """The loss, given the weighted sum over all units of what the criterion returns."""
        criterion = self._criterion
        return float(counted if criterion.is_sum else criterion.combine(counted)[0])

    def loss(self, chunk: Chunk, weights: TermWeights, scale: float = 1.0) -> float | np.ndarray:
        """The weighted sum over the units of a chunk; state weights are multiplied by the scale."""
        return chunk.weight @ self._losses(chunk, weights, scale)

    def loss_gradient(
        self,
        chunk: Chunk,
        weights: TermWeights,
        scale: float,
        state: np.ndarray,
        slope: np.ndarray | None = None,
    ) -> tuple[float | np.ndarray, ScoreGradient]:
        """The weighted sum over the units of a chunk, and the score gradient.

        The derivatives by the state scores are written to ``state``. For a criterion that combines
        sums, ``slope`` is the derivative of the loss by the sums over all units; by default, by the
        sums over this chunk.
        """
        scores = self._chunk_scores(chunk, weights, scale)
        criterion, labelled = self._criterion, (chunk.structure, scores, chunk.y)
        if criterion.is_sum:
            losses, gradient = criterion.value_and_gradient(*labelled, chunk.weight, state)
            return chunk.weight @ losses, _written(gradient, state)
        rows, pullback = criterion.checked(*labelled)
        counted = chunk.weight @ rows
        slope = criterion.combine(counted)[1] if slope is None else slope
        gradient = pullback(np.multiply.outer(chunk.weight, slope), state)
        return counted, _written(gradient, state)

    def _sum(self, weights: TermWeights, threads: Threads) -> Any:
        """The weighted sum over all units of what the criterion returns."""
        return sum(threads.map(lambda chunk: self.loss(chunk, weights), self.chunks))

    def _losses(self, chunk: Chunk, weights: TermWeights, scale: float) -> np.ndarray:
        loss, _ = self._criterion.checked(
            chunk.structure, self._chunk_scores(chunk, weights, scale), chunk.y
        )
        return loss

    def _chunk_scores(self, chunk: Chunk, weights: TermWeights, scale: float) -> Scores:
        state = self.design.scores(weights.node, chunk.start, chunk.stop)
        if scale != 1.0:
            state *= state.dtype.type(scale)
        return self.terms.scores(state, weights.shared, chunk)

    def _add_blocks(
        self, weights: TermWeights, total: TermWeights, slope: np.ndarray | None, threads: Threads
    ) -> float | np.ndarray:
        """Add the gradients of all blocks; return the weighted sum over all units."""
        numbers = iter(range(len(self._blocks)))

        def start(n_blocks: int) -> list[Started]:
            next_ones = islice(numbers, n_blocks)
            return [self._start_block(number, weights, slope, threads) for number in next_ones]

        counted, sums, ahead = 0.0, None, deque(start(self._n_ahead))
        for number, block in enumerate(self._blocks):
            ahead.extend(start(1))
            for chunk, (of_chunk, gradient) in zip(block, ahead.popleft().results(), strict=True):
                counted = counted + of_chunk
                self.terms.add_gradient(chunk, gradient, total.shared)
            if sums is not None:
                sums.results()
            sums = self._start_sums(number, total, threads)
        if sums is not None:
            sums.results()
        return counted

    def _start_block(
        self, number: int, weights: TermWeights, slope: np.ndarray | None, threads: Threads
    ) -> Started:
        """Start to compute the losses and score gradients of the chunks of a block."""
        block, scores = self._blocks[number], self._scores_of(number)

        def of_chunk(chunk: Chunk) -> tuple[float | np.ndarray, ScoreGradient]:
            start = chunk.start - block[0].start
            state = scores[start : start + chunk.stop - chunk.start]
            return self.loss_gradient(chunk, weights, 1.0, state, slope)

        return threads.start(of_chunk, block)

    def _start_sums(self, number: int, total: TermWeights, threads: Threads) -> Started:
        """Start to add the derivatives by the design's weights, for the tokens of a block."""
        scores = self._scores_of(number)

        def add_share(share: int) -> None:
            self.design.add_gradient(number, scores, total.node, share, self._n_threads)

        return threads.start(add_share, range(self._n_threads))

    def _scores_of(self, number: int) -> np.ndarray:
        """The buffer for the derivatives by the state scores of a block."""
        block = self._blocks[number]
        return self._scores[number % len(self._scores), : block[-1].stop - block[0].start]


def _written(gradient: ScoreGradient, state: np.ndarray) -> ScoreGradient:
    """The score gradient, whose derivatives by the state scores are also written to ``state``."""
    if gradient.state is not state:
        # A criterion may return an array of its own instead.
        state[:] = gradient.state
    return gradient
