"""Segments: from labels in any scheme to (sequence, start, end, type), and back."""

from typing import Any, NamedTuple

import numpy as np

from ...data.ragged import SequenceArray, joined_ranges, locate
from .label_sequences import factorize, is_nested, label_sequences, naming_unhashable
from .schemes import SCHEMES, SchemeLabels, check_option, read_labels

_READINGS = ("conlleval", "strict")


class Segments(NamedTuple):
    """Segments as four parallel arrays, in the order of the text.

    Attributes
    ----------
    sequence : ndarray of int64 of shape (n_segments,)
        The sequence that the segment lies in.
    start, end : ndarray of int64 of shape (n_segments,)
        Positions in that sequence; the segment ends before ``end``.
    type : ndarray of object of shape (n_segments,)
        The label without its prefix: "PER" for "B-PER", "" for a bare "B".

    Examples
    --------
    >>> from sklearn_crcrf.labels import to_segments
    >>> segments = to_segments([["O", "B-PER", "I-PER"], ["B-LOC"]])
    >>> segments.sequence, segments.start, segments.end, segments.type
    (array([0, 1]), array([1, 0]), array([3, 1]), array(['PER', 'LOC'], dtype=object))
    """

    sequence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    type: np.ndarray


class SpelledSegments(NamedTuple):
    """Segments of paths, and the neighbouring labels that keep them separate.

    The labels of a segment are read as this segment if they follow a label in ``before`` or begin
    the sequence, and precede a label in ``after`` or end it; otherwise they are part of a longer
    segment.

    Attributes
    ----------
    segments : Segments
    labels : SequenceArray of int
        The label ids that spell each segment.
    before, after : ndarray of shape (n_segments, n_labels), bool
        The labels that may stand before the first and after the last token of each segment.
    """

    segments: Segments
    labels: SequenceArray
    before: np.ndarray
    after: np.ndarray


def to_segments(y: Any, scheme: str = "IOB2", reading: str = "conlleval") -> Segments:
    """Read the segments off labels.

    Parameters
    ----------
    y : list of label lists, SequenceArray or 1-D array
        Labels; a one-dimensional array is a single sequence.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        The meaning of the labels. In IOB1, ``B`` only separates a segment from a segment of the
        same type directly before it; in IOB2 every segment begins with ``B``; in IOBES, moreover,
        a segment of several tokens ends with ``E``, and a segment of a single token is ``S``.
        BIOES is another name of IOBES; BILOU writes ``L`` and ``U`` for ``E`` and ``S``, and BMES
        ``M`` for ``I``. In IO labels are types without a prefix, and a segment is a longest run of
        equal labels.
    reading : {"conlleval", "strict"}, default="conlleval"
        How to read labels that break the scheme. "conlleval" reads them like the evaluation script
        of the CoNLL shared tasks [1]_: a segment is a longest run of labels of one type in which
        only the first may be ``B`` or ``S``, and only the last ``E`` or ``S``. "strict" keeps only
        the segments that are written as the scheme demands.

    Returns
    -------
    Segments

    Raises
    ------
    ValueError
        If a label is neither "O" nor one of the prefixes of the scheme, followed by "-" and the
        type; in IO, if it is not a string. The message names the sequence and the position.

    Notes
    -----
    The script of the shared tasks does not know ``S``. As in its extensions to IOBES, ``S``
    begins and ends a segment, and ``E`` always ends one.

    References
    ----------
    .. [1] E. F. Tjong Kim Sang and S. Buchholz, "Introduction to the CoNLL-2000 shared task:
       chunking", CoNLL 2000.

    Examples
    --------
    >>> from sklearn_crcrf.labels import to_segments
    >>> y = [["B-PER", "I-PER", "O", "I-LOC"], ["B-LOC"]]
    >>> to_segments(y)
    Segments(sequence=array([0, 0, 1]), start=array([0, 3, 0]), end=array([2, 4, 1]),
             type=array(['PER', 'LOC', 'LOC'], dtype=object))
    >>> to_segments(y, reading="strict").type
    array(['PER', 'LOC'], dtype=object)
    """
    return find_segments(label_sequences(y, "y"), scheme, reading, "y")


def segments_to_labels(segments: Segments, lengths: Any, scheme: str = "IOB2") -> SequenceArray:
    """Write segments as labels.

    Parameters
    ----------
    segments : Segments
        Segments that do not overlap, in any order.
    lengths : array-like of int of shape (n_sequences,)
        The length of every sequence.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments, see :func:`to_segments`.

    Returns
    -------
    SequenceArray
        One label per token; its ``tolist`` gives nested lists.

    Raises
    ------
    ValueError
        If a segment is empty, leaves its sequence or overlaps another one; or if IO cannot spell
        it, as neighbouring segments have the same type, or its type is "" or "O".

    Examples
    --------
    >>> from sklearn_crcrf.labels import Segments, segments_to_labels
    >>> segments = Segments([0, 0], [0, 3], [2, 4], ["PER", "LOC"])
    >>> segments_to_labels(segments, [5], "IOBES").tolist()
    [['B-PER', 'E-PER', 'O', 'S-LOC', 'O']]
    """
    check_option("scheme", scheme, SCHEMES)
    lengths = _as_lengths(lengths)
    labels = SequenceArray.from_lengths(np.full(lengths.sum(), "O", dtype=object), lengths)
    segments = _in_order(segments)
    _check_places(segments, lengths)

    sequence, start, end, kind = segments
    types, kind = factorize(kind)
    first = labels.offsets[sequence] + start
    last = labels.offsets[sequence] + end - 1
    spelled = SCHEMES[scheme]

    def spell(letter: str) -> np.ndarray:
        return np.array([spelled.label(letter, name) for name in types], dtype=object)[kind]

    begin, inside, close, single = map(spell, spelled.written)
    labels.data[joined_ranges(first, end - start)] = np.repeat(inside, end - start)
    labels.data[first] = begin
    labels.data[last] = np.where(first == last, single, close)
    touches = np.zeros(len(first), dtype=bool)
    touches[1:] = (
        (first[1:] == last[:-1] + 1) & (sequence[1:] == sequence[:-1]) & (kind[1:] == kind[:-1])
    )
    if scheme == "IOB1":
        labels.data[first[touches]] = spell("B")[touches]
    elif scheme == "IO":
        _check_spelled_by_types(segments, touches)
    return labels


def convert_scheme(y: Any, source: str, target: str, reading: str = "conlleval") -> Any:
    """Write the same segments in another scheme.

    Parameters
    ----------
    y : list of label lists, SequenceArray or 1-D array
        Labels; a one-dimensional array is a single sequence.
    source, target : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}
        The scheme of ``y``, and the scheme of the result.
    reading : {"conlleval", "strict"}, default="conlleval"
        How to read labels in ``y`` that break the scheme, see :func:`to_segments`.

    Returns
    -------
    list of label lists, SequenceArray or 1-D array
        Labels in the layout of ``y``.

    Raises
    ------
    ValueError
        As in :func:`to_segments`.

    Examples
    --------
    >>> from sklearn_crcrf.labels import convert_scheme
    >>> convert_scheme([["I-PER", "I-PER", "B-PER"]], "IOB1", "IOBES")
    [['B-PER', 'E-PER', 'S-PER']]
    """
    labels = label_sequences(y, "y")
    segments = find_segments(labels, source, reading, "y")
    converted = segments_to_labels(segments, labels.lengths, target)
    if isinstance(y, SequenceArray):
        return converted
    return converted.tolist() if is_nested(y) else converted.data


def spell_segments(
    y: np.ndarray, offsets: np.ndarray, classes: Any, scheme: str = "IOB2"
) -> SpelledSegments:
    """Read the segments off paths, with the neighbouring labels that keep them separate.

    Labels that break the scheme are forgiven, as with ``reading="conlleval"`` in
    :func:`to_segments`.

    Parameters
    ----------
    y : ndarray of shape (n_tokens,), int
        Label ids of the paths.
    offsets : ndarray of shape (n_sequences + 1,), int64
    classes : array-like of shape (n_labels,)
        The labels.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments, see :func:`to_segments`.

    Returns
    -------
    SpelledSegments

    Raises
    ------
    ValueError
        If one of the classes does not fit the scheme.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.labels import spell_segments
    >>> spelled = spell_segments(np.array([0, 1, 2]), np.array([0, 3]), ["B-X", "I-X", "O"])
    >>> spelled.segments
    Segments(sequence=array([0]), start=array([0]), end=array([2]),
             type=array(['X'], dtype=object))
    >>> spelled.labels.tolist(), spelled.after
    ([[0, 1]], array([[ True, False,  True]]))
    """
    parsed = read_labels(classes, scheme)
    start, end = find_runs(parsed, y, offsets)
    every = np.arange(len(parsed.kind))
    first, last = y[start, None], y[end - 1, None]
    return SpelledSegments(
        _in_sequences(start, end, parsed.types[parsed.kind[y[start]]], offsets),
        SequenceArray.from_lengths(y[joined_ranges(start, end - start)], end - start),
        ~parsed.continues(every, first),
        ~parsed.continues(last, every),
    )


def find_segments(labels: SequenceArray, scheme: str, reading: str, name: str) -> Segments:
    """Segments of a SequenceArray of labels; ``name`` is their name in an error message."""
    check_option("scheme", scheme, SCHEMES)
    check_option("reading", reading, _READINGS)
    with naming_unhashable(**{name: labels}):
        distinct, y = factorize(labels.data)

    def first_place(i: int) -> str:
        sequence, position = locate(labels.offsets, int(np.argmax(y == i)))
        return f" at position {position} of sequence {sequence}"

    parsed = read_labels(distinct, scheme, name, first_place)
    start, end = find_runs(parsed, y, labels.offsets)
    if reading == "strict":
        first_of_sequence = np.zeros(len(y) + 1, dtype=bool)
        first_of_sequence[labels.offsets] = True
        follows_same = parsed.kind[y[start - 1]] == parsed.kind[y[start]]
        follows_same &= ~first_of_sequence[start]
        proper = _is_proper(scheme, parsed.role[y[start]], parsed.role[y[end - 1]], follows_same)
        start, end = start[proper], end[proper]
    return _in_sequences(start, end, parsed.types[parsed.kind[y[start]]], labels.offsets)


def find_runs(
    parsed: SchemeLabels, y: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the first token of each segment of paths of label ids, and the token after its last."""
    # Gap t lies between tokens t - 1 and t; no segment spans a gap that is cut.
    cut = np.ones(len(y) + 1, dtype=bool)
    cut[1:-1] = ~parsed.continues(y[:-1], y[1:])
    cut[offsets] = True
    inside = parsed.kind[y] >= 0
    return np.flatnonzero(cut[:-1] & inside), np.flatnonzero(cut[1:] & inside) + 1


def _in_sequences(
    start: np.ndarray, end: np.ndarray, types: np.ndarray, offsets: np.ndarray
) -> Segments:
    """Segments from the numbers of their tokens; types may be any objects."""
    sequence = np.searchsorted(offsets, start, side="right") - 1
    return Segments(sequence, start - offsets[sequence], end - offsets[sequence], types)


def _is_proper(
    scheme: str, first: np.ndarray, last: np.ndarray, follows_same: np.ndarray
) -> np.ndarray:
    """Say whether a run with these first and last roles is written as the scheme demands."""
    if scheme in ("IOB1", "IO"):
        return (first == "I") | follows_same
    if scheme == "IOB2":
        return first == "B"
    return (first == "S") | ((first == "B") & (last == "E"))


def _in_order(segments: Segments) -> Segments:
    sequence, start, end = (np.asarray(a, dtype=np.int64) for a in segments[:3])
    order = np.lexsort((start, sequence))
    kind = np.asarray(segments[3], dtype=object)
    return Segments(sequence[order], start[order], end[order], kind[order])


def _as_lengths(lengths: Any) -> np.ndarray:
    given = np.asarray(lengths)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any():
        raise ValueError(
            f"lengths must be the lengths of sequences, integers from 0 on, got {lengths!r}"
        )
    return given.astype(np.int64)


def _check_places(segments: Segments, lengths: np.ndarray) -> None:
    sequence, start, end, _ = segments
    outside = (sequence < 0) | (sequence >= len(lengths))
    if outside.any():
        raise ValueError(
            f"segments: there is no sequence {sequence[outside][0]} of {len(lengths)} sequences"
        )
    wrong = (start < 0) | (start >= end) | (end > lengths[sequence])
    wrong[1:] |= (sequence[1:] == sequence[:-1]) & (start[1:] < end[:-1])
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"segments: the segment from {start[i]} to {end[i]} of sequence {sequence[i]} is "
            f"empty, leaves the sequence or overlaps another one"
        )


def _check_spelled_by_types(segments: Segments, touches: np.ndarray) -> None:
    """Raise ValueError if labels that are only types would not be read as these segments."""
    outside = np.isin(segments.type, ["", "O"])
    wrong = outside | touches
    if wrong.any():
        i = int(np.argmax(wrong))
        name = segments.type[i]
        why = f"the type {name!r}" if outside[i] else f"two neighbouring segments of type {name!r}"
        raise ValueError(
            f"segments: the scheme IO cannot spell {why}, at position {segments.start[i]} of "
            f"sequence {segments.sequence[i]}"
        )
