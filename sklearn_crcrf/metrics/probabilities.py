"""Metrics of predicted probabilities."""

from typing import Any

import numpy as np

from ..base.weights import places_of
from ..data.missing import are_missing
from ..data.ragged import SequenceArray, locate
from ..labels.partial import encode_partial_labels
from ..labels.segments.label_sequences import label_sequences
from .flatten import check_same_layout, label_list, token_weights
from .tokens import of_tokens


@of_tokens
def token_log_loss(y_true: Any, y_proba: Any, classes: Any, *, sample_weight: Any = None) -> float:
    """Mean negative log-probability of the true labels of the tokens.

    Parameters
    ----------
    y_true : list of label lists, SequenceArray or 1-D array
        True labels. None, or a missing value, marks an unknown label, which is left out; the
        probability of a set of possible labels is the sum of their probabilities.
    y_proba : list of 2-D arrays, SequenceArray or 2-D array of shape (n_tokens, n_labels)
        The probability of every label at every token, as ``predict_proba`` returns it. The
        probability of the true label is clipped from below at the machine epsilon of its type,
        so that the loss stays finite.
    classes : array-like of shape (n_labels,)
        The labels of the columns.
    {sample_weight}

    Returns
    -------
    float
        At least 0, in nats per token.

    Raises
    ------
    ValueError
        If a true label is not among the classes, the probabilities of a token do not sum to
        one, or the shapes do not agree; the message names the sequence and the position. Also
        if no token has a known label and a positive weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.metrics import token_log_loss
    >>> proba = [np.array([[0.5, 0.5], [0.25, 0.75]])]
    >>> round(token_log_loss([["D", "N"]], proba, ["D", "N"]), 4)
    0.4904
    """
    true, proba = label_sequences(y_true, "y_true"), as_probabilities(y_proba)
    weight = token_weights(sample_weight, y_true, true)
    is_known = ~are_missing(true.data)
    if weight[is_known].sum() == 0:
        raise ValueError(
            "y_true has no tokens with a known label and a positive weight: the log loss is "
            "undefined"
        )
    check_same_layout(true, proba, "y_proba")
    classes = label_list(classes, "classes")
    check_probabilities(proba, len(classes))
    gold = gold_probabilities(true, proba, classes)[is_known]
    smallest = np.finfo(proba.data.dtype).eps
    losses = -np.log(np.clip(gold, smallest, 1.0))
    return float(np.average(losses, weights=weight[is_known]))


def as_probabilities(y_proba: Any) -> SequenceArray:
    if isinstance(y_proba, SequenceArray):
        proba = y_proba
    elif isinstance(y_proba, np.ndarray) and y_proba.ndim == 2:
        proba = SequenceArray(y_proba, [0, len(y_proba)])
    else:
        proba = SequenceArray.from_sequences([np.asarray(rows) for rows in y_proba])
    if len(proba.data) and proba.data.ndim != 2:
        raise ValueError("y_proba must hold one row of probabilities per token")
    return proba


def check_probabilities(proba: SequenceArray, n_labels: int) -> None:
    if proba.data.shape[1] != n_labels:
        raise ValueError(f"y_proba has {proba.data.shape[1]} columns for {n_labels} classes")
    if proba.data.dtype.kind != "f":
        raise ValueError(f"y_proba must be floating-point, got {proba.data.dtype}")
    tolerance = np.sqrt(np.finfo(proba.data.dtype).eps)
    total = proba.data.sum(axis=1)
    proper = (np.abs(total - 1) <= tolerance) & (proba.data.min(axis=1) >= -tolerance)
    if not proper.all():
        token = int(np.argmin(proper))
        sequence, position = locate(proba.offsets, token)
        raise ValueError(
            f"y_proba: the row at position {position} of sequence {sequence} is not a probability "
            f"distribution: its sum is {total[token]}"
        )


def gold_probabilities(
    true: SequenceArray, proba: SequenceArray, classes: np.ndarray
) -> np.ndarray:
    """Return the probability of the true label, or set of labels, of each token; 1 if unknown."""
    is_missing = are_missing(true.data)
    if is_missing.any():
        true = true.with_data(np.where(is_missing, None, true.data))
    in_order, ids, allowed = encode_partial_labels(true, classes, "y_true")
    columns = places_of(in_order, classes)
    gold = proba.data[np.arange(len(ids)), columns[ids]].astype(np.float64)
    if allowed is not None:
        partial = ids < 0
        of_sets = (proba.data[partial][:, columns] * allowed[partial]).sum(axis=1)
        gold[partial] = of_sets
    return gold
