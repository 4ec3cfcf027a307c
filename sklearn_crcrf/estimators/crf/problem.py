"""A training problem: what is trained, on what, and how weights are regularised."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...criteria import Criterion
from ...linear import (
    BatchObjective,
    Corpus,
    DuplicateColumns,
    Objective,
    SparseDesign,
    Term,
    Terms,
    Weights,
    design_of,
    edge_columns,
    find_duplicates,
    shared_terms,
    sparse_design,
    without_columns,
)
from ...linear.sharded_batches import ShardedBatches

__all__ = ["Problem"]

# Number of sequences in a batch of stochastic descent.
BATCH = 8
# Attributes are merged only if at most this fraction of them is left.
FEWER = 0.9


class Problem(NamedTuple):
    """What is trained, on what, and how weights are regularised.

    Parameters
    ----------
    corpus : Corpus
        Longest sequences first.
    edge_attributes : ndarray of int
        Columns of ``corpus.X`` on which transitions depend.
    n_labels : int
    pairs : CSR of shape (n_attributes, n_labels) or None
        The pairs of attribute and label that have a weight; None for all.
    transitions : ndarray of int of shape (n_labels, n_labels)
        The number of the weight of each transition, -1 without a weight; transitions with the same
        number are tied.
    boundaries : bool
        Whether begin and end have weights.
    criterion : Criterion
    forbidden : tuple of arrays
        Added to transition, begin and end scores: -inf for what is impossible, else 0.
    sigma : float
    n_threads : int
    only_edges : ndarray of int, optional
        Columns of ``corpus.X`` whose weights with labels are zero: only transitions depend on them.
    duplicates : DuplicateColumns, optional
        The equal attributes that are merged into one each in ``corpus.X``.
    own_terms : tuple of Term, default=()
        Terms of scores that only the structure of the corpus has.
    shards : object, optional
        Makes the objectives of data in parts, as :class:`FolderShards` does; the corpus then has no
        sequences.
    """

    corpus: Corpus
    edge_attributes: np.ndarray
    n_labels: int
    pairs: sp.csr_array | None
    transitions: np.ndarray
    boundaries: bool
    criterion: Criterion
    forbidden: tuple
    sigma: float
    n_threads: int
    only_edges: np.ndarray = np.empty(0, dtype=np.int64)
    duplicates: DuplicateColumns | None = None
    own_terms: tuple[Term, ...] = ()
    shards: Any = None

    @property
    def n_edge_attributes(self) -> int:
        """The number of attributes on which transitions depend."""
        return len(self.edge_attributes)

    def terms(self) -> Terms:
        """The terms of scores, which define where weights are in a vector."""
        X, n = self.corpus.X, self.n_labels
        n_node_weights = X.shape[1] * n if self.pairs is None else self.pairs.nnz
        return Terms(n_node_weights, self.shared_terms(), n)

    def shared_terms(self) -> list[Term]:
        """The terms of the weights that all units share."""
        edges = edge_columns(self.corpus.X, self.edge_attributes)
        common = shared_terms(self.transitions, self.boundaries, self.forbidden, edges)
        return [*common, *self.own_terms]

    def lower_bounds(self) -> np.ndarray | None:
        """The least value of each weight, -inf for a weight without a bound; None for no bounds."""
        return None

    def vector(self, start: Weights) -> np.ndarray:
        """Weights as a vector."""
        terms = self.terms()
        return terms.vector(start, np.empty(terms.n_weights, dtype=self.corpus.X.dtype))

    def coefficients(self, state: np.ndarray) -> np.ndarray | sp.csr_array:
        """State weights as a matrix of shape (n_attributes, n_labels)."""
        if self.pairs is None:
            coef = state.reshape(-1, self.n_labels).copy()
        else:
            pairs = self.pairs
            coef = sp.csr_array((state.copy(), pairs.indices, pairs.indptr), shape=pairs.shape)
        return coef if self.duplicates is None else self.duplicates.single(coef)

    def merge_duplicates(self, start: Weights) -> tuple["Problem", Weights]:
        """The same problem with a single weight for attributes that are equal at all tokens.

        If the weights of equal attributes start equal, they stay equal, and a solver that uses
        weights in inner products only takes the same steps with fewer weights. If they do not
        start equal, or if it would save little, the problem and the start are not changed.
        """
        if self.shards is not None or not sp.issparse(self.corpus.X):
            return self, start
        X = sp.csr_array(self.corpus.X)
        duplicates = find_duplicates(X, self.edge_attributes)
        if len(duplicates.first) > FEWER * len(duplicates.group):
            return self, start
        shared = duplicates.shared(self.coefficients(start.state))
        if shared is None:
            return self, start
        problem = self._replace(
            corpus=self.corpus._replace(X=duplicates.merge(X)),
            edge_attributes=duplicates.group[self.edge_attributes],
            pairs=None if self.pairs is None else shared,
            only_edges=duplicates.group[self.only_edges],
            duplicates=duplicates,
        )
        return problem, start._replace(state=_numbers(shared))

    def of(self, corpus: Corpus) -> "Problem":
        """The same problem with other sequences."""
        if self.duplicates is not None:
            corpus = corpus._replace(X=self.duplicates.attributes(corpus.X))
        return self._replace(corpus=corpus)

    def objective(self) -> Any:
        """The objective over all sequences: an Objective, or for parts a ShardedObjective."""
        if self.shards is not None:
            return self.shards.objective(self.criterion, self.sigma, self.n_threads)
        blocks = self.corpus.chunks(self.n_labels)
        slices = [(block[0].start, block[-1].stop) for block in blocks]
        return self._over(blocks, slices, sparse_design)

    def batches(self) -> BatchObjective | ShardedBatches:
        """The objective for stochastic descent."""
        if self.shards is not None:
            return self.shards.batches(self.criterion, self.sigma, BATCH)
        batches = [[batch] for batch in self.corpus.batches(BATCH)]
        objective = self._over(batches, [], SparseDesign, most_single=self.n_labels)
        chunks = [chunk for block in self.corpus.chunks(self.n_labels) for chunk in block]
        return BatchObjective(objective, chunks)

    def _over(
        self, blocks: list, slices: list[tuple[int, int]], sparse: Callable, **options: Any
    ) -> Objective:
        X = without_columns(self.corpus.X, self.only_edges)
        return Objective(
            design_of(X, self.pairs, self.n_labels, slices, sparse, **options),
            self.terms(),
            blocks,
            self.criterion,
            sigma=self.sigma,
            n_threads=self.n_threads,
        )


def _numbers(coef: np.ndarray | sp.csr_array) -> np.ndarray:
    """The entries of a matrix in one dimension."""
    return coef.reshape(-1) if isinstance(coef, np.ndarray) else coef.data
