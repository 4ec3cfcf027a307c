"""Metrics that count spans of characters."""

from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from ..labels.segments.schemes import check_option
from ..utils.names import check_several, shown
from .flatten import ZeroDivision, divide
from .segments import SegmentScores

MATCHES = ("exact", "overlap")


def span_precision_recall_f1(
    y_true: Any,
    y_pred: Any,
    *,
    match: str = "exact",
    zero_division: ZeroDivision = "warn",
) -> SegmentScores:
    """Precision, recall and F1 of spans of characters, counted over all labels together.

    Parameters
    ----------
    y_true, y_pred : list of lists of (start, end, label)
        True and predicted spans of each document. More entries, such as a probability, are ignored.
    match : {"exact", "overlap"}, default="exact"
        When a span is correct: if one of the same label has the same characters, or if one of the
        same label has a character in common.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no spans; "warn" is 0.0 and a warning.

    Returns
    -------
    SegmentScores

    Raises
    ------
    ValueError
        If there is not one list for each document, or a span is not (start, end, label).

    Examples
    --------
    >>> from sklearn_crcrf.metrics import span_precision_recall_f1
    >>> true, predicted = [[(0, 11, "PER"), (21, 26, "LOC")]], [[(0, 5, "PER")]]
    >>> span_precision_recall_f1(true, predicted, zero_division=0.0)
    SegmentScores(precision=0.0, recall=0.0, f1=0.0, support=2.0)
    >>> span_precision_recall_f1(true, predicted, match="overlap")
    SegmentScores(precision=1.0, recall=0.5, f1=0.666..., support=2.0)
    """
    check_option("match", match, MATCHES)
    check_several(y_true, "y_true")
    check_several(y_pred, "y_pred")
    y_true, y_pred = list(y_true), list(y_pred)
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} documents, but y_pred has {len(y_pred)}")
    found, right, n_true, n_pred = 0, 0, 0, 0
    for given, predicted in zip(y_true, y_pred, strict=True):
        true, pred = _by_label(given, "y_true"), _by_label(predicted, "y_pred")
        n_true += sum(map(len, true.values()))
        n_pred += sum(map(len, pred.values()))
        for label in true.keys() & pred.keys():
            if match == "exact":
                n = (Counter(true[label]) & Counter(pred[label])).total()
                found, right = found + n, right + n
            else:
                found += _n_touched(true[label], pred[label])
                right += _n_touched(pred[label], true[label])
    precision = divide(right, n_pred, zero_division, "span precision")
    recall = divide(found, n_true, zero_division, "span recall")
    f1: Any
    if n_true + n_pred == 0:
        f1 = divide(0, 0, zero_division, "span F1")
    else:
        both = found * n_pred + right * n_true
        f1 = 2 * found * right / both if both else 0.0
    return SegmentScores(precision, recall, f1, float(n_true))


def _by_label(spans: Iterable, name: str) -> dict[Any, list[tuple[int, int]]]:
    check_several(spans, f"{name}: the spans of a document")
    found: dict[Any, list[tuple[int, int]]] = {}
    for span in spans:
        place = span[:2] if isinstance(span, tuple | list) and len(span) > 2 else ()
        if [isinstance(value, Integral) for value in place] != [True, True]:
            raise ValueError(f"{name}: a span must be (start, end, label), got {shown(span)}")
        found.setdefault(span[2], []).append((place[0], place[1]))
    return found


def _n_touched(spans: list[tuple[int, int]], others: list[tuple[int, int]]) -> int:
    """Count the spans that have a character in common with one of the others."""
    starts, ends = np.array(sorted(others)).T
    latest = np.append(-1, np.maximum.accumulate(ends))
    start, end = np.array(spans).T
    return int((latest[np.searchsorted(starts, end)] > start).sum())
