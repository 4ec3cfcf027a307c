"""The objective as a sum over shards, each with the weights of its own attributes only.

A part of the training data becomes a shard in two passes. The first pass surveys all parts and
unites what they have; the second makes each shard with the shape of the model of all parts:

    survey = Survey.unite(Survey.of(part) for part in parts)
    shape = survey.shape(features="observed")
    shards = [Shard.of(part, shape, criterion) for part in parts]

A shard can be made and evaluated in any process: it is sent its own weights, and sends back the
loss and as many derivatives.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from .._kernels.sparse.columns import some_entries
from .._kernels.sparse.weights import gaussian_penalty
from ..criteria import Criterion
from ..data.csr import csr_arrays
from .batches import BatchObjective
from .corpus import Chunk, Corpus, check_possible
from .designs import Slices, SparseDesign, design_of
from .objective import Objective
from .parts import ModelShape, OwnColumns, Part
from .transition_feature import edge_columns, without_columns
from .weight_vector import Terms

__all__ = ["BatchShard", "OwnCorpus", "Shard", "ShardedObjective", "own_corpus"]

Evaluate = Callable[[Iterator[np.ndarray]], Iterable[tuple[float, np.ndarray]]]


class Shard:
    """A part of the training data, and its own part of the loss and the gradient.

    It is made by :meth:`of`, and can be pickled.

    Parameters
    ----------
    columns : OwnColumns
        Where its weights stand in the vector of all weights.
    design : FactoredDesign, SparseDesign, ObservedDesign or DenseDesign
    terms : Terms
    corpus : Corpus
        Longest sequences first; ``X`` is None, because the design has the attributes.
    criterion : Criterion

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> from sklearn_crcrf.linear.shards import Shard
    >>> parts = [read_part(CRF(), [["a", "b"]], [["X", "Y"]]), read_part(CRF(), [["c"]], [["Z"]])]
    >>> shape = Survey.unite(map(Survey.of, parts)).shape()
    >>> shard = Shard.of(parts[1], shape, log_loss)
    >>> loss, gradient = shard.evaluate(np.zeros(shard.n_weights))
    >>> round(loss, 4), gradient[:3].round(4), shard.columns.numbers[:3]
    (1.0986, array([ 0.3333,  0.3333, -0.6667]), array([6, 7, 8]))
    """

    def __init__(
        self, columns: OwnColumns, design: Any, terms: Terms, corpus: Corpus, criterion: Criterion
    ):
        self.columns = columns
        self._design, self._terms, self._corpus = design, terms, corpus
        self._criterion = criterion

    @classmethod
    def of(cls, part: Part, shape: ModelShape, criterion: Criterion, dtype: Any = None) -> "Shard":
        """Make the shard of a part.

        Parameters
        ----------
        part : Part
        shape : ModelShape
            Of all parts.
        criterion : Criterion
            Its loss must be a sum over sequences.
        dtype : dtype, optional
            The type of the weights; by default the type of the attributes.

        Raises
        ------
        ValueError
            If the loss is not a sum, or labels are not possible under the constraints.
        """
        if not criterion.is_sum:
            raise ValueError(f"criterion={criterion} is not a sum over sequences")
        corpus, attributes, edge_attributes, only_edges = own_corpus(part, shape, dtype)
        n = len(shape.classes)
        blocks = corpus.chunks(n)
        slices = [(block[0].start, block[-1].stop) for block in blocks]
        pairs = None if shape.pairs is None else sp.csr_array(shape.pairs[attributes])
        edges = edge_columns(corpus.X, edge_attributes)
        X = without_columns(corpus.X, only_edges)
        return cls(
            shape.columns(attributes),
            cls._design_of(X, pairs, n, slices),
            shape.terms_of(edges, len(attributes), pairs),
            corpus._replace(X=None),
            criterion.for_labels(shape.classes),
        )

    @staticmethod
    def _design_of(X: Any, pairs: sp.csr_array | None, n_labels: int, slices: Slices) -> Any:
        return design_of(X, pairs, n_labels, slices)

    def with_criterion(self, criterion: Criterion) -> Self:
        """The same part with another criterion."""
        return type(self)(self.columns, self._design, self._terms, self._corpus, criterion)

    @property
    def n_weights(self) -> int:
        """The number of its own weights."""
        return self._terms.n_weights

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return len(self._corpus.y)

    def evaluate(self, own: np.ndarray, n_threads: int = 1) -> tuple[float, np.ndarray]:
        """The loss of its sequences and the gradient, without a penalty.

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
        objective = self._objective(self._corpus.chunks(self._terms.n_labels), n_threads)
        return objective(own.astype(self._design.dtype, copy=False))

    def _objective(self, blocks: list[list[Chunk]], n_threads: int = 1) -> Objective:
        return Objective(
            self._design,
            self._terms,
            blocks,
            self._criterion,
            sigma=np.inf,
            n_threads=n_threads,
        )

    def __sizeof__(self) -> int:
        buffers: list[pickle.PickleBuffer] = []
        state = pickle.dumps(vars(self), protocol=5, buffer_callback=buffers.append)
        return len(state) + sum(buffer.raw().nbytes for buffer in buffers)


class BatchShard(Shard):
    """A part of the training data for stochastic descent, as small batches."""

    @staticmethod
    def _design_of(X: Any, pairs: sp.csr_array | None, n_labels: int, slices: Slices) -> Any:
        return design_of(X, pairs, n_labels, [], SparseDesign, most_single=n_labels)

    def sizes(self, size: int) -> np.ndarray:
        """The weight of each batch of ``size`` sequences."""
        return np.array([batch.weight.sum() for batch in self._corpus.batches(size)])

    def batches(self, size: int) -> BatchObjective:
        """Its batches of ``size`` sequences, without a penalty."""
        chunks = [chunk for block in self._corpus.chunks(self._terms.n_labels) for chunk in block]
        objective = self._objective([[batch] for batch in self._corpus.batches(size)])
        return BatchObjective(objective, chunks)


class ShardedObjective:
    r"""The sum of the losses of all shards, plus :math:`\lVert w \rVert^2 / (2 \sigma^2)` once.

    Losses and gradients are added in the order of the shards, so the result has the same bits
    wherever and in which order the shards are evaluated.

    Parameters
    ----------
    columns : iterable of OwnColumns
        Of the shards, in their order; is gone through several times.
    sigma : float
    evaluate : callable
        Takes an iterator of the own weights of each shard, and returns or yields what
        :meth:`Shard.evaluate` returns for each, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.criteria import log_loss
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> from sklearn_crcrf.linear.shards import Shard, ShardedObjective
    >>> from sklearn_crcrf.solvers import lbfgs
    >>> parts = [read_part(CRF(), [["a", "b"]], [["X", "Y"]]), read_part(CRF(), [["b"]], [["Y"]])]
    >>> shape = Survey.unite(map(Survey.of, parts)).shape()
    >>> shards = [Shard.of(part, shape, log_loss) for part in parts]
    >>> objective = ShardedObjective(
    ...     [shard.columns for shard in shards],
    ...     sigma=1.0,
    ...     evaluate=lambda own_weights: map(Shard.evaluate, shards, own_weights),
    ... )
    >>> lbfgs(objective, np.zeros(shape.terms().n_weights)).x.round(2)[:4]
    array([ 0.27, -0.27, -0.49,  0.49])
    """

    def __init__(self, columns: Iterable[OwnColumns], *, sigma: float, evaluate: Evaluate):
        self._columns, self._evaluate = columns, evaluate
        self.precision = sigma**-2.0

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            All weights.

        Returns
        -------
        loss : float
        gradient : ndarray of shape (n_weights,)
        """
        gradient = np.empty_like(w)
        loss = gaussian_penalty(w, self.precision, gradient)
        results = self._evaluate(columns.take(w) for columns in self._columns)
        for columns, (of_shard, own) in zip(self._columns, results, strict=True):
            loss += of_shard
            columns.add(own, gradient)
        return loss, gradient


class OwnCorpus(NamedTuple):
    """A part with the labels of the model, and only the attributes that occur and have weights.

    Parameters
    ----------
    corpus : Corpus
    attributes : ndarray of int
        The number of each attribute in the model.
    edge_attributes, only_edges : ndarray of int
        Columns of ``corpus.X`` on which transitions depend, and alone depend, in the order of the
        attributes in the model.
    """

    corpus: Corpus
    attributes: np.ndarray
    edge_attributes: np.ndarray
    only_edges: np.ndarray


def own_corpus(part: Part, shape: ModelShape, dtype: Any = None) -> OwnCorpus:
    """Number the labels and the attributes of a part for a shard.

    Raises
    ------
    ValueError
        If labels are not possible under the constraints.
    """
    kept, attributes = shape.own(part)
    X = part.corpus.X
    if sp.issparse(X):
        number = np.full(X.shape[1], -1, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        indptr, indices, values = csr_arrays(X)
        X = sp.csr_array(some_entries(indptr, indices, values, number), (X.shape[0], len(kept)))
    else:
        X = np.ascontiguousarray(X[:, kept])
    place = {label: i for i, label in enumerate(shape.classes.tolist())}
    ids = np.array([place[label] for label in part.classes.tolist()], dtype=np.int32)
    corpus = part.corpus._replace(X=X.astype(dtype or X.dtype, copy=False), y=ids[part.corpus.y])
    check_possible(corpus, shape.constraints)
    order = np.argsort(attributes)
    edge_attributes, only_edges = (
        order[np.isin(attributes[order], wanted)]
        for wanted in (shape.encoder.edge_attributes, shape.encoder.only_edges)
    )
    return OwnCorpus(corpus, attributes, edge_attributes, only_edges)
