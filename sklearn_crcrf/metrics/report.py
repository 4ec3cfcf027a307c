"""The tables of scores by type of segment, and by label."""

from numbers import Integral
from typing import Any, Literal, overload

import numpy as np
from sklearn.metrics import classification_report
from sklearn.utils import check_scalar

from .flatten import ZeroDivision, chosen, divide, flatten
from .segments import SegmentScores, count, of_segments, scores
from .tokens import encode, of_tokens


@overload
def segment_report(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = ...,
    reading: str = ...,
    sample_weight: Any = ...,
    digits: int = ...,
    output_dict: Literal[False] = ...,
    zero_division: ZeroDivision = ...,
) -> str: ...


@overload
def segment_report(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = ...,
    reading: str = ...,
    sample_weight: Any = ...,
    digits: int = ...,
    output_dict: Literal[True],
    zero_division: ZeroDivision = ...,
) -> dict[str, dict[str, float]]: ...


@of_segments
def segment_report(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: ZeroDivision = "warn",
) -> str | dict[str, dict[str, float]]:
    """Precision, recall and F1 of the segments of every type, and their averages.

    Parameters
    ----------
    {y_true, y_pred}
    {scheme}
    {reading}
    {sample_weight}
    digits : int, default=2
        Decimals of the text.
    output_dict : bool, default=False
        Return a dict in place of a text, like scikit-learn's ``classification_report``.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no segments; "warn" is 0.0 and a warning. NaN values are left out
        of the averages.

    Returns
    -------
    str or dict
        One row per type, then the micro average (over all segments), the macro average (the plain
        mean over types) and the weighted average (the mean weighted by support). The entries of a
        row are "precision", "recall", "f1-score" and "support".

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_report
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "B-LOC"], ["B-PER"]]
    >>> print(segment_report(y_true, y_pred))
                  precision    recall  f1-score   support
    <BLANKLINE>
             LOC       1.00      0.50      0.67         2
             PER       0.50      1.00      0.67         1
    <BLANKLINE>
       micro avg       0.67      0.67      0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    counts = count(y_true, y_pred, scheme, reading, sample_weight)
    by_type = scores(counts, zero_division)
    micro = scores(counts.total(), zero_division)
    alike = np.ones(len(counts.types))
    rows = {
        kind: SegmentScores(*values)
        for kind, values in zip(counts.types, zip(*by_type, strict=True), strict=True)
    }
    averages = {
        "micro avg": micro,
        "macro avg": _average(by_type, alike, micro.support, zero_division),
        "weighted avg": _average(by_type, counts.true, micro.support, zero_division),
    }
    if output_dict:
        names = ("precision", "recall", "f1-score", "support")
        return {
            row: dict(zip(names, map(float, values), strict=True))
            for row, values in {**rows, **averages}.items()
        }
    return _table(rows, averages, check_scalar(digits, "digits", Integral, min_val=0))


@overload
def token_report(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = ...,
    sample_weight: Any = ...,
    digits: int = ...,
    output_dict: Literal[False] = ...,
    zero_division: ZeroDivision = ...,
) -> str: ...


@overload
def token_report(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = ...,
    sample_weight: Any = ...,
    digits: int = ...,
    output_dict: Literal[True],
    zero_division: ZeroDivision = ...,
) -> dict[str, Any]: ...


@of_tokens
def token_report(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: ZeroDivision = "warn",
) -> str | dict[str, Any]:
    """Return scikit-learn's ``classification_report`` on all tokens.

    Parameters
    ----------
    {y_true, y_pred}
    labels : list of labels, optional
        The rows, for example all but "O". By default all labels that occur, sorted.
    {sample_weight}
    digits : int, default=2
        Decimals of the text.
    output_dict : bool, default=False
        Return a dict in place of a text.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value for a label without true or predicted tokens; "warn" is 0.0 and a warning.

    Returns
    -------
    str or dict
        One row per label with precision, recall, F1 and number of true tokens, then the accuracy,
        or the micro average where ``labels`` leaves some out, and the macro and weighted averages.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import token_report
    >>> y_true, y_pred = [["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]]
    >>> token_report(y_true, y_pred, output_dict=True, zero_division=0.0)["N"]["recall"]
    1.0
    >>> print(token_report(y_true, y_pred, labels=["D", "N"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
               D       1.00      1.00      1.00         1
               N       0.67      1.00      0.80         2
    <BLANKLINE>
       micro avg       0.75      1.00      0.86         3
       macro avg       0.83      1.00      0.90         3
    weighted avg       0.78      1.00      0.87         3
    <BLANKLINE>
    """
    pair = flatten(y_true, y_pred, sample_weight)
    true, pred, ids, different = encode(pair, labels)
    if len(ids) == 0 or not pair.is_known.any():
        raise ValueError("y_true has no token with a known label, so there is nothing to report")
    return classification_report(
        true,
        pred,
        labels=ids,
        target_names=[str(different[i]) for i in ids.tolist()],
        sample_weight=None if sample_weight is None else chosen(pair.weight, pair.is_known),
        digits=check_scalar(digits, "digits", Integral, min_val=0),
        output_dict=output_dict,
        zero_division=zero_division,
    )


def _average(
    by_type: SegmentScores, weight: np.ndarray, support: float, zero_division: ZeroDivision
) -> SegmentScores:
    averages = []
    for values in by_type[:3]:
        there = ~np.isnan(values)
        total = weight[there].sum()
        averages.append(
            divide((weight * values)[there].sum(), total, zero_division, "average of segments")
        )
    precision, recall, f1 = averages
    return SegmentScores(precision, recall, f1, support)


def _table(rows: dict[str, SegmentScores], averages: dict[str, SegmentScores], digits: int) -> str:
    width = max(len(row) for row in (*rows, *averages))
    lines = [f"{'':>{width}}  precision    recall  f1-score   support", ""]
    for block in (rows, averages):
        for row, (*values, support) in block.items():
            cells = "".join(f" {value:>9.{digits}f}" for value in values)
            lines.append(f"{row:>{width}} {cells} {support:>9.15g}")
        lines.append("")
    return "\n".join(lines)
