"""Experts: fitted estimators whose scores another estimator combines."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions
from ...base.unwrap import steps_of
from ...data.ragged import SequenceArray
from ...structures import Scores
from .relabelled import relabelled

__all__ = [
    "Expert",
    "MetaSequenceClassifier",
    "fit_expert",
    "require_chain",
    "rough_expert",
]


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
        """The expert made of a fitted classifier, pipeline or search.

        Raises
        ------
        ValueError
            If the classifier is not a first-order chain.
        """
        require_chain(name, estimator)
        expert = cls(name, *steps_of(estimator))
        nothing = SequenceArray(np.empty(0, dtype=object), [0])
        structure = expert.classifier._structure(nothing)
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
        return relabelled(self.classifier._scores(prepared, batch), self._ids(classes))

    def contributions(self, prepared: Any, batch: Batch, labels: np.ndarray) -> Contributions:
        """The contributions to the score of a labelling, with the name of the expert in front."""
        entries = self.classifier._contributions(prepared, batch, self._ids(labels))
        return entries._replace(name=f"{self.name}: " + entries.name)

    def _ids(self, labels: np.ndarray) -> np.ndarray:
        """The indices of labels in the ``classes_`` of the expert."""
        known = {label: j for j, label in enumerate(self.classifier.classes_.tolist())}
        return np.array([known[label] for label in labels.tolist()], dtype=np.int64)


class MetaSequenceClassifier(BaseSequenceClassifier):
    """Base of the classifiers that pass X on to other estimators, in its original container."""

    def _for_prediction(self, X: Any) -> Self:
        twin = super()._for_prediction(X)
        twin._given = X
        return twin

    def _as_given(self, X: SequenceArray) -> Any:
        """X in its original container; if none is known, as inside a pool, X itself."""
        return getattr(self, "_given", X)


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
    """A clone of an estimator, to learn its weight in a pool: training may end near its optimum."""
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
