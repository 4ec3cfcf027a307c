"""Experts: fitted estimators whose scores another estimator combines."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions
from ...base.unwrap import steps_of
from ...base.weights import places_of
from ...data.layout import Sequences
from ...data.ragged import SequenceArray
from ...structures import Scores, Structure
from .relabelled import relabelled


class Expert(NamedTuple):
    """A fitted sequence classifier, and the transformers before it.

    Parameters
    ----------
    name : str
        Name in error messages.
    transformers : list
    classifier : BaseSequenceClassifier
    """

    name: str
    transformers: list
    classifier: BaseSequenceClassifier

    @classmethod
    def of(cls, name: str, estimator: Any) -> "Expert":
        """Return the expert made of a fitted classifier, pipeline or search.

        Raises
        ------
        ValueError
            If the classifier is not a first-order chain.
        """
        require_chain(name, estimator)
        expert = cls(name, *steps_of(estimator))
        structure = expert.classifier._structure(SequenceArray(np.empty(0, dtype=object), [0]))
        if structure.own_scores:
            raise ValueError(
                f"expert {name!r}: its structure must be a first-order chain, "
                f"but is a {type(structure).__name__}"
            )
        return expert

    def prepare(self, X: Any, offsets: np.ndarray) -> Any:
        """Encode all tokens of X; ``offsets`` are the expected offsets of its sequences."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        sequences = self.classifier._check_X(X).X
        if not np.array_equal(sequences.offsets, offsets):
            raise ValueError(f"expert {self.name!r}: its transformers change the sequences of X")
        return self.classifier._prepare(sequences)

    def scores(self, prepared: Any, batch: Batch, classes: np.ndarray) -> Scores:
        """Scores of a batch of encoded tokens, for the labels ``classes``."""
        ids = places_of(classes, self.classifier.classes_)
        return relabelled(self.classifier._scores(prepared, batch), ids)

    def contributions(self, prepared: Any, batch: Batch, labels: np.ndarray) -> Contributions:
        """Return the contributions to the score of a labelling, named after the expert."""
        ids = places_of(labels, self.classifier.classes_)
        entries = self.classifier._contributions(prepared, batch, ids)
        return entries._replace(name=f"{self.name}: " + entries.name)


class Samples(NamedTuple):
    """The data passed to ``fit``.

    Parameters
    ----------
    X, y, sample_weight : as in ``fit``
    """

    X: Any
    y: Any
    sample_weight: Any

    def take(self, sequences: Sequences, chosen: np.ndarray) -> "Samples":
        """Return some of the sequences, in the same containers.

        Parameters
        ----------
        sequences : Sequences
            The result of ``as_sequences`` for X.
        chosen : bool ndarray of shape (n_sequences,)
        """
        if sequences.mirror.is_table:  # every token is a row
            chosen = sequences.mirror(np.repeat(chosen, sequences.X.lengths))
        return Samples(*(_take(part, np.flatnonzero(chosen)) for part in self))


def _take(part: Any, which: np.ndarray) -> Any:
    if part is None or np.isscalar(part):
        return part
    if sp.issparse(part):
        part = part.tocsr()
    return _safe_indexing(part if hasattr(part, "__getitem__") else np.asarray(part), which)


class WrappingClassifier(BaseSequenceClassifier):
    """Base of the classifiers that change what one other estimator says of X.

    A subclass has the parameter ``estimator``, and ``fit`` sets ``estimator_``.
    """

    estimator: Any

    def _expert(self) -> Expert:
        return Expert.of("estimator", self.estimator_)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        steps_of(self.estimator)[1]._check_structure(structure, X)

    def _prepare(self, X: SequenceArray) -> Any:
        return self._expert().prepare(as_given(self, X), X.offsets)

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return self._expert().classifier._scores(prepared, batch)


def as_given(classifier: BaseSequenceClassifier, X: SequenceArray) -> Any:
    """Return X in its original container; if none is known, as inside a pool, X itself."""
    return getattr(classifier, "_given", X)


def require_chain(name: str, estimator: Any) -> None:
    """Check that an estimator, fitted or not, is or ends in a sequence classifier.

    Raises
    ------
    ValueError
        If it is not.
    """
    _, classifier = steps_of(estimator)
    if not hasattr(classifier, "_scores"):
        raise ValueError(
            f"expert {name!r}: it must be a sequence classifier of sklearn_crcrf, or a pipeline "
            f"or a search that ends in one, but is {classifier!r}"
        )


def rough_expert(estimator: Any) -> Any:
    """Return a clone of an expert whose training may end near its optimum, to learn its weight."""
    rough = clone(estimator)
    steps_of(rough)[1]._train_roughly()
    return rough


def fit_expert(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit an estimator, with sample weights if there are any."""
    if sample_weight is None:
        return estimator.fit(X, y)
    if isinstance(estimator, Pipeline):
        last, _ = estimator.steps[-1]
        return estimator.fit(X, y, **{f"{last}__sample_weight": sample_weight})
    return estimator.fit(X, y, sample_weight=sample_weight)
