"""The sequence classifier inside of other estimators."""

from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from .base import BaseSequenceClassifier

__all__ = ["Unwrapped", "unwrap"]


class Unwrapped(NamedTuple):
    """A sequence classifier, and X as it sees it."""

    classifier: BaseSequenceClassifier
    X: Any


def unwrap(estimator: Any, X: Any = None) -> Unwrapped:
    """The fitted sequence classifier inside of searches, pipelines and wrappers.

    Parameters
    ----------
    estimator : fitted estimator
        A sequence classifier of this package, or a pipeline or a search that ends in one.
    X : what the estimator accepts, optional

    Returns
    -------
    Unwrapped

    Raises
    ------
    ValueError
        If there is no sequence classifier in it.
    """
    if isinstance(estimator, BaseSequenceClassifier):
        return Unwrapped(estimator, X)
    if isinstance(estimator, Pipeline):
        before = estimator[:-1]
        if X is not None and len(before):
            X = before.transform(X)
        return unwrap(estimator[-1], X)
    if hasattr(estimator, "best_estimator_"):
        return unwrap(estimator.best_estimator_, X)
    if hasattr(estimator, "crf_"):  # a CRFsuiteCRF
        return Unwrapped(estimator.crf_, X if X is None else estimator._rows(X))
    raise ValueError(
        "estimator must be a fitted sequence classifier of sklearn_crcrf, or a pipeline or a "
        f"search that ends in one, but is {estimator!r}"
    )
