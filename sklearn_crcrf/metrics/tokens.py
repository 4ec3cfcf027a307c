"""Metrics that count tokens, or whole sequences.

The docstrings of metrics of tokens share these entries.

Parameters
----------
y_true, y_pred : list of label lists, SequenceArray or 1-D array
    True and predicted labels. An unknown true label, None or a missing value, is left out; a
    set of possible labels counts as the predicted label if it holds it, else as its first.
known : list of bool lists, SequenceArray or 1-D array of bool
    Whether each token was seen in training, in the layout of ``y_true``.
sample_weight : array-like of shape (n_samples,), optional
    One weight per sequence (per token if ``y_true`` is one-dimensional).

Raises
------
ValueError
    If the arguments differ in length; the message names the sequence.
"""

from typing import Any, Literal

import numpy as np
from sklearn.metrics import confusion_matrix, f1_score

from ..labels.segments.label_sequences import factorize, label_sequences, naming_unhashable
from ..utils.docstrings import entries_of, filling
from .flatten import (
    Pair,
    ZeroDivision,
    are_equal,
    check_same_layout,
    chosen,
    divide,
    flatten,
    label_list,
    sample_lengths,
    sample_weights,
)

of_tokens = filling(entries_of(__doc__ or ""))
"""A decorator of metrics of tokens."""


@of_tokens
def token_accuracy(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, zero_division: ZeroDivision = "warn"
) -> float:
    """Share of tokens with the right label.

    Parameters
    ----------
    {y_true, y_pred}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no tokens; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import token_accuracy
    >>> token_accuracy([["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]])
    0.75
    """
    pair = flatten(y_true, y_pred, sample_weight)
    return _accuracy_where(pair, pair.is_known, zero_division, "token_accuracy")


@of_tokens
def known_accuracy(
    y_true: Any,
    y_pred: Any,
    known: Any,
    *,
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Share of known tokens with the right label.

    Parameters
    ----------
    {y_true, y_pred}
    {known}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if no token is known; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import known_accuracy
    >>> known_accuracy([["D", "N", "V"]], [["D", "V", "N"]], [[True, True, False]])
    0.5
    """
    pair = flatten(y_true, y_pred, sample_weight)
    return _accuracy_where(
        pair, pair.is_known & _mask(known, pair), zero_division, "known_accuracy"
    )


@of_tokens
def unknown_accuracy(
    y_true: Any,
    y_pred: Any,
    known: Any,
    *,
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> float:
    """Share of unknown tokens with the right label.

    Parameters
    ----------
    {y_true, y_pred}
    {known}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if every token is known; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import unknown_accuracy
    >>> unknown_accuracy([["D", "N", "V"]], [["D", "V", "V"]], [[True, True, False]])
    1.0
    """
    pair = flatten(y_true, y_pred, sample_weight)
    return _accuracy_where(
        pair, pair.is_known & ~_mask(known, pair), zero_division, "unknown_accuracy"
    )


@of_tokens
def sequence_accuracy(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, zero_division: ZeroDivision = "warn"
) -> float:
    """Share of sequences without a single wrong label.

    Parameters
    ----------
    y_true, y_pred : list of label lists, SequenceArray or 1-D array
        True and predicted labels; the tokens of a one-dimensional array are sequences of
        length one. An unknown true label, None or a missing value, is right, and so is a set of
        possible labels that holds the predicted one.
    sample_weight : array-like of shape (n_sequences,), optional
        Weights of the sequences.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value if there are no sequences; "warn" is 0.0 and a warning.

    Returns
    -------
    float
        Between 0 and 1. An empty sequence counts as right; a sequence of nothing but unknown labels
        is left out.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import sequence_accuracy
    >>> sequence_accuracy([["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]])
    0.5
    """
    pair = flatten(y_true, y_pred)
    lengths = sample_lengths(y_true, pair.true)
    right, total = right_sequences(pair, lengths, sample_weights(sample_weight, len(lengths)))
    return divide(right, total, zero_division, "sequence_accuracy")


@of_tokens
def token_f1(
    y_true: Any,
    y_pred: Any,
    *,
    average: Literal["weighted", "micro", "macro"] | None = "weighted",
    labels: Any = None,
    sample_weight: Any = None,
    zero_division: ZeroDivision = "warn",
) -> float | np.ndarray:
    """F1 of the labels of tokens: scikit-learn's ``f1_score`` on all tokens.

    Parameters
    ----------
    {y_true, y_pred}
    average : {"weighted", "micro", "macro"} or None, default="weighted"
        How to average over labels: weighted by the number of true tokens, over all tokens
        together, or as the plain mean; None returns one value per label.
    labels : list of labels, optional
        The labels to count, for example all but "O". By default all labels that occur, sorted.
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value for a label without true and predicted tokens; "warn" is 0.0 and a warning.

    Returns
    -------
    float, or ndarray of shape (n_labels,) if ``average`` is None
        Between 0 and 1.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import token_f1
    >>> y_true, y_pred = [["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]]
    >>> token_f1(y_true, y_pred, average="micro")
    0.75
    >>> token_f1(y_true, y_pred, average=None, labels=["N"])
    array([0.8])
    """
    pair = flatten(y_true, y_pred, sample_weight)
    true, pred, ids, _ = encode(pair, labels)
    if len(ids) == 0:
        return np.empty(0) if average is None else divide(0, 0, zero_division, "token_f1")
    return f1_score(
        true,
        pred,
        labels=ids,
        average=average,
        sample_weight=chosen(pair.weight, pair.is_known),
        zero_division=zero_division,
    )


@of_tokens
def token_confusion_matrix(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    normalize: Literal["true", "pred", "all"] | None = None,
) -> np.ndarray:
    """Return numbers of tokens by true and predicted label: ``confusion_matrix`` on all tokens.

    Parameters
    ----------
    {y_true, y_pred}
    labels : list of labels, optional
        The rows and columns. By default all labels that occur, sorted.
    {sample_weight}
    normalize : {"true", "pred", "all"}, optional
        Divide by the sums of the rows, of the columns, or of the matrix.

    Returns
    -------
    ndarray of shape (n_labels, n_labels)
        Rows are true labels, columns predicted labels.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import token_confusion_matrix
    >>> token_confusion_matrix([["D", "N"], ["N"]], [["D", "N"], ["D"]])
    array([[1, 0],
           [1, 1]])
    """
    pair = flatten(y_true, y_pred, sample_weight)
    true, pred, ids, _ = encode(pair, labels)
    if len(true) == 0:
        return np.zeros((len(ids), len(ids)), dtype=np.int64)
    weight = None if sample_weight is None else chosen(pair.weight, pair.is_known)
    return confusion_matrix(true, pred, labels=ids, sample_weight=weight, normalize=normalize)


def encode(pair: Pair, labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, list]:
    """Encode known labels, and ``labels``, as integers, which scikit-learn handles faster.

    Returns
    -------
    true, pred : int ndarray of shape (n_known_tokens,)
    ids : int ndarray
        The numbers of ``labels``, or of all labels that occur.
    different : list
        The label of each number.
    """
    true, pred = (chosen(labels.data, pair.is_known) for labels in (pair.true, pair.pred))
    n_tokens = len(true)
    everything = [true, pred] if labels is None else [true, pred, label_list(labels, "labels")]
    if len({values.dtype.kind for values in everything}) > 1:
        everything = [values.astype(object) for values in everything]
    with naming_unhashable(y_true=pair.true, y_pred=pair.pred):
        distinct, codes = factorize(np.concatenate(everything))
    ids = np.arange(len(distinct)) if labels is None else codes[2 * n_tokens :]
    return codes[:n_tokens], codes[n_tokens : 2 * n_tokens], ids, distinct


def right_sequences(
    pair: Pair, lengths: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the samples without a wrong label, and of all that have a known label."""
    sample_of_token = np.repeat(np.arange(len(lengths)), lengths)
    wrong, right, total = ~are_equal(pair), np.ones(len(lengths), dtype=bool), weight.sum()
    if not pair.is_known.all():
        wrong &= pair.is_known
        right = lengths == 0
        right[sample_of_token[pair.is_known]] = True
        total = weight[right].sum()
    right[sample_of_token[wrong]] = False
    return weight[right].sum(), total


def _mask(known: Any, pair: Pair) -> np.ndarray:
    mask = label_sequences(known, "known")
    check_same_layout(pair.true, mask, "known")
    return mask.data.astype(bool)


def _accuracy_where(
    pair: Pair, mask: np.ndarray, zero_division: ZeroDivision, metric: str
) -> float:
    hits = pair.weight[mask & are_equal(pair)]
    return divide(hits.sum(), chosen(pair.weight, mask).sum(), zero_division, metric)
