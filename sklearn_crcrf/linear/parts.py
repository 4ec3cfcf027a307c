"""Training data in parts: what each part has, united, and the shape of the model of all parts."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.ragged import joined_ranges
from ..labels.constraints import Constraints, as_constraints, forbidden_scores
from ..labels.encoding import sort_labels
from .corpus import Corpus, transition_counts
from .encoder import AttributeEncoder
from .single_weights import observed_pairs
from .terms import numbered
from .weight_vector import Terms, shared_terms

__all__ = ["ModelShape", "OwnColumns", "Part", "Survey", "read_part"]

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
        Longest sequences first; all labels are known.
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
    X, y, sample_weight : as in ``fit``

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
    names = ("n_features_in_", "feature_names_in_")
    fitted = {name: getattr(reader, name) for name in names if hasattr(reader, name)}
    if sp.issparse(corpus.X):
        frequencies = np.bincount(corpus.X.indices, minlength=corpus.X.shape[1])
    else:
        frequencies = (corpus.X != 0).sum(axis=0)
    corpus = corpus._replace(allowed=None).longest_first()
    return Part(reader._encoder, reader.classes_, corpus, frequencies, fitted)


class Survey(NamedTuple):
    """What one part or several parts have.

    Parameters
    ----------
    encoder : AttributeEncoder
        Of all attributes.
    frequencies : ndarray of shape (n_attributes,)
        The number of tokens with each attribute.
    labels : list of labels
    pairs : ndarray of int64
        The pairs of attribute and label that occur at some token, in order.
    links : ndarray of shape (n_labels, n_labels)
        How often labels are linked; row = previous.
    n_tokens : int
    weight : float
        The sum of the weights of the sequences.

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
    n_tokens: int
    weight: float

    @classmethod
    def of(cls, part: Part) -> "Survey":
        """The survey of one part."""
        corpus, n_labels = part.corpus, len(part.classes)
        pairs = observed_pairs(sp.csr_array(corpus.X), corpus.y, n_labels)
        attribute = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
        return cls(
            part.encoder,
            part.frequencies,
            part.classes.tolist(),
            np.sort(attribute * LABELS + pairs.indices),
            transition_counts(corpus, n_labels),
            len(corpus.y),
            float(corpus.weight.sum()),
        )

    @classmethod
    def unite(cls, surveys: Iterable["Survey"]) -> "Survey":
        """The survey of all parts; the order of the parts is the order of new attributes.

        Raises
        ------
        ValueError
            If there is no part, or X is of different kinds in different parts.
        """
        parts = iter(surveys)
        first = next(parts, None)
        if first is None:
            raise ValueError("there are no parts")
        united = first._replace(encoder=deepcopy(first.encoder))
        for part in parts:
            united = united._with(part)
        return united

    def shape(
        self,
        *,
        min_freq: int = 1,
        features: str = "all",
        boundaries: bool = False,
        constraints: Any = None,
        kept_labels: Iterable[Any] = (),
    ) -> "ModelShape":
        """The shape of a model of all parts.

        Parameters
        ----------
        min_freq, features, boundaries : as in :class:`~sklearn_crcrf.CRF`
            ``features`` is "all" or "observed".
        constraints : as :func:`~sklearn_crcrf.labels.as_constraints` takes them
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
            pairs = self._pairs_of(chosen, encoder.only_edges, rank)
        allowed = as_constraints(constraints, classes)
        return ModelShape(encoder, classes, pairs, numbered(transitions), boundaries, allowed)

    def _pairs_of(
        self, chosen: np.ndarray, only_edges: np.ndarray, rank: np.ndarray
    ) -> sp.csr_array:
        """The pairs of the chosen attributes and the labels in order."""
        number = np.full(len(self.frequencies), -1)
        number[chosen] = np.arange(len(chosen))
        number[chosen[only_edges]] = -1
        attribute, label = np.divmod(self.pairs, LABELS)
        kept = number[attribute] >= 0
        where = number[attribute[kept]], rank[label[kept]]
        return sp.coo_array((np.ones(kept.sum()), where), (len(chosen), len(rank))).tocsr()

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
            self.n_tokens + other.n_tokens,
            self.weight + other.weight,
        )


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
        """The weights of the shard."""
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        return np.concatenate([rows[self.node].reshape(-1), vector[self.shared]])

    def put(self, own: np.ndarray, vector: np.ndarray) -> None:
        """Write the weights of the shard to their places."""
        for places, values, of_own in self._parts(own, vector):
            values[places] = of_own

    def add(self, own: np.ndarray, vector: np.ndarray) -> None:
        """Add to the vector of all weights what belongs to the weights of the shard."""
        for places, values, of_own in self._parts(own, vector):
            values[places] += of_own

    def _parts(self, own: np.ndarray, vector: np.ndarray) -> list[tuple]:
        """Places, where they are, and the weights of the shard that belong there."""
        n_node = self.n_own_node
        rows = vector[: self.n_node_weights].reshape(-1, self.width)
        of_rows = own[:n_node].reshape(-1, self.width)
        return [(self.node, rows, of_rows), (self.shared, vector, own[n_node:])]


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
    """

    encoder: AttributeEncoder
    classes: np.ndarray
    pairs: sp.csr_array | None
    transitions: np.ndarray
    boundaries: bool
    constraints: Constraints | None

    def set_fitted(self, estimator: Any, inputs: Mapping[str, Any]) -> None:
        """Set what a classifier learns of the data besides weights.

        Parameters
        ----------
        estimator : LinearChainClassifier
        inputs : mapping
            The attribute ``fitted`` of a part.
        """
        estimator._encoder, estimator._constraints = self.encoder, self.constraints
        estimator.attribute_names_, estimator.classes_ = self.encoder.names, self.classes
        for name, value in inputs.items():
            setattr(estimator, name, value)

    def terms(self) -> Terms:
        """The terms of scores, which define where weights are in a vector."""
        n_edges = len(self.encoder.edge_attributes)
        return self.terms_of(sp.csr_array((0, n_edges)), len(self.encoder.names), self.pairs)

    def terms_of(
        self, edge_attributes: sp.csr_array, n_attributes: int, pairs: sp.csr_array | None
    ) -> Terms:
        """The terms of scores of some of the attributes."""
        n = len(self.classes)
        forbidden = forbidden_scores(self.constraints, n)
        shared = shared_terms(self.transitions, self.boundaries, forbidden, edge_attributes)
        return Terms(n_attributes * n if pairs is None else pairs.nnz, shared, n)

    def own(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """The attributes of a part that have weights: their numbers there, and in the model."""
        number = self.encoder.find(part.encoder)
        kept = np.flatnonzero((number >= 0) & (part.frequencies > 0))
        return kept, number[kept].astype(np.int64)

    def columns(self, attributes: np.ndarray) -> OwnColumns:
        """Where the weights of a shard with these attributes stand in the vector of all weights."""
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
    """The union of two sorted arrays without duplicates, sorted."""
    place = np.searchsorted(keys, more)
    is_new = place == len(keys)
    is_new[~is_new] = keys[place[~is_new]] != more[~is_new]
    return np.insert(keys, place[is_new], more[is_new])
