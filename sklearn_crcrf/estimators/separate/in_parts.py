"""Separate training on data in parts: sums over parts, and rows that stay where they are."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ...data.ragged import SequenceArray, joined_ranges
from ...labels.partial import encode_partial_labels
from ...linear.corpus import Corpus, without_columns
from ...linear.designs import observed_pairs
from ...linear.encoder import AttributeEncoder
from ...linear.objective import OwnColumns, Shard
from ...linear.parts import ModelShape, OwnCorpus, Part, part_of
from ...structures import Structure, structure_of
from ...structures.rows import Rows
from ..crf.solving import SOLVERS, choose_solver
from .held_out import Fold, folds_of_units
from .nodes import Nodes, log_probabilities
from .pairs import PairAttributes, PairClassifier, share_of_counts, start_of_pairs
from .parts import Parts, TrainingData, at_once, promised
from .rates import LinkEvidence, LinkRates, TypedLinks
from .row_crf import RowCRF, Start, distinct_corpus, roughly, row_dtype, row_problem, with_ones

# A pair of column and label is one number: the column times this, plus the label.
LABELS = 2**32
# The fold that is held out if nothing is.
NONE = -1


class TokensInParts(Protocol):
    """Tokens in parts, as an :class:`OwnCorpus` each, on workers or on disk.

    Functions that are called for parts take the OwnCorpus, the fold of each of its units, and
    whatever all calls have in common.

    Parameters
    ----------
    shape : ModelShape
        What all parts have together.
    n_units : list of int
        The number of units of each part, in their order; of all, also of parts without tokens,
        for which nothing is called.
    at_once : bool
        Whether two models are always trained at the same time.
    """

    shape: ModelShape
    n_units: list[int]
    at_once: bool

    def collect(
        self, function: Callable, merge: Callable, folds: Sequence[np.ndarray], common: Any
    ) -> Any:
        """Return what ``merge`` makes of the list of the results of all parts, or of some."""

    def shards(
        self, make: Callable, folds: Sequence[np.ndarray], common: Any, dtype: np.dtype
    ) -> AbstractContextManager[Any]:
        """Make shards of a dtype, None where there is nothing; yield the parts of a Problem."""


def read_tokens(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Part:
    """Check and encode a part of the training data, with its sequences in their order.

    Parameters
    ----------
    estimator : SeparateCRF
        It is not changed.
    X, y, sample_weight : as in ``fit``

    Returns
    -------
    Part

    Raises
    ------
    ValueError
        As in ``fit``, and if a label is not known, edges have types or attributes, there are
        cycles, or the tokens of a sequence have different weights.
    """
    reader = estimator._unfitted()
    sequences, weights = reader._check_labelled(X, y, sample_weight, reset=True)
    if getattr(sequences.X, "edge_data", None) is not None:
        raise ValueError("X: in data in parts, edges cannot have types or attributes")
    structure = structure_of(sequences.X)
    tokens = SequenceArray(sequences.X.data, sequences.X.offsets)
    of_units = weights[np.minimum(tokens.offsets[:-1], len(weights) - 1)]
    of_units[tokens.lengths == 0] = 0.0
    if not np.array_equal(np.repeat(of_units, tokens.lengths), weights):
        raise ValueError("sample_weight: in data in parts, all tokens of a sequence weigh the same")
    reader._encoder = AttributeEncoder(1, None, reader.edge_columns or ())
    attributes = reader._encoder.fit_transform(tokens)
    reader.classes_, ids, _ = encode_partial_labels(sequences.y)
    corpus = Corpus(attributes, ids, structure, of_units)
    corpus.require_labels()
    return part_of(reader, corpus, attributes)


class RowView(NamedTuple):
    """What classifiers see of tokens.

    Parameters
    ----------
    n_labels, n_attributes : int
    seen : ndarray of int or None
        The attributes that pairs see; None for all.
    without_only_edges : bool
        Whether nodes do not see what only transitions depend on.
    """

    n_labels: int
    n_attributes: int
    seen: np.ndarray | None
    without_only_edges: bool

    def of_nodes(self, own: OwnCorpus) -> Any:
        """Return the attributes of tokens that the classifier of nodes sees, in own columns."""
        X = own.corpus.X
        return without_columns(X, own.only_edges) if self.without_only_edges else X

    def of_pairs(self, own: OwnCorpus) -> tuple[Any, np.ndarray]:
        """Return the same for pairs, and the place of each own column in what they see."""
        if self.seen is None:
            return own.corpus.X, own.attributes
        columns = own.edge_attributes
        return own.corpus.X[:, columns], np.searchsorted(self.seen, own.attributes[columns])

    @property
    def n_seen(self) -> int:
        """How many attributes of a token pairs see."""
        return self.n_attributes if self.seen is None else len(self.seen)


class OwnRows(NamedTuple):
    """Rows of one part to train on, with columns of its own.

    Parameters
    ----------
    X : CSR or ndarray of shape (n_rows, n_columns)
        The last column has ones.
    columns : ndarray of int64 of shape (n_columns,)
        The number of each column in the model.
    y : ndarray of int64 of shape (n_rows,)
    weight : ndarray of shape (n_rows,)
    """

    X: Any
    columns: np.ndarray
    y: np.ndarray
    weight: np.ndarray


def node_rows(own: OwnCorpus, is_trained: np.ndarray, view: RowView) -> OwnRows:
    """Return a row for each token to train on, with its label id."""
    chosen, weights = np.flatnonzero(is_trained), _token_weights(own.corpus)
    X = with_ones(view.of_nodes(own)[chosen], own.corpus.X.dtype)
    columns = np.append(own.attributes, view.n_attributes)
    return OwnRows(X, columns, own.corpus.y[chosen].astype(np.int64), weights[chosen])


def pair_rows(own: OwnCorpus, is_trained: np.ndarray, view: RowView) -> OwnRows:
    """Return a row for each link to train on; its label is i * n_labels + j for labels i and j."""
    (first, second), weights = own.corpus.structure.links(), _token_weights(own.corpus)
    weight = (weights[first] + weights[second]) / 2
    link = np.flatnonzero(is_trained[first] & is_trained[second] & (weight > 0))
    first, second = first[link], second[link]
    (X, place), n, y = view.of_pairs(own), view.n_seen, own.corpus.y.astype(np.int64)
    rows = PairAttributes(X, _no_edges(len(weight))).of(link, first, second)
    columns = np.concatenate([place, n + place, [2 * n]])
    labels = y[first] * view.n_labels + y[second]
    return OwnRows(with_ones(rows, X.dtype), columns, labels, weight[link])


class RowSurvey(NamedTuple):
    """What the rows of one part or several parts have.

    Parameters
    ----------
    labels : ndarray of int64
        Without duplicates, in order.
    observed : ndarray of int64
        The pairs of column and label that occur in a row of positive weight, in order; without
        any, if all pairs have a weight in the model.
    least, most : float
        Of the weights of rows.
    n_rows : int
        The number of rows of positive weight.
    """

    labels: np.ndarray
    observed: np.ndarray
    least: float
    most: float
    n_rows: int

    @classmethod
    def unite(cls, surveys: Sequence["RowSurvey"]) -> "RowSurvey":
        """Return the survey of all rows."""
        labels, observed, least, most, n_rows = zip(*surveys, strict=True)
        united, pairs = (np.unique(np.concatenate(each)) for each in (labels, observed))
        return cls(united, pairs, min(least), max(most), sum(n_rows))


class RowShape(NamedTuple):
    """Which weights a classifier of rows has.

    Parameters
    ----------
    labels : ndarray of int64
        The labels of rows that its classes stand for.
    n_columns : int
    pairs : CSR of shape (n_columns, n_labels) or None
        The pairs of column and label that have a weight; None for all.
    is_equal : bool
        Whether all rows have the weight 1.
    dtype : dtype
    model : RowCRF
        Not trained.
    """

    labels: np.ndarray
    n_columns: int
    pairs: sp.csr_array | None
    is_equal: bool
    dtype: np.dtype
    model: RowCRF

    @classmethod
    def of(
        cls, survey: RowSurvey, model: RowCRF, n_columns: int, dtype: Any, is_equal: bool
    ) -> "RowShape":
        """Return the shape of a model of surveyed rows."""
        labels, pairs, crf = survey.labels, None, model.crf
        if crf.features == "observed":
            column, label = np.divmod(survey.observed, LABELS)
            where, shape = (column, np.searchsorted(labels, label)), (n_columns, len(labels))
            pairs = sp.coo_array((np.ones(len(column)), where), shape).tocsr()
        return cls(labels, n_columns, pairs, is_equal, row_dtype(crf, dtype), model)

    def shard(self, rows: OwnRows) -> Shard | None:
        """Return the rows of a part as a shard with its own weights; None without rows."""
        weight = np.ones(len(rows.y)) if self.is_equal else rows.weight
        ids = np.searchsorted(self.labels, rows.y)
        corpus = distinct_corpus(rows.X.astype(self.dtype), ids, weight)
        if len(corpus.y) == 0:
            return None
        nothing = np.empty(0, dtype=np.int64)
        n, columns, pairs = len(self.labels), rows.columns, self.pairs
        if pairs is None:
            place, own = OwnColumns(columns, n, self.n_columns * n, nothing), None
        else:
            starts = pairs.indptr[columns].astype(np.int64)
            weights = joined_ranges(starts, pairs.indptr[columns + 1] - starts)
            place, own = OwnColumns(weights, 1, pairs.nnz, nothing), sp.csr_array(pairs[columns])
        return row_problem(self.model.crf, corpus, own, n, 1).shard(place)

    def fitted(
        self, parts: Any, classes: np.ndarray, start: Start | None, n_threads: int
    ) -> RowCRF:
        """Return a model, trained on shards."""
        X = sp.csr_array((0, self.n_columns), dtype=self.dtype)
        corpus = Corpus(X, np.empty(0, dtype=np.int32), Rows(0), np.empty(0))
        model = clone(self.model)
        model.classes_ = classes
        sizes = len(self.labels), n_threads
        model._train(row_problem(model.crf, corpus, self.pairs, *sizes, parts), start)
        return model


class SeparateTraining:
    """Trains and chooses what a SeparateCRF consists of, from data in parts.

    Parameters
    ----------
    data : TokensInParts
    view : RowView
    crfs : (RowCRF, RowCRF or None)
        Of nodes and of pairs; None for counted rates alone.
    sigma : float
        Width of the priors of the counted rates.
    n_threads : int
    """

    def __init__(
        self,
        data: TokensInParts,
        view: RowView,
        crfs: tuple[RowCRF, RowCRF | None],
        sigma: float,
        n_threads: int,
    ):
        self._data, self._view, self._crfs, self._sigma = data, view, crfs, sigma
        self._n_threads = n_threads
        self._threads = {node_rows: n_threads if data.at_once else 1, pair_rows: n_threads}
        self._folds = [np.zeros(n, dtype=np.int64) for n in data.n_units]

    def best_exponent(
        self, exponents: Sequence[float], n_folds: int, random_state: Any
    ) -> tuple[float, Parts | None]:
        """Choose the exponent with the least loss of held-out labels, as in memory.

        Returns
        -------
        exponent : float
        parts : Parts or None
            Trained on the labels that were not held out; None if several models were, or none.

        Raises
        ------
        ValueError
            If there are fewer sequences than folds.
        """
        first, n_units = float(exponents[0]), sum(self._data.n_units)
        if len(exponents) == 1:
            return first, None
        if n_units < n_folds:
            raise ValueError(
                f'exponent="fit": {n_units} sequences cannot be held out in n_folds={n_folds} folds'
            )
        folds = folds_of_units(n_units, n_folds, random_state)
        self._folds = np.split(folds, np.cumsum(self._data.n_units)[:-1])
        counts = self._collect(_label_counts, sum, (n_folds, self._view.n_labels))
        if min(((counts.sum(axis=0) - own) > 0).sum() for own in counts) < 2:
            return first, None
        losses, parts = [], None
        for fold in range(n_folds) if self._crfs[1] is None else [0]:
            parts = self.fit(fold, crfs=tuple(map(roughly, self._crfs)))
            rates = self._rates(fold, parts.nodes, exponents)
            losses.append(self._collect(_losses, sum, (self._view, fold, parts, rates, exponents)))
        best = int(np.argmin(sum(losses)))
        return float(exponents[best]), parts if len(losses) == 1 else None

    def fit(self, fold: int = NONE, start: Parts | None = None, crfs: tuple | None = None) -> Parts:
        """Train both parts of the model without the labels of a fold."""
        nodes, pairs = crfs or self._crfs
        before = Parts(None, None) if start is None else start
        trained: Future = Future()
        tasks: list[tuple] = [(promised, trained, self._fit_nodes, nodes, fold, before.nodes)]
        if pairs is not None:
            tasks.append((self._fit_pairs, pairs, fold, before.pairs, trained))
        fitted = at_once(tasks, len(tasks) if self._data.at_once else self._n_threads)
        return Parts(fitted[0], fitted[1] if pairs is not None else None)

    def counted_rates(self, nodes: RowCRF) -> LinkRates:
        """Return the rates of all labels."""
        return self._rates(NONE, nodes, [1.0])[0]

    def _fit_nodes(self, crf: RowCRF, fold: int, start: RowCRF | None) -> RowCRF:
        n_columns = self._view.n_attributes + 1
        survey = self._survey(node_rows, fold, crf)
        if survey.most == 0:
            raise ValueError("sample_weight is zero for all tokens to train on")
        is_equal = survey.least == survey.most
        shape = RowShape.of(survey, crf, n_columns, self._data.shape.dtype, is_equal)
        return self._fit_rows(node_rows, fold, shape, shape.labels, lambda: start and start.weights)

    def _fit_pairs(
        self, crf: RowCRF, fold: int, before: PairClassifier | None, nodes: Future
    ) -> PairClassifier | None:
        n, view = self._view.n_labels, self._view
        survey = self._survey(pair_rows, fold, crf)
        if len(survey.labels) < 2:
            return None
        labels = np.stack(np.divmod(survey.labels, n), axis=1)
        shape = RowShape.of(survey, crf, 2 * view.n_seen + 1, self._data.shape.dtype, False)

        def start() -> Start | None:
            return start_of_pairs(labels, before, nodes.result, view.seen, 2 * view.n_seen)

        model = self._fit_rows(pair_rows, fold, shape, np.arange(len(labels)), start)
        return PairClassifier(model, labels, False, share_of_counts(survey.n_rows, len(labels)))

    def _survey(self, make: Callable, fold: int, crf: RowCRF) -> RowSurvey:
        common = self._view, fold, make, crf.crf.features == "observed"
        return self._collect(_survey, RowSurvey.unite, common)

    def _fit_rows(
        self,
        make: Callable,
        fold: int,
        shape: RowShape,
        classes: np.ndarray,
        start: Callable[[], Start | None],
    ) -> RowCRF:
        common = self._view, fold, make, shape
        with self._data.shards(_shard, self._folds, common, shape.dtype) as parts:
            return shape.fitted(parts, classes, start(), self._threads[make])

    def _rates(self, fold: int, nodes: RowCRF, exponents: Sequence[float]) -> list[LinkRates]:
        """Return the counted rates for each exponent."""

        def collect(method: Callable, *args: Any) -> Any:
            return self._collect(_evidence, _sum_each, (self._view, fold, nodes, method, args))

        how = self._sigma, False, True
        return LinkRates.estimated(collect, exponents, *how)

    def _collect(self, function: Callable, merge: Callable, common: Any) -> Any:
        return self._data.collect(function, merge, self._folds, common)


def check_in_parts(crf: Any, name: str) -> None:
    """Check that a classifier of rows can be trained on data in parts.

    Raises
    ------
    ValueError
        The message names the parameter.
    """
    if not isinstance(crf, RowCRF):
        raise ValueError(f"{name}={crf!r} needs all of the data in memory: pass a CRF")
    solver = choose_solver(crf.crf.solver, crf.crf.c1)
    if SOLVERS[solver].sees != "objective":
        raise ValueError(f'{name}=CRF(solver="{solver}") needs all of the data in memory')


# What is done with one part:


def _label_counts(own: OwnCorpus, folds: np.ndarray, common: tuple[int, int]) -> np.ndarray:
    """Return how often each label occurs in each fold, (n_folds, n_labels)."""
    n_folds, n_labels = common
    keys = _of_tokens(own.corpus, folds) * n_labels + own.corpus.y
    return np.bincount(keys, minlength=n_folds * n_labels).reshape(n_folds, n_labels)


def _survey(own: OwnCorpus, folds: np.ndarray, common: tuple) -> RowSurvey:
    view, fold, make, is_observed = common
    rows: OwnRows = make(own, _of_tokens(own.corpus, folds) != fold, view)
    labels, ids = np.unique(rows.y, return_inverse=True)
    observed = np.empty(0, dtype=np.int64)
    if is_observed and len(labels):
        counted = np.flatnonzero(rows.weight)
        pairs = observed_pairs(sp.csr_array(rows.X[counted]), ids[counted], len(labels))
        column = np.repeat(rows.columns, np.diff(pairs.indptr))
        observed = np.sort(column * LABELS + labels[pairs.indices])
    least, most = rows.weight.min(initial=np.inf), rows.weight.max(initial=-np.inf)
    n_rows = int(np.count_nonzero(rows.weight))
    return RowSurvey(labels, observed, float(least), float(most), n_rows)


def _shard(own: OwnCorpus, folds: np.ndarray, common: tuple) -> Shard | None:
    view, fold, make, shape = common
    return shape.shard(make(own, _of_tokens(own.corpus, folds) != fold, view))


def _evidence(own: OwnCorpus, folds: np.ndarray, common: tuple) -> list[np.ndarray]:
    """Return what a method of the evidence returns, with the labels of a fold unknown."""
    (view, fold, nodes, method, args), corpus = common, own.corpus
    is_held_out = _of_tokens(corpus, folds) == fold
    ids = np.where(is_held_out, -1, corpus.y)
    state = _state(own, view, nodes, is_held_out)
    return method(LinkEvidence(_links(corpus.structure), ids, state), *args)


def _losses(own: OwnCorpus, folds: np.ndarray, common: tuple) -> np.ndarray:
    """Return the sum of the losses of the held-out labels for each exponent."""
    (view, fold, parts, all_rates, exponents), n = common, len(common[-1])
    units = np.flatnonzero((folds == fold) & (np.diff(own.corpus.offsets) > 0))
    if len(units) == 0:
        return np.zeros(n)
    own = own._replace(corpus=own.corpus.take(units))
    corpus, is_held_out = own.corpus, np.ones(len(own.corpus.y), dtype=bool)
    X, place = view.of_pairs(own)
    links = _links(corpus.structure)
    data = TrainingData(
        Nodes(None, corpus.y, _token_weights(corpus), view.n_labels),
        links,
        PairAttributes(_placed(X, place, view.n_seen), _no_edges(len(links.kind))),
        view.seen,
    )
    trained, every = np.full(len(corpus.y), -1), np.arange(len(units))
    state = _state(own, view, parts.nodes, is_held_out)
    held_out = Fold(trained, is_held_out, every, False)
    return data.losses(parts.pairs, state, held_out, all_rates, exponents).sum(axis=1)


def _sum_each(sums: Sequence[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.sum(each, axis=0) for each in zip(*sums, strict=True)]


def _state(own: OwnCorpus, view: RowView, nodes: RowCRF, chosen: np.ndarray) -> np.ndarray:
    """Return the log-probabilities of the labels of some of the tokens, 0 for the others."""
    state = np.zeros((len(chosen), view.n_labels))
    if chosen.any():
        X = _placed(view.of_nodes(own)[chosen], own.attributes, view.n_attributes)
        state[chosen] = log_probabilities(nodes, X, view.n_labels)
    return state


def _placed(X: Any, place: np.ndarray, n_columns: int) -> Any:
    """X with its columns where they are in the model."""
    if not sp.issparse(X):
        every = np.zeros((X.shape[0], n_columns), dtype=X.dtype)
        every[:, place] = X
        return every
    return sp.csr_array((X.data, place[X.indices], X.indptr), (X.shape[0], n_columns))


def _links(structure: Structure) -> TypedLinks:
    return TypedLinks(structure, np.zeros(len(structure.links()[0]), dtype=np.int64), 0)


def _no_edges(n_links: int) -> sp.csr_array:
    return sp.csr_array((n_links, 0))


def _of_tokens(corpus: Corpus, folds: np.ndarray) -> np.ndarray:
    return np.repeat(folds, np.diff(corpus.offsets))


def _token_weights(corpus: Corpus) -> np.ndarray:
    return np.repeat(corpus.weight, np.diff(corpus.offsets))
