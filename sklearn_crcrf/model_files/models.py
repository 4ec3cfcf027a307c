"""Checks of models, before they are stored and after they are loaded."""

from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator

from ..base.classifier import BaseSequenceClassifier
from ..base.unwrap import single_steps, steps_of
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import check_sound
from .trust import PACKAGE

__all__ = ["check_is_sound", "check_is_trained", "check_model"]


def check_is_trained(estimator: Any) -> None:
    """Check that an estimator is fitted, with all transformers before it that need to be.

    Raises
    ------
    NotFittedError
        If one of them is not fitted; the message names it.
    """
    transformers, last = steps_of(estimator)
    for part in [*single_steps(transformers), last]:
        check_fitted(part)


def check_is_sound(estimator: Any) -> None:
    """Check the arrays of an estimator, and of all transformers before it, against each other.

    Those of objects that are read from a file have been checked already.

    Raises
    ------
    ValueError
        If one does not fit the others; the message names it.
    """
    transformers, last = steps_of(estimator)
    for part in [*transformers, last]:
        check_sound(part)


def check_model(estimator: Any) -> None:
    """Check that a model is a sequence classifier of this package, with valid parameters.

    Raises
    ------
    ValueError
        If it is neither a sequence classifier nor a pipeline that ends in one; or if a parameter is
        not valid.
    """
    _, last = steps_of(estimator)
    if not isinstance(last, BaseSequenceClassifier) and not _is_crfsuite(last):
        raise ValueError(
            "the estimator must be a sequence classifier of sklearn_crcrf, or a pipeline that ends "
            f"in one, but is a {type(last).__name__}"
        )
    for part in _estimators_in(estimator):
        # Those of scikit-learn have been validated when they were read.
        if hasattr(part, "_parameter_constraints") and type(part).__module__.startswith(PACKAGE):
            part._validate_params()


def _is_crfsuite(estimator: Any) -> bool:
    # Imported only here, because it imports the training by all its algorithms.
    from ..estimators.crfsuite import CRFsuiteCRF

    return isinstance(estimator, CRFsuiteCRF)


def _estimators_in(estimator: BaseEstimator) -> Iterator[BaseEstimator]:
    """An estimator, its parameters and its fitted parts."""
    left, seen = [estimator], set()
    while left:
        part = left.pop()
        if id(part) in seen or not isinstance(part, (BaseEstimator, dict, list, tuple)):
            continue
        seen.add(id(part))
        if isinstance(part, BaseEstimator):
            yield part
            part = vars(part)
        left.extend(part.values() if isinstance(part, dict) else part)
