"""Metrics of bags of labels: each part is counted where it is, and the counts are added."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..metrics import SegmentScores
from ..metrics.flatten import ZeroDivision, are_equal, chosen, divide, flatten, sample_weights
from ..metrics.segments import SegmentCounts, count, scores
from ..metrics.tokens import right_sequences
from .computing import compute, current_client, task, tree
from .parts import concrete, naming_part, same_parts


def token_accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
    client: Any = None,
) -> float:
    """Share of tokens with the right label, as :func:`sklearn_crcrf.metrics.token_accuracy`.

    Parameters
    ----------
    y_true, y_pred : Bag or list of Delayed
        True and predicted labels, partitioned alike.
    sample_weight : Bag or list of Delayed, optional
        Weights of the sequences.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no tokens; "warn" is 0.0 and a warning.
    client : distributed.Client, optional
        By default the current client, and without one Dask's local scheduler.

    Returns
    -------
    float

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import token_accuracy
    >>> y_true = db.from_sequence([["D", "N"], ["N", "V"]], npartitions=2)
    >>> y_pred = db.from_sequence([["D", "N"], ["N", "N"]], npartitions=2)
    >>> token_accuracy(y_true, y_pred)
    0.75
    """
    right, total = _sums(_tokens, y_true, y_pred, sample_weight, client)
    return divide(right, total, zero_division, "token_accuracy")


def sequence_accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
    client: Any = None,
) -> float:
    """Share of sequences without a wrong label, as in :mod:`sklearn_crcrf.metrics`.

    Parameters
    ----------
    y_true, y_pred, sample_weight : as in :func:`token_accuracy`
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no sequences; "warn" is 0.0 and a warning.
    client : as in :func:`token_accuracy`

    Returns
    -------
    float

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import sequence_accuracy
    >>> y_true = db.from_sequence([["D", "N"], ["N", "V"]], npartitions=2)
    >>> y_pred = db.from_sequence([["D", "N"], ["N", "N"]], npartitions=2)
    >>> sequence_accuracy(y_true, y_pred)
    0.5
    """
    right, total = _sums(_sequences, y_true, y_pred, sample_weight, client)
    return divide(right, total, zero_division, "sequence_accuracy")


def segment_precision_recall_f1(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
    client: Any = None,
) -> SegmentScores:
    """Precision, recall and F1 of segments, counted over all types and parts together.

    Parameters
    ----------
    y_true, y_pred : as in :func:`token_accuracy`
    scheme, reading : as in :func:`sklearn_crcrf.metrics.segment_precision_recall_f1`
    sample_weight : as in :func:`token_accuracy`
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no segments; "warn" is 0.0 and a warning.
    client : as in :func:`token_accuracy`

    Returns
    -------
    SegmentScores

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import segment_precision_recall_f1
    >>> y_true = db.from_sequence([["B-PER", "O"], ["B-LOC"]], npartitions=2)
    >>> y_pred = db.from_sequence([["B-PER", "O"], ["O"]], npartitions=2)
    >>> segment_precision_recall_f1(y_true, y_pred)
    SegmentScores(precision=1.0, recall=0.5, f1=0.66..., support=2.0)
    """
    sums = _sums(_segments, y_true, y_pred, sample_weight, client, scheme, reading)
    return scores(SegmentCounts([], *sums), zero_division)


def _sums(
    count_part: Callable, y_true: Any, y_pred: Any, sample_weight: Any, client: Any, *args: Any
) -> np.ndarray:
    """Return the sums over all parts of the numbers that are counted in each."""
    parts = same_parts(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
    leaves = [task(_counted, count_part, number, part, args) for number, part in enumerate(parts)]
    return compute(tree(sum, leaves), current_client(client))


def _counted(count_part: Callable, number: int, part: tuple, args: tuple) -> np.ndarray:
    """Return the numbers of one part; errors have its number."""
    y_true, y_pred, sample_weight = map(concrete, part)
    with naming_part(number):
        return np.array(count_part(y_true, y_pred, sample_weight, *args), dtype=float)


def _tokens(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[float, float]:
    pair = flatten(y_true, y_pred, sample_weight)
    hits = pair.weight[are_equal(pair) & pair.is_known]
    return hits.sum(), chosen(pair.weight, pair.is_known).sum()


def _sequences(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Any, Any]:
    pair = flatten(y_true, y_pred)
    weight = sample_weights(sample_weight, len(pair.true))
    return right_sequences(pair, pair.true.lengths, weight)


def _segments(
    y_true: Any, y_pred: Any, sample_weight: Any, scheme: str, reading: str
) -> tuple[Any, Any, Any]:
    total = count(y_true, y_pred, scheme, reading, sample_weight).total()
    return total.correct, total.predicted, total.true
