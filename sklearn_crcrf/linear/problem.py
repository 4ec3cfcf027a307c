"""A training problem: what is trained, on what, and how weights are regularised."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..base.weights import Weights
from ..criteria import Criterion
from .batches import BatchObjective
from .corpus import Corpus, edge_columns, without_columns
from .designs import FEW_LABELS, DenseDesign, ObservedDesign, SparseDesign, sparse_design
from .duplicate_columns import DuplicateColumns, find_duplicates
from .objective import Objective, OwnColumns, Shard, here
from .terms import Term, Terms, shared_terms

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
        number are tied. Empty for tokens that are not linked.
    boundaries : bool
        Whether begin and end have weights.
    criterion : Criterion
    forbidden : tuple of arrays
        Added to transition, begin and end scores: -inf for what is impossible, else 0.
    sigma : float, default=inf
    n_threads : int, default=1
    only_edges : ndarray of int, optional
        Columns of ``corpus.X`` whose weights with labels are zero: only transitions depend on them.
    duplicates : DuplicateColumns, optional
        The equal attributes that are merged into one each in ``corpus.X``.
    own_terms : tuple of Term, default=()
        Terms of scores that only the structure of the corpus has.
    parts : object, optional
        Data in parts, such as a :class:`FolderShards`; the corpus then has no sequences.
    are_not_negative : bool, default=False
        Whether only the weights of attributes and labels may be negative.
    """

    corpus: Corpus
    edge_attributes: np.ndarray
    n_labels: int
    pairs: sp.csr_array | None
    transitions: np.ndarray
    boundaries: bool
    criterion: Criterion
    forbidden: tuple | None
    sigma: float = np.inf
    n_threads: int = 1
    only_edges: np.ndarray = np.empty(0, dtype=np.int64)
    duplicates: DuplicateColumns | None = None
    own_terms: tuple[Term, ...] = ()
    parts: Any = None
    are_not_negative: bool = False

    def terms(self) -> Terms:
        """Return the terms of scores, which define where weights are in a vector."""
        X, n = self.corpus.X, self.n_labels
        n_node_weights = X.shape[1] * n if self.pairs is None else self.pairs.nnz
        return Terms(n_node_weights, self.shared_terms(), n, self.forbidden)

    def shared_terms(self) -> list[Term]:
        """Return the terms of the weights that all units share."""
        edges = edge_columns(self.corpus.X, self.edge_attributes)
        return [*shared_terms(self.transitions, self.boundaries, edges), *self.own_terms]

    def lower_bounds(self) -> np.ndarray | None:
        """Return the least value of each weight, -inf for no bound; None if none has one."""
        if not self.are_not_negative:
            return None
        terms = self.terms()
        bounds = np.zeros(terms.n_weights)
        bounds[: terms.n_node_weights] = -np.inf
        return bounds

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
        """Return the same problem with a single weight for attributes that are equal at all tokens.

        If the weights of equal attributes start equal, they stay equal, and a solver that uses
        weights in inner products only takes the same steps with fewer weights. If they do not
        start equal, or if it would save little, the problem and the start are not changed.
        """
        if self.parts is not None or not sp.issparse(self.corpus.X):
            return self, start
        X = sp.csr_array(self.corpus.X)
        duplicates = find_duplicates(X, self.edge_attributes, self.pairs)
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
        state = shared.data if sp.issparse(shared) else shared.reshape(-1)
        return problem, start._replace(state=state)

    def absolute_penalty(self, c1: float) -> float | np.ndarray:
        """Return the strength of a penalty of absolute values, for each weight if they differ.

        A shared weight w stands for k weights of w / sqrt(k), whose absolute values sum to
        sqrt(k) times its own.
        """
        if self.duplicates is None:
            return c1
        n_labels = self.n_labels if self.pairs is None else np.diff(self.pairs.indptr)
        own = np.repeat(self.duplicates.scale, n_labels)
        return c1 * np.append(own, np.ones(self.terms().n_weights - len(own)))

    def of(self, corpus: Corpus) -> "Problem":
        """Return the same problem with other sequences."""
        if self.duplicates is not None:
            corpus = corpus._replace(X=self.duplicates.attributes(corpus.X))
        return self._replace(corpus=corpus)

    def shard(self, columns: OwnColumns | None = None, *, in_batches: bool = False) -> Shard:
        """Return all sequences as one part of a sum.

        Parameters
        ----------
        columns : OwnColumns, optional
            Where its weights stand in the vector of all weights; by default it has all weights.
        in_batches : bool, default=False
            Whether the shard is for stochastic descent.
        """
        X, n = without_columns(self.corpus.X, self.only_edges), self.n_labels
        blocks = [] if in_batches else self.corpus.chunks(n)
        slices = [(block[0].start, block[-1].stop) for block in blocks]
        if self.pairs is not None:
            most_single = n if in_batches else FEW_LABELS
            design: Any = ObservedDesign(sp.csr_array(X), self.pairs, slices, most_single)
        elif not sp.issparse(X):
            design = DenseDesign(X, n, slices)
        else:
            design = (SparseDesign if in_batches else sparse_design)(X, n, slices)
        return Shard(design, self.terms(), self.corpus, self.criterion, columns)

    def objective(self, shard: Shard | None = None) -> Objective:
        """Return the objective over all sequences, or over a shard of this problem."""
        if self.parts is not None:
            add_parts = self.parts.evaluation(self.criterion, self.n_threads)
        else:
            add_parts = here([shard or self.shard()], self.n_threads)
        return Objective(add_parts, sigma=self.sigma, n_threads=self.n_threads)

    def narrowed(self, moving: np.ndarray) -> tuple[Objective, np.ndarray]:
        """Return the objective of some weights alone, all others being zero.

        Parameters
        ----------
        moving : bool ndarray of shape (n_weights,)

        Returns
        -------
        objective : Objective
        moving : bool ndarray of shape (n_weights,)
            The weights that it has, in their order: also all that are no weights of attributes.
        """
        n = self.terms().n_node_weights
        if self.pairs is None:
            pairs = sp.csr_array(moving[:n].reshape(-1, self.n_labels))
        else:
            where = moving[:n], self.pairs.indices, self.pairs.indptr
            pairs = sp.csr_array(where, shape=self.pairs.shape, copy=True)
            pairs.eliminate_zeros()
        narrowed = self._replace(pairs=pairs)
        return narrowed.objective(), np.append(moving[:n], np.ones(len(moving) - n, dtype=bool))

    def curved_objective(self) -> tuple[Objective, Callable[..., np.ndarray]]:
        """Return the objective, and the function that multiplies its Hessian at w by a vector."""
        shard = self.shard()
        objective = self.objective(shard)
        how = {"precision": objective.precision, "n_threads": self.n_threads}
        return objective, partial(shard.hessian_product, **how)

    def batches(self) -> BatchObjective:
        """Return the objective for stochastic descent."""
        if self.parts is not None:
            return BatchObjective(self.parts.shards(self.criterion, in_batches=True), self.sigma)
        return BatchObjective([self.shard(in_batches=True)], self.sigma)
