"""Fitted estimators as chains over the tokens that another estimator was given."""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from ..base.classifier import BaseSequenceClassifier, Batch
from ..base.contributions import Contributions
from ..base.unwrap import steps_of
from ..data.ragged import SequenceArray
from ..structures import Scores
from .relabelled import relabelled

__all__ = ["Expert", "MetaSequenceClassifier", "fit_expert", "require_chain"]


class Expert(NamedTuple):
    """A fitted sequence classifier, and what X goes through before it.

    Parameters
    ----------
    name : str
        What an error calls it.
    transformers : list
    classifier : BaseSequenceClassifier
    """

    name: str
    transformers: list
    classifier: BaseSequenceClassifier

    @classmethod
    def of(cls, name: str, estimator: Any) -> "Expert":
        """The expert that a fitted estimator is: a classifier, a pipeline or a search.

        Raises
        ------
        ValueError
            If its scores are not those of a first-order chain.
        """
        require_chain(name, estimator)
        expert = cls(name, *steps_of(estimator))
        nothing = SequenceArray(np.empty(0, dtype=object), [0])
        structure = expert.classifier._structure(nothing)
        if structure.own_scores:
            raise ValueError(
                f"expert {name!r}: its labels must depend on the one before, as in a first-order "
                f"chain, but they are a {type(structure).__name__}"
            )
        return expert

    def prepare(self, X: Any, offsets: np.ndarray) -> Any:
        """Encode all tokens of X, whose sequences have these offsets."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        sequences = self.classifier._check_X(X).X
        if not np.array_equal(sequences.offsets, offsets):
            raise ValueError(f"expert {self.name!r}: its transformers change the sequences of X")
        return self.classifier._prepare(sequences)

    def scores(self, prepared: Any, batch: Batch, classes: np.ndarray) -> Scores:
        """Scores of a batch of what was prepared, for these of its labels."""
        return relabelled(self.classifier._scores(prepared, batch), self._ids(classes))

    def contributions(self, prepared: Any, batch: Batch, labels: np.ndarray) -> Contributions:
        """What adds up to the score of the labels of one sequence, named after the expert."""
        entries = self.classifier._contributions(prepared, batch, self._ids(labels))
        return entries._replace(name=f"{self.name}: " + entries.name)

    def _ids(self, labels: np.ndarray) -> np.ndarray:
        """Where labels are among those of the expert."""
        known = {label: j for j, label in enumerate(self.classifier.classes_.tolist())}
        return np.array([known[label] for label in labels.tolist()], dtype=np.int64)


class MetaSequenceClassifier(BaseSequenceClassifier):
    """Base of the classifiers that hand X on to others, in the container in which it came."""

    def _map(self, X: Any, function: Callable, allowed: Any = None):
        twin = copy(self)
        twin._given = X
        return super(MetaSequenceClassifier, twin)._map(X, function, allowed)

    def _as_given(self, X: SequenceArray) -> Any:
        """X in the container in which it came; inside of another estimator as it is."""
        return getattr(self, "_given", X)


def require_chain(name: str, estimator: Any) -> None:
    """Check that an estimator, fitted or not, makes scores.

    Raises
    ------
    ValueError
        If it does not.
    """
    _, classifier = steps_of(estimator)
    if not hasattr(classifier, "_scores"):
        raise ValueError(
            f"expert {name!r}: it must be a sequence classifier of sklearn_crcrf, or a pipeline "
            f"or a search that ends in one, but is {classifier!r}"
        )


def fit_expert(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit an estimator, with the weights of samples if there are any."""
    if sample_weight is None:
        return estimator.fit(X, y)
    if isinstance(estimator, Pipeline):
        last, _ = estimator.steps[-1]
        return estimator.fit(X, y, **{f"{last}__sample_weight": sample_weight})
    return estimator.fit(X, y, sample_weight=sample_weight)
