"""Scorers: metrics to pass as ``scoring=`` to scikit-learn's searches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.metrics import make_scorer
from sklearn.utils.metadata_routing import UNUSED

from ..base.unwrap import steps_of
from .probabilities import token_log_loss
from .segments import segment_f1, segment_precision, segment_recall
from .tokens import known_accuracy, sequence_accuracy, token_accuracy, token_f1, unknown_accuracy


def get_sequence_scorer(name: str, **options: Any) -> Callable[..., float]:
    """Return a scorer by name, to be used as ``scoring=``.

    Parameters
    ----------
    name : str
        One of :func:`get_sequence_scorer_names`. "known_accuracy" and "unknown_accuracy" need an
        estimator with ``known_tokens(X)``, "neg_log_loss" needs ``predict_proba(X)`` and
        ``classes_``; all others need only ``predict``.
    **options
        Keyword arguments of the metric, for example ``scheme="IOBES"``.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``, the higher the better. It can be
        pickled, its ``set_score_request`` requests sample weights, and its ``__name__`` is the
        name.

    Raises
    ------
    ValueError
        If there is no scorer of this name.

    Examples
    --------
    >>> from sklearn_crcrf.metrics import get_sequence_scorer
    >>> scorer = get_sequence_scorer("segment_f1", scheme="IOBES", reading="strict")
    """
    if name in _PREDICT:
        metric, preset = _PREDICT[name]
        scorer = make_scorer(metric, **preset, **options)
    elif name in _MORE_THAN_PREDICT:
        scorer = _SequenceScorer(*_MORE_THAN_PREDICT[name], options)
    else:
        known = ", ".join(get_sequence_scorer_names())
        raise ValueError(f"name must be one of {known}, got {name!r}")
    scorer.__name__ = name
    return scorer


def get_sequence_scorer_names() -> list[str]:
    """Return the names that :func:`get_sequence_scorer` knows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sklearn_crcrf.metrics import get_sequence_scorer_names
    >>> get_sequence_scorer_names()[:3]
    ['known_accuracy', 'neg_log_loss', 'segment_f1']
    """
    return sorted({**_PREDICT, **_MORE_THAN_PREDICT})


@dataclass(eq=False, repr=False)
class _SequenceScorer(BaseEstimator):
    """A scorer that needs more than ``predict``: ``response`` gets it from the estimator."""

    # BaseEstimator routes sample_weight to the method called ``score``.
    __metadata_request__score: ClassVar[dict] = {"estimator": UNUSED}

    metric: Callable[..., float]
    response: Callable[[Any, Any], tuple]
    sign: int
    options: dict[str, Any]

    def score(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric of the estimator's response for X, the higher the better."""
        answer = self.response(estimator, X)
        return self.sign * self.metric(y, *answer, sample_weight=sample_weight, **self.options)

    __call__ = score


def _labels_and_known(estimator: Any, X: Any) -> tuple[Any, Any]:
    return estimator.predict(X), _known_tokens(estimator, X)


def _probabilities_and_classes(estimator: Any, X: Any) -> tuple[Any, Any]:
    return estimator.predict_proba(X), estimator.classes_


def _known_tokens(estimator: Any, X: Any) -> Any:
    """``known_tokens`` of the last step of nested searches and pipelines, for transformed X."""
    transformers, last = steps_of(estimator)
    for transformer in transformers:
        X = transformer.transform(X)
    if not hasattr(last, "known_tokens"):
        raise ValueError(
            f"{type(last).__name__} does not say which words are known, as EmpiricalCRF does; call "
            "known_accuracy or unknown_accuracy with the known words"
        )
    return last.known_tokens(X)


_PREDICT = {
    "token_accuracy": (token_accuracy, {}),
    "token_f1_macro": (token_f1, {"average": "macro"}),
    "token_f1_micro": (token_f1, {"average": "micro"}),
    "token_f1_weighted": (token_f1, {"average": "weighted"}),
    "sequence_accuracy": (sequence_accuracy, {}),
    "segment_f1": (segment_f1, {}),
    "segment_precision": (segment_precision, {}),
    "segment_recall": (segment_recall, {}),
}
_MORE_THAN_PREDICT: dict[str, tuple[Callable[..., float], Callable[[Any, Any], tuple], int]] = {
    "known_accuracy": (known_accuracy, _labels_and_known, 1),
    "unknown_accuracy": (unknown_accuracy, _labels_and_known, 1),
    "neg_log_loss": (token_log_loss, _probabilities_and_classes, -1),
}
