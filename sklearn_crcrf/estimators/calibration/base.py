"""The base of classifiers that choose one number on held-out sequences."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone

from ...base.batches import Batch
from ...base.unwrap import steps_of
from ...data.ragged import SequenceArray
from ...structures import Scores, Structure, structure_of
from ...training import nested_fits
from ...utils.soundness import Fact, Requirement, labels
from ..opinion_pool.expert import Expert, MetaSequenceClassifier, fit_expert, require_chain
from ..opinion_pool.samples import Samples
from .held_out import HeldOutBatch, held_out_batches

__all__ = ["HeldOutChoice"]


@dataclass(eq=False, repr=False)
class HeldOutChoice(MetaSequenceClassifier):
    """Base of the classifiers that choose one number on held-out sequences.

    A subclass has the parameters ``estimator`` and ``cv``, and chooses in :meth:`_choose`.
    """

    estimator: Any
    cv: Any = 5
    _: KW_ONLY
    sample_unit: str = "sequence"
    n_jobs: int | None = None

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
        batches = held_out_batches(self.estimator, self.cv, samples, sequences)
        self._choose(batches)
        with nested_fits():
            self.estimator_ = fit_expert(clone(self.estimator), *samples)
        self.classes_ = self._expert().classifier.classes_

    def _expert(self) -> Expert:
        return Expert.of("estimator", self.estimator_)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        same = self.classes_.tolist() == self._expert().classifier.classes_.tolist()
        yield Fact("classes_", same, "must be the labels of estimator_")

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        steps_of(self.estimator)[1]._check_structure(structure, X)

    def _prepare(self, X: SequenceArray) -> Any:
        return self._expert().prepare(self._as_given(X), X.offsets)

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return self._expert().classifier._scores(prepared, batch)

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return self._expert().classifier._decode(structure, scores, first)
