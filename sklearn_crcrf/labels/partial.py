"""Partial labels: None for unknown, sets of possible labels."""

from itertools import chain
from typing import Any

import numpy as np

from ..data.layout import check_one_per_token
from ..data.missing import are_missing, is_missing, unhashable, unusual_types
from ..data.ragged import SequenceArray, object_array, token_name
from ..utils.memory import require_memory
from ..utils.names import shown
from .encoding import (
    InvalidLabelError,
    LabelIds,
    as_python,
    check_meant,
    find_labels,
    number_labels,
    number_values,
    refuse_ignored,
    require_label_pairs,
    sort_labels,
)

_ANY = object()  # stands for None: any label


def encode_partial_labels(
    y: SequenceArray, classes: Any = None, name: str = "y"
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Number labels, some of which may be partial.

    Parameters
    ----------
    y : SequenceArray of one-dimensional data
        Labels; None marks an unknown label, a set or frozenset lists the possible ones.
    classes : array-like of labels, optional
        All possible labels; by default the labels that occur, alone or in a set.
    name : str
        Name of the labels in error messages.

    Returns
    -------
    classes : ndarray of shape (n_labels,)
        The labels in order, as :func:`encode_labels` returns them.
    ids : ndarray of shape (n_tokens,), int32
        Label ids, -1 for None and for sets.
    allowed : ndarray of shape (n_tokens, n_labels), bool, or None
        Which labels a token may have; None if all labels are known.

    Raises
    ------
    ValueError
        If a label is NaN or not hashable, is an empty set, or is not among the classes; the
        message says where. Also if ``classes`` is None and all labels are None.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> y = SequenceArray.from_sequences([["N", None], [{"N", "V"}]])
    >>> classes, ids, allowed = encode_partial_labels(y)
    >>> classes, ids
    (array(['N', 'V'], dtype='<U1'), array([ 0, -1, -1], dtype=int32))
    >>> allowed
    array([[ True, False],
           [ True,  True],
           [ True,  True]])
    """
    check_one_per_token(y, name)
    if classes is not None:
        classes, _ = LabelIds(classes).classes([])
    complete = _number_complete(y.data)
    if complete is None:
        return _encode_options(y, classes, name)
    if classes is None:
        check_meant(complete[0].tolist(), y, name)
        return *complete, None
    return classes, find_labels(_columns(classes), *complete, y, name), None


def encode_allowed(allowed: SequenceArray, classes: np.ndarray) -> np.ndarray:
    """Say which labels every token may have.

    Parameters
    ----------
    allowed : SequenceArray of 1-D data
        For every token of X a label, a set or frozenset of labels, or None for any label.
    classes : ndarray of shape (n_labels,)

    Returns
    -------
    ndarray of shape (n_tokens, n_labels), bool
        Columns as in ``classes``.

    Raises
    ------
    ValueError
        If an entry is an empty set or names a label that is not among the classes; the message
        says where.

    Examples
    --------
    >>> allowed = SequenceArray.from_sequences([["N", None]])
    >>> encode_allowed(allowed, np.array(["N", "V"]))
    array([[ True, False],
           [ True,  True]])
    """
    return _encode_options(allowed, classes, "allowed")[2]


def label_columns(y: SequenceArray, classes: np.ndarray) -> np.ndarray:
    """Return the places of labels among classes.

    Parameters
    ----------
    y : SequenceArray of one-dimensional data
        As for :func:`encode_partial_labels`.
    classes : ndarray of shape (n_labels,)

    Returns
    -------
    ndarray of shape (n_tokens,), int64
        -1 for labels that are partial or not among the classes.

    Examples
    --------
    >>> y = SequenceArray.from_sequences([["N", None], ["D"]])
    >>> label_columns(y, np.array(["N", "V"]))
    array([ 0, -1, -1])
    """
    labels, ids, _ = encode_partial_labels(y)
    column = _columns(classes)
    return np.array([*(column.get(label, -1) for label in labels.tolist()), -1])[ids]


def _number_complete(data: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Classes and ids, or None if not all labels are known."""
    # Numbering is the quickest test for strings, the usual labels: it fails for None.
    try:
        classes, ids = number_labels(data)
    except InvalidLabelError:
        return None
    has_sets = any(isinstance(label, frozenset) for label in classes.tolist())
    return None if has_sets else (classes, ids)


def _encode_options(
    y: SequenceArray, classes: np.ndarray | None, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes, ids and allowed labels of all tokens, found once for each different option."""
    options, option_of_token = _number_options(y, name)
    named = [_labels_of(option) for option in options]
    if classes is None:
        labels = list(dict.fromkeys(chain.from_iterable(named)))
        check_meant(labels, y, name)
        classes, _ = sort_labels(labels)
        if len(classes) == 0:
            raise ValueError(f"{name}: all labels are None, so the classes are unknown")
    require_label_pairs(len(classes), name)
    require_memory(
        float(len(y.data) * len(classes)),
        f"{name} has {len(classes):,} different labels; the possible labels of all tokens",
        "give fewer sequences at a time, or only known labels",
    )
    columns = _columns(classes)
    allowed = np.zeros((len(options), len(classes)), dtype=bool)
    for i, labels in enumerate(named):
        unknown = [label for label in labels if label not in columns]
        if unknown:
            where = token_name(name, y.offsets, int(np.argmax(option_of_token == i)))
            raise ValueError(
                f"{where}: the label {shown(unknown[0])} is not among the classes {list(columns)}"
            )
        allowed[i, [columns[label] for label in labels]] = True
    allowed[[option is _ANY for option in options]] = True
    is_known = [option is not _ANY and not isinstance(option, frozenset) for option in options]
    ids = np.where(is_known, allowed.argmax(axis=1), -1).astype(np.int32)
    return classes, ids[option_of_token], allowed[option_of_token]


def _number_options(y: SequenceArray, name: str) -> tuple[list, np.ndarray]:
    """Return the different options (labels, frozensets and _ANY), and the option of each token."""
    options = object_array(
        [
            _ANY if label is None else frozenset(label) if isinstance(label, set) else label
            for label in y.data.tolist()
        ]
    )
    try:
        different, ids = number_values(options)
        for i, option in enumerate(different):
            is_set = isinstance(option, frozenset)
            if (is_set and not option) or any(map(is_missing, option if is_set else [option])):
                raise InvalidLabelError(int(np.argmax(ids == i)))
    except InvalidLabelError as error:
        raise ValueError(
            f"{token_name(name, y.offsets, error.token)}: it must be a label, hashable and not "
            "NaN, or a set of one or more labels, or None, but is "
            f"{shown(y.data[error.token])}"
        ) from None
    return different, ids


def _labels_of(option: Any) -> list:
    """Return the labels that an option names; _ANY names none."""
    if option is _ANY:
        return []
    return [as_python(label) for label in option] if isinstance(option, frozenset) else [option]


def _columns(classes: np.ndarray) -> dict[Any, int]:
    return {label: j for j, label in enumerate(classes.tolist())}


def known_labels(y: SequenceArray, weights: np.ndarray) -> tuple[SequenceArray, np.ndarray]:
    """Labels without None, and weights of the tokens that leave these tokens out.

    Parameters
    ----------
    y : SequenceArray of one-dimensional data
        Labels; None marks an unknown label.
    weights : ndarray of shape (n_tokens,)

    Returns
    -------
    y : SequenceArray
        With the first known label in the place of None.
    weights : ndarray of shape (n_tokens,)
        With zero in the place of None.

    Raises
    ------
    ValueError
        If all labels are None.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> y, weights = known_labels(SequenceArray.from_sequences([["N", None]]), np.ones(2))
    >>> y.tolist(), weights
    ([['N', 'N']], array([1., 0.]))
    """
    if y.data.ndim != 1 or type(None) not in unusual_types(y.data):
        return y, weights
    is_known = np.array([label is not None for label in y.data.tolist()])
    if not is_known.any():
        raise ValueError("y: all labels are None, so nothing can be learned")
    known = y.data[np.argmax(is_known)]
    return y.with_data(np.where(is_known, y.data, known)), np.where(is_known, weights, 0.0)


def completed(
    true: SequenceArray, pred: SequenceArray, name: str = "y"
) -> tuple[SequenceArray, np.ndarray]:
    """Complete partial labels so that they agree with predictions wherever they can.

    Parameters
    ----------
    true, pred : SequenceArray of 1-D data, with the same offsets
        In ``true``, None and missing values mark unknown labels, and a set or frozenset lists the
        possible ones.
    name : str
        Name of ``true`` in error messages.

    Returns
    -------
    completed : SequenceArray
        A set becomes the predicted label if it holds it, or is that label itself, else its first
        label in increasing order; an unknown label becomes the predicted label.
    is_known : ndarray of shape (n_tokens,), bool
        False for unknown labels.

    Raises
    ------
    ValueError
        If a set is empty, a label is not hashable, or -100 is among labels from 0 on.
    TypeError
        If a label that is looked for in a set is not hashable.

    Examples
    --------
    >>> true = SequenceArray.from_sequences([["N", None, {"N", "V"}, {"N", "V"}]])
    >>> pred = SequenceArray.from_sequences([["V", "V", "V", "D"]])
    >>> labels, is_known = completed(true, pred)
    >>> labels.tolist(), is_known
    ([['N', 'V', 'V', 'N']], array([ True, False,  True,  True]))
    """
    if not unusual_types(true.data):
        return true, np.ones(len(true.data), dtype=bool)
    items = true.data.tolist()
    labels = [None if isinstance(item, set) else item for item in items]
    token = unhashable(labels)
    if token is not None:
        where = token_name(name, true.offsets, token)
        raise ValueError(f"{where}: the label {shown(labels[token])} is not hashable")
    refuse_ignored(set(labels), true, name)
    is_known = ~are_missing(true.data)
    sets = [(t, item) for t, item in enumerate(items) if isinstance(item, (set, frozenset))]
    if is_known.all() and not sets:
        return true, is_known
    data = true.data.astype(object)
    data[~is_known] = pred.data[~is_known]
    predicted = pred.data.tolist()
    for token, options in sets:
        if not options:
            where = token_name(name, true.offsets, token)
            raise ValueError(f"{where}: the set of possible labels is empty")
        if predicted[token] in options or predicted[token] == options:
            data[token] = predicted[token]
        else:
            data[token] = sort_labels([as_python(label) for label in options])[0].tolist()[0]
    return true.with_data(data), is_known
