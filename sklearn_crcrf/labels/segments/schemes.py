"""The schemes by which labels spell segments, and the meaning of labels in them."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...utils.names import shown


class Scheme(NamedTuple):
    """How the labels of tokens spell segments.

    A label is a letter, "-" and the type of the segment, or the bare letter for segments without
    types, or "O" outside segments. The letters of all schemes stand for four roles: ``B`` begins a
    segment, ``I`` is inside it, ``E`` ends it, and ``S`` is a segment of a single token.

    Attributes
    ----------
    roles : dict from letter to role
        Empty in IO, where a label is the type itself.
    written : str
        The letters of the first, inside, last and only token of a segment; IO does not use them.
    continuing : str
        Roles that only occur directly after a label of the same segment (in IOB1, of the same
        type).
    unfinished : str
        Roles that only occur directly before a label of the same segment.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.schemes import SCHEMES
    >>> SCHEMES["BILOU"].split("U-PER"), SCHEMES["BILOU"].label("U", "PER")
    (('S', 'PER'), 'U-PER')
    """

    roles: dict[str, str]
    written: str
    continuing: str
    unfinished: str

    def split(self, label: Any) -> tuple[str, str] | None:
        """Role and type of a label, ("O", "") outside segments, None if it does not fit."""
        if not isinstance(label, str) or not label:
            return None
        if label == "O":
            return "O", ""
        if not self.roles:
            return "I", label
        letter, separator, kind = label.partition("-")
        if letter not in self.roles or (separator and not kind):
            return None
        return self.roles[letter], kind

    def label(self, letter: str, kind: str) -> str:
        """Return the label with this letter of a token in a segment of this type."""
        if not self.roles:
            return kind
        return f"{letter}-{kind}" if kind else letter


_FOUR_ROLES = {"continuing": "IE", "unfinished": "BI"}

SCHEMES = {
    "IOB1": Scheme({"B": "B", "I": "I"}, "IIII", "B", ""),
    "IOB2": Scheme({"B": "B", "I": "I"}, "BIIB", "I", ""),
    "IOBES": Scheme({"B": "B", "I": "I", "E": "E", "S": "S"}, "BIES", **_FOUR_ROLES),
    "BIOES": Scheme({"B": "B", "I": "I", "E": "E", "S": "S"}, "BIES", **_FOUR_ROLES),
    "BILOU": Scheme({"B": "B", "I": "I", "L": "E", "U": "S"}, "BILU", **_FOUR_ROLES),
    "BMES": Scheme({"B": "B", "M": "I", "E": "E", "S": "S"}, "BMES", **_FOUR_ROLES),
    "IO": Scheme({}, "IIII", "", ""),
}
"""All schemes by name. In IO, a segment is a run of equal labels, which are bare types."""

ONE_TO_ONE = ("IOB2", "IOBES", "BIOES", "BILOU", "BMES")
"""The schemes in which each segmentation is spelled by one labelling, and no other."""

# The schemes that labels show by themselves, the most common first.
_DETECTABLE = ("IOB2", "IOBES", "BILOU", "BMES")


class SchemeLabels(NamedTuple):
    """Labels split into role and type.

    Attributes
    ----------
    role : ndarray of shape (n_labels,), str
        "O", "B", "I", "E" or "S", see :class:`Scheme`.
    kind : ndarray of shape (n_labels,), int64
        Index of the type in ``types``, -1 for "O".
    types : ndarray of shape (n_types,), object
        In increasing order; "" for labels without a type.
    """

    role: np.ndarray
    kind: np.ndarray
    types: np.ndarray

    def open(self) -> np.ndarray:
        """Find the kind of segment that may continue after each label, -1 for none, (n_labels,)."""
        return np.where((self.role == "B") | (self.role == "I"), self.kind, -1)

    def continues(self, previous: np.ndarray, current: np.ndarray) -> np.ndarray:
        """Say whether a label continues the segment of the previous label.

        Parameters
        ----------
        previous, current : ndarray of int
            Label ids; the shapes are broadcast.

        Returns
        -------
        ndarray of bool
        """
        joins = np.where((self.role == "I") | (self.role == "E"), self.kind, -2)
        return self.open()[previous] == joins[current]


def read_labels(
    labels: Iterable[Any],
    scheme: str,
    name: str = "classes",
    place: Callable[[int], str] = lambda i: "",
) -> SchemeLabels:
    """Split different labels into role and type.

    Parameters
    ----------
    labels : iterable of n_labels labels
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}
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
        If a label does not fit the scheme.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.schemes import read_labels
    >>> read_labels(["B-PER", "I-LOC", "O"], "IOB2")
    SchemeLabels(role=array(['B', 'I', 'O'], dtype='<U1'), kind=array([ 1,  0, -1]),
                 types=array(['LOC', 'PER'], dtype=object))
    """
    check_option("scheme", scheme, SCHEMES)
    labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    parsed = []
    for i, label in enumerate(labels):
        parts = SCHEMES[scheme].split(label)
        if parts is None:
            message = f"{name}: label {shown(label)}{place(i)} does not fit the scheme {scheme}"
            if isinstance(label, str) and label.endswith("-"):
                message += f"; there is no type after the '-', and {label[:-1]!r} needs none"
            elif not any(isinstance(other, str) and "-" in other for other in labels):
                message += "; labels without prefixes are of the scheme 'IO'"
            raise ValueError(message)
        parsed.append(parts)
    types = sorted({kind for role, kind in parsed if role != "O"})
    place_of_type = {kind: i for i, kind in enumerate(types)}
    kind = [-1 if role == "O" else place_of_type[kind] for role, kind in parsed]
    return SchemeLabels(
        np.array([role for role, _ in parsed], dtype="U1"),
        np.array(kind, dtype=np.int64),
        np.array(types, dtype=object),
    )


def detect_scheme(labels: Iterable[Any]) -> str | None:
    """Return the scheme that labels show by themselves.

    Parameters
    ----------
    labels : iterable of labels

    Returns
    -------
    {"IOB2", "IOBES", "BILOU", "BMES"} or None
        None if labels do not mark segments, or are the bare types of IO. Labels of IOB1 are
        taken for IOB2, which has the same letters.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.schemes import detect_scheme
    >>> [detect_scheme(y.split()) for y in ("B-PER I-PER O", "S-LOC O", "B M E S", "DET O", "O")]
    ['IOB2', 'IOBES', 'BMES', None, None]
    """
    labels = set(labels) - {"O"}
    for name in _DETECTABLE if labels else ():
        parsed = [SCHEMES[name].split(label) for label in labels]
        # Without a label that begins a segment, L, M and U are taken for something else.
        if None not in parsed and (
            name in ("IOB2", "IOBES") or any(role == "B" for role, _ in filter(None, parsed))
        ):
            return name
    return None


def are_segments(labels: Iterable[Any]) -> bool:
    """Say whether labels spell segments of some types in one of the schemes that can be detected.

    Parameters
    ----------
    labels : iterable of labels

    Returns
    -------
    bool
        False if no segment can begin or continue.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.schemes import are_segments
    >>> [are_segments(y) for y in (["B-PER", "I-PER", "O"], ["S-LOC", "O"], ["DET", "O"], ["O"])]
    [True, True, False, False]
    """
    labels = list(labels)
    scheme = detect_scheme(labels)
    return scheme is not None and any(read_labels(set(labels), scheme).types)


def scheme_of(labels: Iterable[Any]) -> str:
    """Return the scheme of labels of segments that are spelled in one way only.

    Parameters
    ----------
    labels : iterable of labels

    Returns
    -------
    {"IOB2", "IOBES", "BILOU", "BMES"}
        IOB2 for labels that show no scheme.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.schemes import scheme_of
    >>> [scheme_of(y) for y in (["B-PER", "I-PER", "O"], ["S-LOC", "O"], ["O"])]
    ['IOB2', 'IOBES', 'IOB2']
    """
    return detect_scheme(labels) or "IOB2"


def scheme_or_bare(scheme: str, labels: Iterable[Any]) -> str:
    """Return the scheme, or for "auto" the one that labels show: IO if they are bare types.

    Examples
    --------
    >>> from sklearn_crcrf.labels.segments.schemes import scheme_or_bare
    >>> [scheme_or_bare("auto", y) for y in (["B-X", "O"], ["S-X"], ["X", "O"])]
    ['IOB2', 'IOBES', 'IO']
    """
    return (detect_scheme(labels) or "IO") if scheme == "auto" else scheme


def check_option(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise ValueError unless the value is one of the options."""
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        meant = _scheme_of_letters(value) if isinstance(value, str) else None
        how = " if W is written as S" if meant and "W" in value.upper() else " here"
        hint = f"; {value!r} is {meant!r}{how}" if meant in options else ""
        raise ValueError(f"{name} must be one of {', '.join(options)}, got {value!r}{hint}")


def _scheme_of_letters(name: str) -> str | None:
    """Return the scheme that others call by its letters in another order, such as BIO for IOB2."""
    letters = name.upper().rstrip("12")
    if sorted(letters) == sorted("IOB") and name.endswith("1"):
        return "IOB1"
    meant = {*letters.replace("W", "S"), "O"} if len({*letters}) == len(letters) else set()
    return next((s for s in (*_DETECTABLE, "IO") if {*SCHEMES[s].written, "O"} == meant), None)
