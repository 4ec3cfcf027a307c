"""Training data in parts: what each part has, united, and the shape of the model of all parts."""

from collections.abc import Iterable
from copy import deepcopy
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs

from .._kernels.sparse.columns import some_entries
from ..criteria import Criterion, as_criterion
from ..data.csr import csr_arrays, csr_of
from ..data.ragged import joined_ranges
from ..labels.constraints.constraints import Constraints, as_constraints, forbidden_scores
from ..labels.encoding import sort_labels
from ..structures import Chain
from .corpus import Corpus, check_possible, transition_counts
from .designs import observed_pairs
from .encoder import AttributeEncoder
from .objective import OwnColumns, Shard
from .problem import Problem
from .terms import Terms, numbered

# A pair of attribute and label is one number: the attribute times this, plus the label.
LABELS = 2**32


class Part(NamedTuple):
    """Encoded sequences, whose attributes and labels have numbers of their own.

    Parameters
    ----------
    encoder : AttributeEncoder
        Fitted to these sequences alone.
    classes : ndarray of shape (n_labels,)
        The labels of these sequences.
    corpus : Corpus
        All labels are known.
    frequencies : ndarray of shape (n_attributes,)
        The number of tokens with each attribute, also in sequences without weight.
    fitted : dict
        What validation sets in an estimator, such as ``n_features_in_``.
    """

    encoder: AttributeEncoder
    classes: np.ndarray
    corpus: Corpus
    frequencies: np.ndarray
    fitted: dict[str, Any]


def read_part(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Part:
    """Check and encode a part of the training data, without any other part.

    Parameters
    ----------
    estimator : LinearChainClassifier
        Its ``edge_columns``, ``dtype`` and ``sample_unit`` are used; it is not changed.
    X, y, sample_weight : as in :meth:`sklearn_crcrf.CRF.fit`

    Returns
    -------
    Part

    Raises
    ------
    ValueError
        As in ``fit``, and if a label is not known; the message says where in this part.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.linear.parts import read_part
    >>> part = read_part(CRF(), [["the", "dog"], ["dog"]], [["D", "N"], ["N"]])
    >>> part.encoder.names, part.classes, part.frequencies
    (array(['the', 'dog'], dtype=object), array(['D', 'N'], dtype='<U1'), array([1, 2]))
    """
    reader = estimator._unfitted().set_params(min_freq=1, class_weight=None, constraints=None)
    corpus = reader._read(X, y, sample_weight)
    corpus.require_labels()
    return part_of(reader, corpus._replace(allowed=None).longest_first(), corpus.X)


def part_of(reader: Any, corpus: Corpus, X: Any) -> Part:
    """Return a part whose attributes and labels an estimator has numbered.

    Parameters
    ----------
    reader : estimator
        It has the encoder, ``classes_``, and what validation sets.
    corpus : Corpus
        All labels are known.
    X : CSR or ndarray of shape (n_tokens, n_attributes)
        The attributes of all sequences that count for frequencies.
    """
    names = ("n_features_in_", "feature_names_in_")
    fitted = {name: getattr(reader, name) for name in names if hasattr(reader, name)}
    if sp.issparse(X):
        frequencies = np.bincount(X.indices, minlength=X.shape[1])
    else:
        frequencies = (X != 0).sum(axis=0)
    return Part(reader._encoder, reader.classes_, corpus, frequencies, fitted)


class Survey(NamedTuple):
    """The attributes and labels of one part or several, and how often they occur.

    Parameters
    ----------
    encoder : AttributeEncoder
        Of all attributes.
    frequencies : ndarray of shape (n_attributes,)
        The number of tokens with each attribute.
    labels : list of labels
        All labels, in the order in which they occurred.
    pairs : ndarray of int64
        The pairs of attribute and label that occur at some token, in order.
    links : ndarray of shape (n_labels, n_labels)
        How often labels are linked; row = previous.
    weight : float
        The sum of the weights of the sequences.
    dtype : dtype
        The type of the attributes.
    fitted : dict
        What validation sets in an estimator.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> parts = [read_part(CRF(), [["a", "b"]], [["X", "Y"]]), read_part(CRF(), [["c"]], [["Z"]])]
    >>> survey = Survey.unite(Survey.of(part) for part in parts)
    >>> shape = survey.shape(features="observed")
    >>> shape.encoder.names, shape.classes, shape.terms().n_weights
    (array(['a', 'b', 'c'], dtype=object), array(['X', 'Y', 'Z'], dtype='<U1'), 4)
    """

    encoder: AttributeEncoder
    frequencies: np.ndarray
    labels: list[Any]
    pairs: np.ndarray
    links: np.ndarray
    weight: float
    dtype: np.dtype
    fitted: dict[str, Any]

    @classmethod
    def of(cls, part: Part) -> "Survey":
        """Survey one part."""
        corpus, n_labels = part.corpus, len(part.classes)
        pairs = observed_pairs(sp.csr_array(corpus.X), corpus.y, n_labels)
        attribute = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
        return cls(
            part.encoder,
            part.frequencies,
            part.classes.tolist(),
            np.sort(attribute * LABELS + pairs.indices),
            transition_counts(corpus, n_labels),
            float(corpus.weight.sum()),
            corpus.X.dtype,
            part.fitted,
        )

    @classmethod
    def unite(cls, surveys: Iterable["Survey"]) -> "Survey":
        """Return the survey of all parts; the order of the parts is the order of new attributes.

        Raises
        ------
        ValueError
            If there is no part, or X is of different kinds in different parts.
        """
        parts = iter(surveys)
        first = next(parts, None)
        if first is None:
            raise ValueError("there are no parts")
        return reduce(cls._with, parts, first._replace(encoder=deepcopy(first.encoder)))

    def shape(
        self,
        *,
        min_freq: int = 1,
        features: str = "all",
        boundaries: bool = False,
        constraints: Any = None,
        kept_labels: Iterable[Any] = (),
    ) -> "ModelShape":
        """Return the shape of a model of all parts.

        Parameters
        ----------
        min_freq, features, boundaries : as in :class:`~sklearn_crcrf.CRF`
            ``features`` is "all" or "observed".
        constraints : as in :func:`~sklearn_crcrf.labels.as_constraints`
        kept_labels : iterable of labels
            Labels that the model has too.
        """
        chosen = np.flatnonzero(self.frequencies >= min_freq)
        encoder = self.encoder.select(chosen)
        classes, rank = sort_labels(list(dict.fromkeys([*self.labels, *kept_labels])))
        transitions, pairs = np.ones((len(classes), len(classes)), dtype=bool), None
        if features == "observed":
            occur = rank[: len(self.labels)]
            transitions[:] = False
            transitions[np.ix_(occur, occur)] = self.links > 0
            number = np.full(len(self.frequencies), -1)
            number[chosen] = np.arange(len(chosen))
            number[chosen[encoder.only_edges]] = -1
            attribute, label = np.divmod(self.pairs, LABELS)
            kept = number[attribute] >= 0
            where = number[attribute[kept]], rank[label[kept]]
            shape = len(chosen), len(rank)
            pairs = sp.coo_array((np.ones(kept.sum()), where), shape).tocsr()
        allowed = as_constraints(constraints, classes)
        return ModelShape(
            encoder,
            classes,
            pairs,
            numbered(transitions),
            boundaries,
            allowed,
            self.weight,
            self.dtype,
            self.fitted,
        )

    def _with(self, other: "Survey") -> "Survey":
        """This survey and another one; this one is used up."""
        numbers = self.encoder.add(other.encoder).astype(np.int64)
        labels = list(dict.fromkeys([*self.labels, *other.labels]))
        place = {label: i for i, label in enumerate(labels)}
        ids = np.array([place[label] for label in other.labels])
        n_attributes = max(len(self.frequencies), int(numbers.max(initial=-1)) + 1)
        frequencies = np.zeros(n_attributes, dtype=np.int64)
        frequencies[: len(self.frequencies)] = self.frequencies
        frequencies[numbers] += other.frequencies
        links = np.zeros((len(labels), len(labels)))
        links[: len(self.labels), : len(self.labels)] = self.links
        links[np.ix_(ids, ids)] += other.links
        attribute, label = np.divmod(other.pairs, LABELS)
        return Survey(
            self.encoder,
            frequencies,
            labels,
            _united(self.pairs, np.sort(numbers[attribute] * LABELS + ids[label])),
            links,
            self.weight + other.weight,
            np.result_type(self.dtype, other.dtype),
            self.fitted,
        )


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


class ModelShape(NamedTuple):
    """Which weights a model of all parts has.

    Parameters
    ----------
    encoder : AttributeEncoder
    classes : ndarray of shape (n_labels,)
    pairs : CSR of shape (n_attributes, n_labels) or None
        The pairs of attribute and label that have a weight; None for all.
    transitions : ndarray of int of shape (n_labels, n_labels)
        The number of the weight of each transition, -1 without a weight.
    boundaries : bool
        Whether begin and end have weights.
    constraints : Constraints or None
    weight, dtype, fitted : as in :class:`Survey`

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.linear.parts import Survey, read_part
    >>> parts = [read_part(CRF(), [["a"]], [["X"]]), read_part(CRF(), [["b"]], [["Y"]])]
    >>> shape = Survey.unite(map(Survey.of, parts)).shape()
    >>> shape.classes.tolist(), shape.encoder.names.tolist(), shape.terms().n_weights
    (['X', 'Y'], ['a', 'b'], 8)
    """

    encoder: AttributeEncoder
    classes: np.ndarray
    pairs: sp.csr_array | None
    transitions: np.ndarray
    boundaries: bool
    constraints: Constraints | None
    weight: float = 0.0
    dtype: np.dtype = np.dtype(float)
    fitted: dict[str, Any] = {}

    def set_fitted(self, estimator: Any) -> None:
        """Set what a classifier learns of the data besides weights."""
        estimator._encoder, estimator._constraints = self.encoder, self.constraints
        estimator.attribute_names_, estimator.classes_ = self.encoder.names, self.classes
        for name, value in self.fitted.items():
            setattr(estimator, name, value)

    def terms(self) -> Terms:
        """Return the terms of scores, which define where weights are in a vector."""
        return self.problem(self.empty_corpus(), "log_loss").terms()

    def empty_corpus(self) -> Corpus:
        """Return a corpus without sequences, which has all attributes."""
        X = sp.csr_array((0, len(self.encoder.names)), dtype=self.dtype)
        nothing = np.empty(0, dtype=np.int32)
        return Corpus(X, nothing, Chain(np.zeros(1, dtype=np.int64)), np.empty(0))

    def problem(
        self, corpus: Corpus, criterion: Any, n_jobs: int | None = None, **options: Any
    ) -> Problem:
        """Return the training problem of a corpus with all attributes.

        Parameters
        ----------
        corpus : Corpus
        criterion : as in :class:`~sklearn_crcrf.CRF`
        n_jobs : int or None
            Number of threads.
        **options
            Other fields of the problem.
        """
        encoder, n_labels = self.encoder, len(self.classes)
        return Problem(
            corpus=corpus,
            edge_attributes=encoder.edge_attributes,
            n_labels=n_labels,
            pairs=self.pairs,
            transitions=self.transitions,
            boundaries=self.boundaries,
            criterion=as_criterion(criterion).for_labels(self.classes),
            forbidden=forbidden_scores(self.constraints, n_labels),
            n_threads=effective_n_jobs(n_jobs),
            only_edges=encoder.only_edges,
            **options,
        )

    def shard(
        self, part: Part, criterion: Criterion, dtype: Any = None, in_batches: bool = False
    ) -> Shard:
        """Make the shard of a part.

        Parameters
        ----------
        part : Part
        criterion : Criterion
            Its loss must be a sum over sequences.
        dtype : dtype, optional
            The type of the weights; by default the type of the attributes.
        in_batches : bool, default=False
            Whether the shard is for stochastic descent.

        Raises
        ------
        ValueError
            If the loss is not a sum, or labels are not possible under the constraints.
        """
        if not criterion.is_sum:
            raise ValueError(f"criterion={criterion} is not a sum over sequences")
        corpus, attributes, edge_attributes, only_edges = self.own_corpus(part, dtype)
        pairs = None if self.pairs is None else sp.csr_array(self.pairs[attributes])
        problem = self.problem(corpus, criterion)._replace(
            pairs=pairs, edge_attributes=edge_attributes, only_edges=only_edges
        )
        return problem.shard(self._columns(attributes), in_batches=in_batches)

    def own_corpus(self, part: Part, dtype: Any = None) -> "OwnCorpus":
        """Number the labels and the attributes of a part for a shard.

        Raises
        ------
        ValueError
            If labels are not possible under the constraints.
        """
        number = self.encoder.find(part.encoder)
        kept = np.flatnonzero((number >= 0) & (part.frequencies > 0))
        attributes, X = number[kept].astype(np.int64), part.corpus.X
        if sp.issparse(X):
            own = np.full(X.shape[1], -1, dtype=np.int32)
            own[kept] = np.arange(len(kept))
            X = csr_of(some_entries(*csr_arrays(X), own), (X.shape[0], len(kept)))
        else:
            X = np.ascontiguousarray(X[:, kept])
        place = {label: i for i, label in enumerate(self.classes.tolist())}
        ids = np.array([place[label] for label in part.classes.tolist()], dtype=np.int32)
        X = X.astype(dtype or X.dtype, copy=False)
        corpus = part.corpus._replace(X=X, y=ids[part.corpus.y])
        check_possible(corpus, self.constraints)
        order = np.argsort(attributes)
        edge_attributes, only_edges = (
            order[np.isin(attributes[order], wanted)]
            for wanted in (self.encoder.edge_attributes, self.encoder.only_edges)
        )
        return OwnCorpus(corpus, attributes, edge_attributes, only_edges)

    def _columns(self, attributes: np.ndarray) -> OwnColumns:
        """Find where the weights of a shard with these attributes stand among all weights."""
        n, terms = len(self.classes), self.terms()
        is_edge = np.isin(self.encoder.edge_attributes, attributes)
        n_common = terms.n_weights - terms.n_node_weights - len(is_edge) * n * n
        edges = np.add.outer(n_common + np.flatnonzero(is_edge) * n * n, np.arange(n * n))
        shared = terms.n_node_weights + np.concatenate([np.arange(n_common), edges.reshape(-1)])
        if self.pairs is None:
            return OwnColumns(attributes, n, terms.n_node_weights, shared)
        starts = self.pairs.indptr[attributes].astype(np.int64)
        lengths = self.pairs.indptr[attributes + 1] - starts
        return OwnColumns(joined_ranges(starts, lengths), 1, terms.n_node_weights, shared)


def _united(keys: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return the union of two sorted arrays without duplicates, sorted."""
    place = np.searchsorted(keys, more)
    is_new = place == len(keys)
    is_new[~is_new] = keys[place[~is_new]] != more[~is_new]
    return np.insert(keys, place[is_new], more[is_new])
