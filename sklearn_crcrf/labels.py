"""Labels as integers."""

from typing import Any

import numpy as np

from .sequences import SequenceArray, locate
from .vocabulary import InvalidTokenError, Vocabulary

__all__ = ["LabelIds", "encode_labels", "sort_labels"]


def encode_labels(y: SequenceArray) -> tuple[np.ndarray, np.ndarray]:
    """Number the labels of all tokens.

    Parameters
    ----------
    y : SequenceArray of one-dimensional data
        Any hashable labels.

    Returns
    -------
    classes : ndarray of shape (n_labels,)
        The labels in increasing order; what cannot be compared is ordered by type and text.
    ids : ndarray of shape (n_tokens,), int32

    Raises
    ------
    ValueError
        If a label is None or NaN, or not hashable; the message says where.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import SequenceArray
    >>> encode_labels(SequenceArray.from_sequences([["N", "V"], ["N"]]))
    (array(['N', 'V'], dtype='<U1'), array([0, 1, 0], dtype=int32))
    """
    data = y.data
    if data.ndim != 1:
        raise ValueError(f"y must have one label per token, but its data has shape {data.shape}")
    if data.dtype.kind in "fc" and np.isnan(data).any():
        raise _invalid(y, int(np.flatnonzero(np.isnan(data))[0]))
    if data.dtype.kind in "biuf":
        classes, ids = np.unique(data, return_inverse=True)
        return classes, ids.astype(np.int32)
    vocabulary = Vocabulary()
    try:
        ids = vocabulary.add(data)
    except InvalidTokenError:
        return _encode_objects(y)
    classes, rank = sort_labels(vocabulary.symbols)
    return classes, rank[ids]


def sort_labels(labels: list) -> tuple[np.ndarray, np.ndarray]:
    """Put different labels in order.

    Returns
    -------
    classes : ndarray of shape (n_labels,)
    rank : ndarray of shape (n_labels,), int32
        Where each label has gone.
    """
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        order = sorted(range(len(labels)), key=lambda i: (type(labels[i]).__name__, str(labels[i])))
    rank = np.empty(len(labels), dtype=np.int32)
    rank[order] = np.arange(len(labels), dtype=np.int32)
    ordered = [labels[i] for i in order]
    plain = {type(label) for label in ordered} in ({str}, {int}, {bool}, {float})
    return np.array(ordered) if plain else np.fromiter(ordered, object, len(ordered)), rank


class LabelIds:
    """Numbers labels in the order in which they come.

    Parameters
    ----------
    classes : array-like of labels, optional
        All labels there may be. Without them, new ones may come.
    """

    def __init__(self, classes: Any = None):
        self._labels = [] if classes is None else list(dict.fromkeys(np.asarray(classes).tolist()))
        self._declared = len(self._labels)
        self._closed = classes is not None

    def learn(self, y: SequenceArray) -> np.ndarray:
        """Ids of all labels; new ones are given the next ids.

        Raises
        ------
        ValueError
            If a label is new, but all labels were declared; the message says where.
        """
        new = [label for label in encode_labels(y)[0].tolist() if label not in self._labels]
        if not self._closed:
            self._labels += new
        return self.lookup(y)

    def lookup(self, y: SequenceArray) -> np.ndarray:
        """Ids of all labels, int32 of shape (n_tokens,); an unknown label is an error."""
        labels, ids = encode_labels(y)
        number = {label: i for i, label in enumerate(self._labels)}
        mapped = np.array([number.get(label, -1) for label in labels.tolist()], dtype=np.int32)
        unknown = np.flatnonzero(mapped[ids] < 0)
        if len(unknown):
            sequence, position = locate(y.offsets, int(unknown[0]))
            raise ValueError(
                f"y, sequence {sequence}, position {position}: the label "
                f"{y.data[unknown[0]]!r} is not among the classes {self._labels}"
            )
        return mapped[ids]

    def classes(self, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The labels that were declared or have these ids, in order.

        Returns
        -------
        classes : ndarray of shape (n_labels,)
        rank : ndarray of int32
            Where each id has gone, -1 for labels left out.
        """
        used = np.union1d(np.arange(self._declared), np.asarray(seen, dtype=np.int64))
        classes, order = sort_labels([self._labels[i] for i in used])
        rank = np.full(len(self._labels), -1, dtype=np.int32)
        rank[used] = order
        return classes, rank


def _encode_objects(y: SequenceArray) -> tuple[np.ndarray, np.ndarray]:
    numbers: dict[Any, int] = {}
    ids = np.empty(len(y.data), dtype=np.int32)
    for t, label in enumerate(y.data.tolist()):
        try:
            ids[t] = numbers.setdefault(label, len(numbers))
        except TypeError:
            raise _invalid(y, t) from None
        if label is None or label != label:
            raise _invalid(y, t)
    classes, rank = sort_labels(list(numbers))
    return classes, rank[ids]


def _invalid(y: SequenceArray, token: int) -> ValueError:
    sequence, position = locate(y.offsets, token)
    label = y.data[token]
    return ValueError(
        f"y, sequence {sequence}, position {position}: the label must be hashable, and neither "
        f"None nor NaN, but is {label!r}"
    )
