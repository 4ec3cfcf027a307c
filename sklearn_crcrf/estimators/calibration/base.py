"""The base of classifiers that choose one number on held-out sequences."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.model_selection import check_cv

from ...base.batches import batches_of
from ...base.sample_weight import token_weights
from ...data.layout import Sequences
from ...data.sequences import as_sequences
from ...labels.partial import label_columns
from ...structures import Scores, Structure, structure_of
from ...training import nested_fits
from ...utils.soundness import Fact, Requirement, labels
from ..opinion_pool.expert import Expert, Samples, WrappingClassifier, fit_expert, require_chain


class HeldOutBatch(NamedTuple):
    """The scores of whole sequences by a model that was not trained on them.

    Parameters
    ----------
    structure : Structure
    scores : Scores
    tokens : int ndarray of shape (n_known,)
        The tokens whose label is given and known to the model.
    y : int ndarray of shape (n_known,)
        Their labels, as columns of the scores.
    weight : ndarray of shape (n_known,)
    classes : ndarray of shape (n_labels,)
        The labels of the columns.
    """

    structure: Structure
    scores: Scores
    tokens: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    classes: np.ndarray


@dataclass(eq=False, repr=False)
class HeldOutChoice(WrappingClassifier):
    """Base of the classifiers that choose one number on held-out sequences.

    A subclass has the parameters ``estimator`` and ``cv``, and chooses in :meth:`_choose`.
    """

    estimator: Any
    cv: Any = 5

    _parameter_constraints: ClassVar[dict] = {}

    @abstractmethod
    def _choose(self, batches: Sequence[HeldOutBatch]) -> None:
        """Set the number that suits scores of held-out sequences best."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the number on held-out sequences, and fit the estimator.

        Parameters
        ----------
        X, y, sample_weight : as the estimator takes them
            Unknown labels, and labels that the other folds lack, do not count for the choice; where
            whole sequences are compared, sequences that have one do not.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If the estimator is not a first-order chain, input is not valid, or there are fewer
            sequences than folds.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(Samples(X, y, sample_weight))
        return self

    def _fit(self, samples: Samples) -> None:
        require_chain("estimator", self.estimator)
        sequences, _ = self._check_training(*samples, reset=True)
        self._check_structure(structure_of(sequences.X), sequences.X)
        folds = list(check_cv(self.cv).split(np.arange(len(sequences.X))))
        with nested_fits():  # Before the folds: its errors name sequences by their place in X.
            self.estimator_ = fit_expert(clone(self.estimator), *samples)
        self._choose(list(self._held_out_batches(samples, sequences, folds)))
        self.classes_ = self._expert().classifier.classes_

    def _held_out_batches(
        self, samples: Samples, sequences: Sequences, folds: list[tuple[np.ndarray, np.ndarray]]
    ) -> Iterator[HeldOutBatch]:
        """Yield the scores of the test sequences of every fold, by a clone fitted to the others."""
        numbers = np.arange(len(sequences.X))
        for train, test in folds:
            with nested_fits():
                others = samples.take(sequences, np.isin(numbers, train))
                expert = Expert.of("estimator", fit_expert(clone(self.estimator), *others))
            held_out = samples.take(sequences, np.isin(numbers, test))
            found = as_sequences(held_out.X, held_out.y)
            classes = expert.classifier.classes_
            y = label_columns(found.y, classes)
            weight = token_weights(found, held_out.sample_weight)
            prepared = expert.prepare(held_out.X, found.X.offsets)
            for batch in batches_of(structure_of(found.X), len(classes)):
                tokens = np.flatnonzero(y[batch.start : batch.stop] >= 0)
                yield HeldOutBatch(
                    batch.structure,
                    expert.scores(prepared, batch, classes),
                    tokens,
                    y[batch.start + tokens],
                    weight[batch.start + tokens],
                    classes,
                )

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        same = self.classes_.tolist() == self._expert().classifier.classes_.tolist()
        yield Fact("classes_", same, "must be the labels of estimator_")

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return self._expert().classifier._decode(structure, scores, first)
