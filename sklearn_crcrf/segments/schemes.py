"""The meaning of labels in the schemes IOB1, IOB2 and IOBES."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PREFIXES", "SchemeLabels", "are_segments", "check_option", "read_labels", "scheme_of"]

PREFIXES = {"IOB1": "BI", "IOB2": "BI", "IOBES": "BIES"}


class SchemeLabels(NamedTuple):
    """Labels split into prefix and type.

    Attributes
    ----------
    prefix : ndarray of shape (n_labels,), str
        "O", "B", "I", "E" or "S".
    kind : ndarray of shape (n_labels,), int64
        Index of the type in ``types``, -1 for "O".
    types : ndarray of shape (n_types,), object
        In increasing order; "" for labels without a type.
    """

    prefix: np.ndarray
    kind: np.ndarray
    types: np.ndarray

    def open(self) -> np.ndarray:
        """The kind of segment that may continue after each label, -1 for none, (n_labels,)."""
        return np.where(np.isin(self.prefix, ["B", "I"]), self.kind, -1)

    def continues(self, previous: np.ndarray, current: np.ndarray) -> np.ndarray:
        """Whether a label continues the segment of the previous label.

        Parameters
        ----------
        previous, current : ndarray of int
            Label ids; the shapes are broadcast.

        Returns
        -------
        ndarray of bool
        """
        joins = np.where(np.isin(self.prefix, ["I", "E"]), self.kind, -2)
        return self.open()[previous] == joins[current]


def read_labels(
    labels: Iterable[Any],
    scheme: str,
    name: str = "classes",
    place: Callable[[int], str] = lambda i: "",
) -> SchemeLabels:
    """Split different labels into prefix and type.

    Parameters
    ----------
    labels : iterable of n_labels labels
    scheme : {"IOB1", "IOB2", "IOBES"}
    name : str
        Name of the labels in error messages.
    place : callable
        Returns the place of label number ``i`` for an error message.

    Returns
    -------
    SchemeLabels

    Raises
    ------
    ValueError
        If a label is neither "O" nor one of the prefixes of the scheme, followed by "-" and the
        type.

    Examples
    --------
    >>> from sklearn_crcrf.segments.schemes import read_labels
    >>> read_labels(["B-PER", "I-LOC", "O"], "IOB2")
    SchemeLabels(prefix=array(['B', 'I', 'O'], dtype='<U1'), kind=array([ 1,  0, -1]),
                 types=array(['LOC', 'PER'], dtype=object))
    """
    check_option("scheme", scheme, PREFIXES)
    labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    parsed = []
    for i, label in enumerate(labels):
        parts = _split(label, PREFIXES[scheme])
        if parts is None:
            raise ValueError(f"{name}: label {label!r}{place(i)} does not fit the scheme {scheme}")
        parsed.append(parts)
    types = sorted({kind for prefix, kind in parsed if prefix != "O"})
    place_of_type = {kind: i for i, kind in enumerate(types)}
    kind = [-1 if prefix == "O" else place_of_type[kind] for prefix, kind in parsed]
    return SchemeLabels(
        np.array([prefix for prefix, _ in parsed], dtype="U1"),
        np.array(kind, dtype=np.int64),
        np.array(types, dtype=object),
    )


def are_segments(labels: Iterable[Any]) -> bool:
    """Whether labels spell segments in one of the schemes.

    Parameters
    ----------
    labels : iterable of labels

    Returns
    -------
    bool
        False if no segment can begin or continue.

    Examples
    --------
    >>> from sklearn_crcrf.segments.schemes import are_segments
    >>> [are_segments(y) for y in (["B-PER", "I-PER", "O"], ["S-LOC", "O"], ["DET", "O"], ["O"])]
    [True, True, False, False]
    """
    parsed = [_split(label, "BIES") for label in labels]
    return None not in parsed and any(kind for _, kind in filter(None, parsed))


def scheme_of(labels: Iterable[Any]) -> str:
    """The scheme of labels of segments that are spelled in one way only.

    Parameters
    ----------
    labels : iterable of labels

    Returns
    -------
    {"IOB2", "IOBES"}
        IOBES if there is a label that IOB2 does not have.

    Examples
    --------
    >>> from sklearn_crcrf.segments.schemes import scheme_of
    >>> [scheme_of(y) for y in (["B-PER", "I-PER", "O"], ["S-LOC", "O"], ["O"])]
    ['IOB2', 'IOBES', 'IOB2']
    """
    parsed = [_split(label, "BIES") for label in labels]
    return "IOBES" if any(prefix in ("E", "S") for prefix, _ in filter(None, parsed)) else "IOB2"


def check_option(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise ValueError unless the value is one of the options."""
    if value not in tuple(options):
        raise ValueError(f"{name} must be one of {', '.join(options)}, got {value!r}")


def _split(label: Any, prefixes: str) -> tuple[str, str] | None:
    """Prefix and type of a label, or None if it does not fit."""
    if not isinstance(label, str):
        return None
    prefix, _, kind = label.partition("-")
    if label == "O" or (len(prefix) == 1 and prefix in prefixes):
        return prefix, kind
    return None
