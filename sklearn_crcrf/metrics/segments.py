"""Metrics that count segments: named entities, chunks.

The docstrings of metrics of segments share these entries.

Parameters
----------
y_true, y_pred : list of label lists, SequenceArray or 1-D array
    True and predicted labels; a one-dimensional array is a single sequence. An unknown true
    label, None or a missing value, counts as the predicted label, but segments of nothing but
    unknown labels are left out. A set of possible labels counts as the predicted label if it
    holds it, else as its first.
scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
    How labels spell segments, see :func:`sklearn_crcrf.labels.to_segments`.
reading : {"conlleval", "strict"}, default="conlleval"
    Whether labels that break the scheme are read as by the evaluation script of the CoNLL shared
    tasks, or make no segment.
sample_weight : array-like of shape (n_samples,), optional
    One weight per sequence (per token if ``y_true`` is one-dimensional: then a segment
    weighs what its first token does).

Raises
------
ValueError
    If the arguments differ in length or a label does not fit the scheme; the message names
    the sequence, and the position.
"""

from typing import Any, NamedTuple

import numpy as np

from ..labels.segments.label_sequences import factorize
from ..labels.segments.segments import Segments, find_segments
from ..utils.docstrings import entries_of, filling
from .flatten import Pair, ZeroDivision, divide, flatten

of_segments = filling(entries_of(__doc__ or ""))
"""A decorator of metrics of segments."""


class SegmentScores(NamedTuple):
    """Precision, recall and F1 of segments, and the number of true segments.

    Attributes
    ----------
    precision : float
        Share of the predicted segments that are true.
    recall : float
        Share of the true segments that are predicted.
    f1 : float
        Harmonic mean of precision and recall.
    support : float
        Number of true segments, or their weight.

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_precision_recall_f1
    >>> segment_precision_recall_f1([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    SegmentScores(precision=1.0, recall=0.5, f1=0.66..., support=2.0)
    """

    precision: float
    recall: float
    f1: float
    support: float


class SegmentCounts(NamedTuple):
    """Weighted numbers of segments, one entry per type."""

    types: list
    correct: np.ndarray
    predicted: np.ndarray
    true: np.ndarray

    def total(self) -> "SegmentCounts":
        """Return the counts of all types together."""
        return SegmentCounts([], self.correct.sum(), self.predicted.sum(), self.true.sum())


@of_segments
def segment_precision_recall_f1(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> SegmentScores:
    """Precision, recall and F1 of segments, counted over all types together.

    A predicted segment is correct if a true segment has the same start, end and type.

    Parameters
    ----------
    {y_true, y_pred}
    {scheme}
    {reading}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no segments; "warn" is 0.0 and a warning.

    Returns
    -------
    SegmentScores

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_precision_recall_f1
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "O"]]
    >>> segment_precision_recall_f1(y_true, y_pred)
    SegmentScores(precision=1.0, recall=0.5, f1=0.666..., support=2.0)
    """
    return scores(count(y_true, y_pred, scheme, reading, sample_weight).total(), zero_division)


@of_segments
def segment_precision(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Share of the predicted segments that are true, over all types.

    Parameters
    ----------
    {y_true, y_pred}
    {scheme}
    {reading}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no predicted segments; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_precision
    >>> segment_precision([["S-PER", "O"]], [["S-PER", "S-LOC"]], scheme="IOBES")
    0.5
    """
    counts = count(y_true, y_pred, scheme, reading, sample_weight)
    return _precision(counts.total(), zero_division)


@of_segments
def segment_recall(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Share of the true segments that are predicted, over all types.

    Parameters
    ----------
    {y_true, y_pred}
    {scheme}
    {reading}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no true segments; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_recall
    >>> segment_recall([["S-PER", "O"]], [["S-PER", "S-LOC"]], scheme="IOBES")
    1.0
    """
    counts = count(y_true, y_pred, scheme, reading, sample_weight)
    return _recall(counts.total(), zero_division)


@of_segments
def segment_f1(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Harmonic mean of the precision and recall of segments, over all types.

    Parameters
    ----------
    {y_true, y_pred}
    {scheme}
    {reading}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no segments at all; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_f1
    >>> segment_f1([["S-PER", "O"]], [["S-PER", "S-LOC"]], scheme="IOBES")
    0.666...
    """
    counts = count(y_true, y_pred, scheme, reading, sample_weight)
    return _f1(counts.total(), zero_division)


def count(y_true: Any, y_pred: Any, scheme: str, reading: str, sample_weight: Any) -> SegmentCounts:
    """Count true, predicted and correct segments of every type."""
    pair = flatten(y_true, y_pred, sample_weight)
    true, pred = segments_of(pair, scheme, reading)
    types, kind = factorize(np.concatenate([true.type, pred.type]))
    true_kind, pred_kind = kind[: len(true.type)], kind[len(true.type) :]
    true_start = pair.true.offsets[true.sequence] + true.start
    pred_start = pair.pred.offsets[pred.sequence] + pred.start

    _, i, j = np.intersect1d(true_start, pred_start, assume_unique=True, return_indices=True)
    same = (true.end[i] == pred.end[j]) & (true_kind[i] == pred_kind[j])
    hits = i[same]

    def weigh(kind: np.ndarray, start: np.ndarray) -> np.ndarray:
        return np.bincount(kind, weights=pair.weight[start], minlength=len(types))

    return SegmentCounts(
        types,
        correct=weigh(true_kind[hits], true_start[hits]),
        predicted=weigh(pred_kind, pred_start),
        true=weigh(true_kind, true_start),
    )


def segments_of(pair: Pair, scheme: str, reading: str) -> tuple[Segments, Segments]:
    """Return true and predicted segments, without segments of which no label is known."""
    # Predicted labels come first: unknown true labels were completed from them.
    pred = find_segments(pair.pred, scheme, reading, "y_pred")
    true = find_segments(pair.true, scheme, reading, "y_true")
    if pair.is_known.all():
        return true, pred
    n_known = np.append(0, np.cumsum(pair.is_known))
    of_both = []
    for found in (true, pred):
        origin = pair.true.offsets[found.sequence]
        has_known = n_known[origin + found.end] > n_known[origin + found.start]
        of_both.append(Segments(*(values[has_known] for values in found)))
    return of_both[0], of_both[1]


def _precision(counts: SegmentCounts, zero_division: ZeroDivision) -> Any:
    return divide(counts.correct, counts.predicted, zero_division, "segment precision")


def _recall(counts: SegmentCounts, zero_division: ZeroDivision) -> Any:
    return divide(counts.correct, counts.true, zero_division, "segment recall")


def _f1(counts: SegmentCounts, zero_division: ZeroDivision) -> Any:
    both = counts.true + counts.predicted
    return divide(2 * counts.correct, both, zero_division, "segment F1")


def scores(counts: SegmentCounts, zero_division: ZeroDivision) -> Any:
    """Return scores of one count, or arrays of scores of the counts of all types."""
    support: Any = counts.true if np.ndim(counts.true) else float(counts.true)
    return SegmentScores(
        _precision(counts, zero_division),
        _recall(counts, zero_division),
        _f1(counts, zero_division),
        support,
    )
