"""Base of the classifiers whose scores are linear in the attributes of tokens."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from ..base.batch_values import token_marginals
from ..base.batches import Batch
from ..base.classifier import BaseSequenceClassifier
from ..base.contributions import (
    Contributions,
    attribute_contributions,
    transition_contributions,
    transition_names,
)
from ..base.sample_weight import label_weights, sequence_weights
from ..base.weights import NamedWeights, Weights
from ..data.csr import csr_arrays
from ..data.ragged import SequenceArray
from ..data.sums import state_scores
from ..data.vocabulary import packed, unpacked
from ..feature_extraction import SequenceVectorizer
from ..feature_extraction.tagger_steps import tagger_steps
from ..labels.constraints.constraints import as_constraints, forbidden_scores
from ..labels.encoding import LabelIds, sort_labels
from ..labels.partial import encode_partial_labels
from ..labels.soft import SoftLabels
from ..serving import Tagger
from ..serving.linear import linear_content
from ..structures import Scores, Structure
from ..utils.replaced_parts import check_fitted, check_parts
from ..utils.soundness import Array, Requirement, below, labels, matrix
from .corpus import Corpus, check_magnitude, check_possible, edge_columns
from .encoder import AttributeEncoder
from .terms import TransitionFeature


def _best_marginals(classifier: BaseSequenceClassifier, chain, scores, first) -> np.ndarray:
    """Return the label of each token with the highest marginal."""
    return token_marginals(chain, scores, first).argmax(axis=1)


DECODERS = {"viterbi": BaseSequenceClassifier._decode, "marginal": _best_marginals}


def _has_these_scores(classifier: "LinearChainClassifier") -> bool:
    """Say whether a class does not change how scores are made, nor how labels are found by them."""
    kind = type(classifier)
    return kind._scores is LinearChainClassifier._scores and kind._labels_by_scores


class LinearClassifier(BaseSequenceClassifier):
    """Base of the classifiers whose scores are linear in the attributes of tokens.

    Its ``fit`` sets ``classes_``, ``_encoder``, ``attribute_names_`` and the weights ``coef_``,
    ``transitions_``, ``begin_`` and ``end_``.
    """

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The nonzero weights of pairs of attribute and label."""
        check_parts(self)
        coef = sp.coo_array(self.coef_)
        coef.eliminate_zeros()
        names, labels = self.attribute_names_[coef.row], self.classes_[coef.col]
        return _mapping(names, labels, coef.data)

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The nonzero weights of pairs of labels, the previous label first."""
        previous, current = np.nonzero(self.transitions_)
        weights = self.transitions_[previous, current]
        return _mapping(self.classes_[previous], self.classes_[current], weights)

    def _named_weights(self) -> NamedWeights:
        check_parts(self)
        n = len(self.classes_)
        weights = self.coef_, self.transitions_, self.begin_, self.end_, np.zeros((0, n, n))
        return NamedWeights(
            self.attribute_names_, np.array([], dtype=object), self.classes_, Weights(*weights)
        )

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n, n_attributes = len(self.classes_), len(self.attribute_names_)
        yield Array("attribute_names_", self.attribute_names_, (n_attributes,), kind="OUS")
        yield from matrix("coef_", self.coef_, (n_attributes, n))
        # -inf forbids a label or a transition.
        for name, shape in (("transitions_", (n, n)), ("begin_", (n,)), ("end_", (n,))):
            yield Array(name, getattr(self, name), shape, -np.inf)
        yield from below("_encoder", self._encoder.requirements(n_attributes, self._width()))

    def _width(self) -> int | None:
        """Return the number of columns that the encoder takes, None unless tokens are rows."""
        return getattr(self, "n_features_in_", None)

    def __getstate__(self) -> dict[str, Any]:
        return packed(super().__getstate__(), "attribute_names_")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(unpacked(state, "attribute_names_"))


class LinearChainClassifier(LinearClassifier):
    """Base of the linear classifiers with scores of single labels and of pairs of labels.

    A subclass has the parameters ``min_freq``, ``dtype``, ``sample_unit`` and ``n_jobs``, and may
    have ``edge_columns``, ``constraints`` and ``class_weight``. Its ``fit`` calls :meth:`_read` and
    sets ``edge_coef_`` beside the weights of every linear classifier.
    """

    # Whether all labels that it finds follow from its scores alone.
    _labels_by_scores = True

    @property
    def edge_attribute_names_(self) -> np.ndarray:
        """The attribute of each table of ``edge_coef_``."""
        return self.attribute_names_[self._encoder.edge_attributes]

    @available_if(_has_these_scores)
    def tagger(self, transformers: Sequence[Any] = ()) -> Tagger:
        """Make an immutable object that labels one sequence in one compiled call.

        Parameters
        ----------
        transformers : sequence of fitted transformers, default=()
            The steps of a pipeline that ends in this classifier: transformers of columns, and a
            :class:`~sklearn_crcrf.SequenceVectorizer`.

        Returns
        -------
        Tagger
            It gives the labels of :meth:`predict` for token strings and feature dicts; see
            :class:`~sklearn_crcrf.serving.Tagger`.

        Raises
        ------
        ValueError
            If X was numeric in fit, transitions depend on attributes, or a tagger cannot do what a
            transformer does.
        """
        check_fitted(self)
        encoder = self._encoder
        if not transformers and encoder.columns is not None:
            raise ValueError("tagger() is for token strings and feature dicts, but X was numeric")
        if not transformers:
            names, dtype = encoder.names.tolist(), encoder.dtype(np.dtype(float))
            return linear_tagger_of(self, names, dtype, lists=True)
        *before, vectorizer = transformers
        if encoder.columns is None or not isinstance(vectorizer, SequenceVectorizer):
            raise ValueError(
                f"a tagger needs a SequenceVectorizer as the last transformer, not {vectorizer!r}"
            )
        return linear_tagger_of(
            self,
            vectorizer.vocabulary_.symbols,
            encoder.dtype(np.dtype(vectorizer.dtype)),
            separator=vectorizer.separator,
            columns=tagger_steps(before) if before else None,
        )

    def _decoding(self) -> str:
        """How labels are found: a key of ``DECODERS``."""
        return "viterbi"

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        extend: bool = False,
        kept_labels: np.ndarray | None = None,
    ) -> Corpus:
        """Encode and check the training data.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``
        classes : array-like of labels, optional
            All possible labels; by default the labels in y.
        extend : bool, default=False
            Whether to keep the attributes and labels of the previous fit and add new ones.
        kept_labels : ndarray of labels, optional
            Labels of the previous fit that stay where it is not extended.

        Returns
        -------
        Corpus
            All sequences in their order, including sequences without tokens or without weight.
        """
        sequences, weights = self._check_training(X, y, sample_weight, reset=not extend)
        structure, offsets = self._structure(sequences.X), sequences.X.offsets
        if extend:
            encoder = copy(self._encoder)
            classes = _all_classes(self.classes_, sequences.y, classes)
        else:
            encoder = AttributeEncoder(self.min_freq, self.dtype, getattr(self, "edge_columns", ()))
            if kept_labels is not None:
                classes = _all_classes(kept_labels, sequences.y, classes)
        self._encoder: AttributeEncoder = encoder
        attributes = self._encoder.fit_transform(self._tokens(sequences.X), extend=extend)
        check_magnitude(attributes, offsets)
        self.attribute_names_ = self._encoder.names
        soft = sequences.y if isinstance(sequences.y, SoftLabels) else None
        if soft is None:
            classes, ids, allowed = encode_partial_labels(sequences.y, classes)
        else:
            classes, soft = soft.among(classes)
            ids, allowed = np.full(len(soft.tokens.indptr) - 1, -1, dtype=np.int32), None
        self.classes_: np.ndarray = classes
        weights = weights * label_weights(getattr(self, "class_weight", None), self.classes_, ids)
        self._constraints = as_constraints(getattr(self, "constraints", None), self.classes_)
        structure = self._training_structure(sequences.X, structure)
        if soft is not None:
            structure.require(["expected_score"], "y, with probabilities of labels,")
        weight = sequence_weights(weights, offsets)
        corpus = Corpus(attributes, ids, structure, weight, allowed, soft)
        check_possible(corpus, self._constraints)
        return corpus

    def _training_structure(self, X: SequenceArray, structure: Structure) -> Structure:
        """Return the structure to train on, now that the labels are known."""
        return structure

    def _tokens(self, X: SequenceArray) -> SequenceArray:
        """X as the encoder sees it; the attributes of edges become attributes of tokens."""
        return X

    def _named_weights(self) -> NamedWeights:
        named = super()._named_weights()
        weights = named.weights._replace(edges=self.edge_coef_)
        return named._replace(edge_names=self.edge_attribute_names_, weights=weights)

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        n = len(self.classes_)
        yield Array("edge_coef_", self.edge_coef_, (len(self.edge_attribute_names_), n, n))
        if self._constraints is not None:
            yield from below("_constraints", self._constraints.requirements(n))

    def _prepare(self, X: SequenceArray) -> Any:
        attributes = self._encoder.transform(self._tokens(X))
        forbidden = forbidden_scores(self._constraints, len(self.classes_))
        return attributes, edge_columns(attributes, self._encoder.edge_attributes), forbidden

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        attributes, edge_attributes, forbidden = prepared
        weights = self.transitions_, self.begin_, self.end_
        shared = (w + f for w, f in zip(weights, forbidden, strict=True))
        state = state_scores(attributes, self.coef_, batch.start, batch.stop)
        scores = Scores.of(state, *shared)
        if edge_attributes.shape[1] == 0:
            return scores
        term = TransitionFeature(edge_attributes, len(self.classes_))
        return term.add_scores(self.edge_coef_, batch, scores)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        attributes, edge_attributes, forbidden = prepared
        weights = self.transitions_, self.begin_, self.end_
        transition, begin, end = (w + f for w, f in zip(weights, forbidden, strict=True))
        of_state = attributes[batch.start : batch.stop], self.coef_, y, self.attribute_names_
        _, current = batch.structure.links()
        return Contributions.join(
            [
                attribute_contributions(*of_state),
                transition_contributions(transition, begin, end, y, self.classes_, batch.structure),
                self._edge_contributions(edge_attributes[batch.start + current], batch, y),
            ]
        )

    def _edge_contributions(
        self, of_links: sp.csr_array, batch: Batch, y: np.ndarray
    ) -> Contributions:
        """Return the contributions of the attributes of links on which transitions depend."""
        previous, current = batch.structure.links()
        rows = sp.coo_array(of_links)
        link, attribute = rows.coords
        weight = self.edge_coef_[attribute, y[previous[link]], y[current[link]]]
        pairs = transition_names(y[previous], y[current], self.classes_)
        names = self.edge_attribute_names_
        named = [f"{pairs[k]} | {names[a]}" for k, a in zip(link, attribute, strict=True)]
        return Contributions.of("transition", current[link], named, weight, rows.data)


def linear_tagger_of(
    classifier: Any,
    names: Sequence[str],
    dtype: np.dtype,
    *,
    separator: str = "=",
    lists: bool = False,
    columns: Mapping[str, list] | None = None,
) -> Tagger:
    """Return a tagger of a fitted classifier.

    Parameters
    ----------
    classifier : LinearChainClassifier
    names : sequence of n_columns str
        The attributes of tokens, in the order of the columns of X; of token strings and feature
        dicts the classifier knows them itself.
    dtype : dtype
        Type of the attributes, single or double precision.
    separator : str
        Stands between a key of a feature dict and a string.
    lists : bool
        Whether a token may be a list of attributes.
    columns : mapping, optional
        As in :func:`~sklearn_crcrf.serving.linear.linear_content`.

    Raises
    ------
    ValueError
        If transitions depend on attributes.
    """
    encoder, n_labels = classifier._encoder, len(classifier.classes_)
    if len(encoder.edge_attributes):
        raise ValueError("there is no tagger of a model whose transitions depend on attributes")
    row = None
    if encoder.columns is not None and not np.array_equal(encoder.columns, np.arange(len(names))):
        row = np.full(len(names), -1, dtype=np.int32)
        row[encoder.columns] = np.arange(len(encoder.columns))
    coef = classifier.coef_.astype(dtype)
    weights = classifier.transitions_, classifier.begin_, classifier.end_
    forbidden = forbidden_scores(classifier._constraints, n_labels)
    content = linear_content(
        names,
        row,
        csr_arrays(sp.csr_array(coef)) if sp.issparse(coef) else [coef],
        [w + f for w, f in zip(weights, forbidden, strict=True)],
        classifier.classes_.tolist(),
        separator=separator,
        lists=lists,
        decoding=classifier._decoding(),
        columns=columns,
    )
    return Tagger(content)


def _all_classes(known: np.ndarray, y: SequenceArray, declared: Any) -> np.ndarray:
    """Return the labels known before and the labels in y, sorted."""
    if declared is not None:
        LabelIds(known).require(declared)
        return known
    more = y.classes if isinstance(y, SoftLabels) else encode_partial_labels(y)[0]
    return sort_labels(list(dict.fromkeys([*known.tolist(), *more.tolist()])))[0]


def _mapping(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> dict:
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return dict(zip(pairs, weights.tolist(), strict=True))
