"""An expert for some of the labels, which merges all others."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import HasMethods

from ...base.batches import Batch
from ...base.docstrings import documented
from ...base.weights import places_of
from ...labels.encoding import encode_labels
from ...structures import Scores
from ...utils.soundness import Requirement, indices, labels
from .expert import WrappingClassifier, fit_expert, require_chain
from .relabelled import relabelled


@documented
@dataclass(eq=False, repr=False)
class MergedLabels(WrappingClassifier):
    """A classifier that distinguishes some labels and merges all others.

    The estimator is fitted to labels in which the most frequent of all others stands for them. In
    predictions, every merged label has the scores of this one, so this can be an expert of an
    :class:`~sklearn_crcrf.OpinionPoolCRF` beside experts for other labels.

    Parameters
    ----------
    estimator : estimator
        A first-order sequence classifier, or a pipeline or search that ends in one.
    labels : collection
        The labels to distinguish; labels that do not occur are ignored.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        All labels, merged ones too.
    estimator_ : estimator
        The estimator, fitted to the merged labels.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.estimators.opinion_pool import MergedLabels
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["the", "cat"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"]]
    >>> nouns = MergedLabels(CRF(), ["N"]).fit(X, y)
    >>> nouns.estimator_.predict([["a", "dog", "sleeps"]])
    array([list(['D', 'N', 'D'])], dtype=object)
    >>> nouns.predict_proba([["a"]])[0].round(2)
    array([[0.38, 0.23, 0.38]])
    """

    estimator: Any
    labels: Any
    _: KW_ONLY
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "labels": ["array-like", set, frozenset],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MergedLabels":
        """Fit the estimator to the merged labels.

        Parameters
        ----------
        X, y, sample_weight : as the estimator takes them

        Returns
        -------
        MergedLabels
            Itself. If fitting fails, it stays as it was.

        Raises
        ------
        ValueError
            If the estimator is not a first-order chain, or input is not valid.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        require_chain("estimator", self.estimator)
        sequences, _ = self._check_training(X, y, sample_weight, reset=True)
        self.classes_, ids = encode_labels(sequences.y)
        told, n_labels = set(self.labels), len(self.classes_)
        others = [j for j, label in enumerate(self.classes_.tolist()) if label not in told]
        merged = np.arange(n_labels)
        if others:
            merged[others] = others[np.argmax(np.bincount(ids, minlength=n_labels)[others])]
        y = sequences.mirror(self.classes_[merged[ids]])
        self.estimator_ = fit_expert(clone(self.estimator), X, y, sample_weight)
        merged = places_of(self.classes_[merged], self._expert().classifier.classes_)
        used = merged >= 0  # the estimator does not know labels whose tokens all have weight zero
        self._merged, self.classes_ = merged[used], self.classes_[used]

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n_known = len(self._expert().classifier.classes_)
        yield indices("_merged", self._merged, self.classes_.shape, n_known)

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return relabelled(super()._scores(prepared, batch), self._merged)
