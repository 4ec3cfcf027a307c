"""The sequence classifier inside other estimators."""

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.pipeline import Pipeline

from .classifier import BaseSequenceClassifier


def unwrap(estimator: Any, X: Any = None) -> tuple[BaseSequenceClassifier, Any]:
    """Return the fitted sequence classifier inside searches, pipelines and wrappers.

    Parameters
    ----------
    estimator : fitted estimator
        A sequence classifier of this package, or a pipeline or a search that ends in one.
    X : what the estimator accepts, optional

    Returns
    -------
    classifier : BaseSequenceClassifier
    X : X after the steps before it

    Raises
    ------
    ValueError
        If the estimator contains no sequence classifier.
    """
    transformers, last = steps_of(estimator)
    if X is not None:
        for transformer in transformers:
            X = transformer.transform(X)
    if hasattr(last, "crf_"):  # a CRFsuiteCRF
        return last.crf_, X if X is None else last._rows(X)
    if isinstance(last, BaseSequenceClassifier):
        return last, X
    raise ValueError(
        "estimator must be a fitted sequence classifier of sklearn_crcrf, or a pipeline or a "
        f"search that ends in one, but is {estimator!r}"
    )


def steps_of(estimator: Any) -> tuple[list, Any]:
    """Return the transformers that X goes through, and the estimator after them.

    Parameters
    ----------
    estimator : estimator
        May be a pipeline, a search or another wrapper of one estimator.

    Returns
    -------
    transformers : list
    last : estimator
    """
    if isinstance(estimator, Pipeline):
        *before, (_, last) = estimator.steps
        transformers, last = steps_of(last)
        used = [step for _, step in before if step not in (None, "passthrough")]
        return used + transformers, last
    if not isinstance(estimator, BaseSequenceClassifier) and hasattr(estimator, "estimator"):
        # A FrozenEstimator seems to have the attributes of what it holds.
        fitted = vars(estimator).get("estimator_", estimator.estimator)
        return steps_of(getattr(estimator, "best_estimator_", fitted))
    return [], estimator


def tagger_of(estimator: Any) -> Any:
    """Return the tagger of an estimator, or of a pipeline or a search that ends in one.

    Parameters
    ----------
    estimator : fitted estimator

    Returns
    -------
    Tagger
        Its tokens are as the first step takes them.

    Raises
    ------
    ValueError
        If there is no tagger of the estimator, or a tagger cannot do what a transformer does; the
        message says which.
    """
    transformers, last = steps_of(estimator)
    if not hasattr(last, "tagger"):
        raise ValueError(f"there is no tagger of {last!r}")
    transformers = [*single_steps(transformers)]
    return last.tagger(transformers) if transformers else last.tagger()


def single_steps(transformers: Iterable) -> Iterator:
    """Yield the transformers, with the steps of pipelines in their place.

    Parameters
    ----------
    transformers : iterable of transformers
    """
    for transformer in transformers:
        if isinstance(transformer, Pipeline):
            yield from single_steps(step for _, step in transformer.steps)
        elif transformer not in (None, "passthrough"):
            yield transformer
