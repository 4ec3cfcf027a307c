"""The training objective: a sum over shards of the training data, plus a Gaussian penalty.

A fit in memory has one shard, which has all weights. Data in parts become shards in two passes. The
first pass surveys all parts and unites what they have; the second makes each shard, with the shape
of the model of all parts:

    survey = Survey.unite(Survey.of(part) for part in parts)
    shape = survey.shape(features="observed")
    shards = [shape.shard(part, criterion) for part in parts]

Such a shard can be made and evaluated in any process: it is sent its own weights, and sends back
the loss and as many derivatives.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from .._kernels.sparse.weights import gaussian_penalty
from .._kernels.threads import Started, Threads, my_threads
from ..criteria import Criterion
from ..structures import ScoreGradient, Scores
from ..utils.memory import retain_freed_memory
from .corpus import Chunk, Corpus
from .terms import Terms, TermWeights

# Number of weights whose penalty is computed as one task.
PIECE = 2**18
# Number of sequences in a batch of stochastic descent.
BATCH = 8

AddParts = Callable[[np.ndarray, np.ndarray], Iterable[float]]
Evaluate = Callable[[Iterator[np.ndarray]], Iterable[tuple[float, np.ndarray]]]


class OwnColumns(NamedTuple):
    """Where the weights of one shard stand in the vector of all weights.

    Parameters
    ----------
    node : ndarray of int
        The rows of its attributes, if each attribute has a weight for each label; else the single
        weights.
    width : int
        The number of weights in a row.
    n_node_weights : int
        The number of weights of attributes and labels in the vector of all weights.
    shared : ndarray of int
        The other weights.
    """

    node: np.ndarray
    width: int
    n_node_weights: int
    shared: np.ndarray

    @property
    def n_own_node(self) -> int:
        """How many of the weights of the shard are weights of attributes and labels."""
        return len(self.node) * self.width

    @property
    def numbers(self) -> np.ndarray:
        """The place of each weight of the shard in the vector of all weights."""
        rows = np.add.outer(self.node * self.width, np.arange(self.width))
        return np.concatenate([rows.reshape(-1), self.shared])

    def take(self, vector: np.ndarray) -> np.ndarray:
        """Return the weights of the shard."""
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        return np.concatenate([rows[self.node].reshape(-1), vector[self.shared]])

    def put(self, own: np.ndarray, vector: np.ndarray) -> None:
        """Write the weights of the shard to their places."""
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        rows[self.node] = own[: self.n_own_node].reshape(-1, self.width)
        vector[self.shared] = own[self.n_own_node :]

    def add(self, own: np.ndarray, vector: np.ndarray) -> None:
        """Add to the vector of all weights what belongs to the weights of the shard."""
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        rows[self.node] += own[: self.n_own_node].reshape(-1, self.width)
        vector[self.shared] += own[self.n_own_node :]


class Objective:
    r"""The sum of the losses of all shards, plus :math:`\lVert w \rVert^2 / (2 \sigma^2)` once.

    Losses and gradients are added in the order of the shards, so the result has the same bits
    wherever and in which order the shards are evaluated.

    Parameters
    ----------
    add_parts : callable
        Takes the weights and the derivatives of the penalty, adds the derivatives of the loss of
        each shard, and yields the losses in order: what :func:`here` or :func:`elsewhere` returns.
    sigma : float
        Standard deviation of the Gaussian prior of each weight; inf for none.
    n_threads : int, default=1
        The threads that share the computation of the penalty; the result does not depend on it.

    Attributes
    ----------
    precision : float
        ``1 / sigma ** 2``

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.linear.objective import Objective, Shard, elsewhere
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> from sklearn_crcrf.solvers import lbfgs
    >>> parts = [read_part(CRF(), [["a", "b"]], [["X", "Y"]]), read_part(CRF(), [["b"]], [["Y"]])]
    >>> shape = Survey.unite(map(Survey.of, parts)).shape()
    >>> shards = [shape.shard(part, log_loss) for part in parts]
    >>> add_parts = elsewhere(
    ...     [shard.columns for shard in shards],
    ...     lambda own_weights: map(Shard.evaluate, shards, own_weights),
    ... )
    >>> objective = Objective(add_parts, sigma=1.0)
    >>> lbfgs(objective, np.zeros(shape.terms().n_weights)).x.round(2)[:4]
    array([ 0.27, -0.27, -0.49,  0.49])
    """

    def __init__(self, add_parts: AddParts, *, sigma: float, n_threads: int = 1):
        self._add_parts, self.precision, self._n_threads = add_parts, sigma**-2.0, n_threads
        self._gradient = np.empty(0)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, in an array that the next call overwrites.

        Parameters
        ----------
        w : ndarray of shape (n_weights,), of the type of the design

        Returns
        -------
        loss : float
        gradient : ndarray of shape (n_weights,)
        """
        if self._gradient.shape != w.shape:
            self._gradient = np.empty_like(w)

        def penalise(start: int) -> float:
            piece = slice(start, start + PIECE)
            return gaussian_penalty(w[piece], self.precision, self._gradient[piece])

        with my_threads(self._n_threads) as threads:
            loss = sum(threads.map(penalise, range(0, len(w), PIECE)))
        for of_shard in self._add_parts(w, self._gradient):
            loss += of_shard
        return loss, self._gradient


def here(shards: Iterable["Shard"], n_threads: int) -> AddParts:
    """Evaluate shards in this process, one after another, with all threads on each.

    Parameters
    ----------
    shards : iterable of Shard
        Is gone through at each evaluation.
    n_threads : int

    Returns
    -------
    callable
        As an :class:`Objective` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.linear.objective import Objective, here
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> part = read_part(CRF(), [["a", "b"]], [["X", "Y"]])
    >>> shape = Survey.of(part).shape()
    >>> objective = Objective(here([shape.shard(part, log_loss)], n_threads=1), sigma=1.0)
    >>> loss, gradient = objective(np.zeros(shape.terms().n_weights))
    >>> round(loss, 4), gradient[:4]
    (1.3863, array([-0.5,  0.5,  0.5, -0.5]))
    """

    def add_parts(w: np.ndarray, gradient: np.ndarray) -> Iterator[float]:
        for shard in shards:
            if shard.columns is None:
                yield shard.add(w, gradient, n_threads)
            else:
                loss, own = shard.evaluate(shard.columns.take(w), n_threads)
                shard.columns.add(own, gradient)
                yield loss

    return add_parts


def elsewhere(columns: Iterable[OwnColumns], evaluate: Evaluate) -> AddParts:
    """Let an engine evaluate shards.

    Parameters
    ----------
    columns : iterable of OwnColumns
        Of the shards, in their order; is gone through several times.
    evaluate : callable
        Takes an iterator of the own weights of each shard, and returns or yields what
        :meth:`Shard.evaluate` returns for each, in the same order.

    Returns
    -------
    callable
        As an :class:`Objective` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.linear.objective import Objective, Shard, elsewhere
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> part = read_part(CRF(), [["a", "b"]], [["X", "Y"]])
    >>> shape = Survey.of(part).shape()
    >>> shards = [shape.shard(part, log_loss)]
    >>> columns = [shard.columns for shard in shards]
    >>> add_parts = elsewhere(columns, lambda own_weights: map(Shard.evaluate, shards, own_weights))
    >>> loss, _ = Objective(add_parts, sigma=1.0)(np.zeros(shape.terms().n_weights))
    >>> round(loss, 4)
    1.3863
    """

    def add_parts(w: np.ndarray, gradient: np.ndarray) -> Iterator[float]:
        results = evaluate(own.take(w) for own in columns)
        for own, (loss, derivatives) in zip(columns, results, strict=True):
            own.add(derivatives, gradient)
            yield loss

    return add_parts


class Shard:
    """A part of the training data, and its own part of the loss and the gradient.

    The losses are added in the same order for any number of threads. A criterion whose loss is not
    a sum over units (``is_sum`` is False) returns a row of numbers for each unit instead, and
    combines the weighted sums of the rows. A shard can be pickled.

    Parameters
    ----------
    design : FactoredDesign, SparseDesign, ObservedDesign or DenseDesign
        The attributes of the tokens, in the order and the blocks of the corpus.
    terms : Terms
        The weights of the design come first.
    corpus : Corpus
        ``X`` is not used, because the design has the attributes.
    criterion : Criterion
    columns : OwnColumns, optional
        Where its own weights stand in the vector of all weights; by default it has all weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> parts = [read_part(CRF(), [["a", "b"]], [["X", "Y"]]), read_part(CRF(), [["c"]], [["Z"]])]
    >>> shape = Survey.unite(map(Survey.of, parts)).shape()
    >>> shard = shape.shard(parts[1], log_loss)
    >>> loss, gradient = shard.evaluate(np.zeros(shard.terms.n_weights))
    >>> round(loss, 4), gradient[:3].round(4), shard.columns.numbers[:3]
    (1.0986, array([ 0.3333,  0.3333, -0.6667]), array([6, 7, 8]))
    """

    def __init__(
        self,
        design: Any,
        terms: Terms,
        corpus: Corpus,
        criterion: Criterion,
        columns: OwnColumns | None = None,
    ):
        self.design, self.terms, self.corpus = design, terms, corpus._replace(X=None)
        self.criterion, self.columns = criterion, columns
        self._buffers: np.ndarray | None = None
        retain_freed_memory()

    def __reduce__(self):
        return Shard, (self.design, self.terms, self.corpus, self.criterion, self.columns)

    def __sizeof__(self) -> int:
        buffers: list[pickle.PickleBuffer] = []
        state = pickle.dumps(self, protocol=5, buffer_callback=buffers.append)
        return len(state) + sum(buffer.raw().nbytes for buffer in buffers)

    def with_criterion(self, criterion: Criterion) -> "Shard":
        """Return the same part with another criterion."""
        return Shard(self.design, self.terms, self.corpus, criterion, self.columns)

    @cached_property
    def blocks(self) -> list[list[Chunk]]:
        """The chunks of each block."""
        return self.corpus.chunks(self.terms.n_labels)

    @property
    def chunks(self) -> list[Chunk]:
        """All chunks."""
        return [chunk for block in self.blocks for chunk in block]

    @cached_property
    def batches(self) -> list[Chunk]:
        """The batches of stochastic descent."""
        return self.corpus.batches(BATCH)

    def evaluate(self, own: np.ndarray, n_threads: int = 1) -> tuple[float, np.ndarray]:
        """Return the loss of its units and the gradient, without a penalty.

        Parameters
        ----------
        own : ndarray of shape (n_weights,)
            Its own weights.
        n_threads : int
            The result has the same bits for any number of threads.

        Returns
        -------
        loss : float
        gradient : ndarray of shape (n_weights,)
        """
        own = own.astype(self.design.dtype, copy=False)
        gradient = np.zeros_like(own)
        return self.add(own, gradient, n_threads), gradient

    def add(self, own: np.ndarray, gradient: np.ndarray, n_threads: int) -> float:
        """Add to the gradient by its own weights; return the loss of its units."""
        with my_threads(n_threads) as threads:
            weights, slope = self.weights(own), None
            if not self.criterion.is_sum:
                _, slope = self.criterion.combine(self._sum(weights, threads))
            total = self.derivatives(gradient)
            counted = self._add_blocks(weights, total, slope, threads)
        self.join(total, gradient)
        return self.combined(counted)

    def weights(self, vector: np.ndarray) -> TermWeights:
        """Return the weights of a vector, arranged to compute scores from them."""
        weights = self.terms.split(vector)
        return weights._replace(node=self.design.weights(weights.node))

    def derivatives(self, vector: np.ndarray) -> TermWeights:
        """Arrange the derivatives in a vector so that the gradients of chunks can be added."""
        derivatives = self.terms.split(vector)
        return derivatives._replace(node=self.design.derivatives(derivatives.node))

    def join(self, derivatives: TermWeights, out: np.ndarray) -> np.ndarray:
        """Return the inverse of :meth:`derivatives`."""
        node = self.design.flat(derivatives.node)
        return self.terms.join(derivatives._replace(node=node), out)

    def hessian_product(
        self, w: np.ndarray, direction: np.ndarray, precision: float = 0.0, n_threads: int = 1
    ) -> np.ndarray:
        """Multiply the Hessian at w by a vector; ``precision`` belongs to the penalty.

        The criterion must define ``curvature``.
        """
        weights, ahead = self.weights(w), self.weights(direction)
        product = np.multiply(direction, direction.dtype.type(precision))
        total = self.derivatives(product)
        for number, block in enumerate(self.blocks):
            start = block[0].start
            buffer = np.empty((block[-1].stop - start, self.terms.n_labels), self.design.dtype)
            for chunk in block:
                scores = self._chunk_scores(chunk, weights, 1.0)
                state = self.design.scores(ahead.node, chunk.start, chunk.stop)
                along = self.terms.along(state, ahead.shared, chunk)
                pullback = self.criterion.curvature(chunk.structure, scores, chunk.y, along)
                state = buffer[chunk.start - start : chunk.stop - start]
                gradient = _written(pullback(chunk.weight, state), state)
                self.terms.add_gradient(chunk, gradient, total.shared)
            for share in range(n_threads):
                self.design.add_gradient(number, buffer, total.node, share, n_threads)
        return self.join(total, product)

    def losses(self, w: np.ndarray) -> np.ndarray:
        """Return the loss (or row of numbers) of each unit, in the order of the chunks."""
        weights = self.weights(w)
        return np.concatenate([self._losses(chunk, weights, 1.0) for chunk in self.chunks])

    def total(self, w: np.ndarray, n_threads: int = 1) -> float:
        """Return the loss of its units."""
        with my_threads(n_threads) as threads:
            return self.combined(self._sum(self.weights(w), threads))

    def combined(self, counted: Any) -> float:
        """Return the loss, given the weighted sum over all units of what the criterion returns."""
        criterion = self.criterion
        return float(counted if criterion.is_sum else criterion.combine(counted)[0])

    def loss(self, chunk: Chunk, weights: TermWeights, scale: float = 1.0) -> float | np.ndarray:
        """Sum the weighted losses of a chunk; state weights are multiplied by the scale."""
        return chunk.weight @ self._losses(chunk, weights, scale)

    def loss_gradient(
        self,
        chunk: Chunk,
        weights: TermWeights,
        scale: float,
        state: np.ndarray,
        slope: np.ndarray | None = None,
    ) -> tuple[float | np.ndarray, ScoreGradient]:
        """Return the weighted sum over the units of a chunk, and the score gradient.

        The derivatives by the state scores are written to ``state``. For a criterion that combines
        sums, ``slope`` is the derivative of the loss by the sums over all units; by default, by the
        sums over this chunk.
        """
        scores = self._chunk_scores(chunk, weights, scale)
        criterion, labelled = self.criterion, (chunk.structure, scores, chunk.y)
        if criterion.is_sum:
            losses, gradient = criterion.value_and_gradient(*labelled, chunk.weight, state)
            return chunk.weight @ losses, _written(gradient, state)
        rows, pullback = criterion.checked(*labelled)
        counted = chunk.weight @ rows
        slope = criterion.combine(counted)[1] if slope is None else slope
        gradient = pullback(np.multiply.outer(chunk.weight, slope), state)
        return counted, _written(gradient, state)

    def _sum(self, weights: TermWeights, threads: Threads) -> Any:
        """Return the weighted sum over all units of what the criterion returns."""
        return sum(threads.map(lambda chunk: self.loss(chunk, weights), self.chunks))

    def _losses(self, chunk: Chunk, weights: TermWeights, scale: float) -> np.ndarray:
        scores = self._chunk_scores(chunk, weights, scale)
        return self.criterion.checked(chunk.structure, scores, chunk.y)[0]

    def _chunk_scores(self, chunk: Chunk, weights: TermWeights, scale: float) -> Scores:
        state = self.design.scores(weights.node, chunk.start, chunk.stop)
        if scale != 1.0:
            state *= state.dtype.type(scale)
        return self.terms.scores(state, weights.shared, chunk)

    def _add_blocks(
        self, weights: TermWeights, total: TermWeights, slope: np.ndarray | None, threads: Threads
    ) -> float | np.ndarray:
        """Add the gradients of all blocks; return the weighted sum over all units."""
        blocks, n_threads = self.blocks, threads.n_threads
        sizes = [block[-1].stop - block[0].start for block in blocks]
        # While some threads add the gradient of one block, others begin with the next blocks.
        n_ahead = min(2 if n_threads > 1 else 0, len(blocks))
        shape = 2 * n_ahead + 1, max(sizes), self.terms.n_labels
        buffers = self._buffers
        if buffers is None or buffers.shape != shape:
            buffers = np.empty(shape, dtype=self.design.dtype)
        # A shard with all weights is evaluated again and again; many others may be in memory.
        self._buffers = buffers if self.columns is None else None

        def scores_of(number: int) -> np.ndarray:
            return buffers[number % len(buffers), : sizes[number]]

        def start(number: int) -> Started:
            """Start to compute the losses and score gradients of the chunks of a block."""
            scores, first = scores_of(number), blocks[number][0].start

            def of_chunk(chunk: Chunk) -> tuple[float | np.ndarray, ScoreGradient]:
                state = scores[chunk.start - first : chunk.stop - first]
                return self.loss_gradient(chunk, weights, 1.0, state, slope)

            return threads.start(of_chunk, blocks[number])

        counted, sums = 0.0, threads.start(start, [])
        ahead = deque(start(number) for number in range(n_ahead))
        for number, block in enumerate(blocks):
            if number + n_ahead < len(blocks):
                ahead.append(start(number + n_ahead))
            for chunk, (of_chunk, gradient) in zip(block, ahead.popleft().results(), strict=True):
                counted = counted + of_chunk
                self.terms.add_gradient(chunk, gradient, total.shared)
            sums.results()
            add = partial(self.design.add_gradient, number, scores_of(number), total.node)
            sums = threads.start(partial(add, n_shares=n_threads), range(n_threads))
        sums.results()
        return counted


def _written(gradient: ScoreGradient, state: np.ndarray) -> ScoreGradient:
    """Write the derivatives by the state scores to ``state``, too; return the score gradient."""
    if gradient.state is not state:
        # A criterion may return an array of its own instead.
        state[:] = gradient.state
    return gradient
