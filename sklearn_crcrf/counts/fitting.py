"""Fits in parts: count where the data is, merge, and make one estimator of all counts."""

from typing import Any, TypeVar

from sklearn.base import clone

from .classifier import CountingClassifier
from .parts import PartialCounts, Plan

__all__ = ["count", "finish"]

Estimator = TypeVar("Estimator", bound=CountingClassifier)


def count(
    estimator: CountingClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    plan: Plan | None = None,
) -> PartialCounts:
    """Count a part of a corpus, without estimating anything.

    Parameters
    ----------
    estimator : EmpiricalCRF or HMM
        Its parameters say what is counted. It does not change, and need not be fitted.
    X, y, sample_weight : as in :meth:`~sklearn_crcrf.EmpiricalCRF.fit`
        The part may have no tokens, or no weight.
    plan : Plan, optional
        The ``plan`` of a part that was counted before. Parts with numeric columns need it, to have
        the same bins, and parts of feature dicts, if not all parts have the same keys. New keys
        are then an error.

    Returns
    -------
    PartialCounts

    Raises
    ------
    ValueError
        If input is not valid, or the parameters need all data at once.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count, finish, merge
    >>> crf = EmpiricalCRF()
    >>> a = count(crf, [["the", "dog"]], [["D", "N"]])
    >>> b = count(crf, [["dogs", "sleep"]], [["N", "V"]])
    >>> finish(crf, merge(a, b)).predict([["the", "dogs", "sleep"]]).tolist()
    [['D', 'N', 'V']]
    """
    _check_counts(estimator)
    return estimator._counted(plan, None, X, y, sample_weight)


def finish(estimator: Estimator, counts: PartialCounts) -> Estimator:
    """An estimator that is fitted to counts: the same, bit for bit, as one fit to all data.

    Parameters
    ----------
    estimator : EmpiricalCRF or HMM
        It does not change.
    counts : PartialCounts
        The merged counts of all parts, in order.

    Returns
    -------
    estimator
        A clone, fitted.

    Raises
    ------
    ValueError
        If nothing was counted, or the counts are of other parameters.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.counts import count, finish
    >>> finish(HMM(), count(HMM(), [["the", "dog"]], [["D", "N"]])).classes_.tolist()
    ['D', 'N']
    """
    _check_counts(estimator)
    fitted = clone(estimator)._unfitted()
    fitted._finish(counts)
    return fitted


def _check_counts(estimator: Any) -> None:
    if not isinstance(estimator, CountingClassifier):
        raise ValueError(
            f"estimator must be an EmpiricalCRF or an HMM, but is a {type(estimator).__name__}"
        )
    estimator._validate_params()
