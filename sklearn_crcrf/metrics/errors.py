"""Wrong segments, by kind of error."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..labels.segments.label_sequences import factorize
from ..labels.segments.segments import Segments
from .flatten import Pair, flatten
from .segments import of_segments, segments_of

SEGMENT_ERRORS = ("wrong type", "wrong boundary", "missed", "spurious")
KINDS = ("correct", *SEGMENT_ERRORS)
CORRECT, WRONG_TYPE, WRONG_BOUNDARY, MISSED, SPURIOUS = range(5)


class SegmentErrors(NamedTuple):
    """Numbers of segments by type and kind of error.

    Attributes
    ----------
    types : list of n_types str
        The types of segments, sorted.
    correct : ndarray of shape (n_types,)
        True segments that are predicted.
    wrong_type : ndarray of shape (n_types,)
        True segments that are predicted as another type.
    wrong_boundary : ndarray of shape (n_types,)
        True segments that overlap with a predicted segment of their type.
    missed : ndarray of shape (n_types,)
        All other true segments.
    spurious : ndarray of shape (n_types,)
        Predicted segments without a matching true segment, by their predicted type.

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_errors
    >>> errors = segment_errors([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> errors.types, errors.correct, errors.missed
    (['LOC', 'PER'], array([0., 1.]), array([1., 0.]))
    """

    types: list
    correct: np.ndarray
    wrong_type: np.ndarray
    wrong_boundary: np.ndarray
    missed: np.ndarray
    spurious: np.ndarray


class SegmentMatch(NamedTuple):
    """The matches of true and predicted segments, in the order of the text.

    Attributes
    ----------
    true, pred : Segments
    kind : ndarray of shape (n_matches,)
        0 to 4 for "correct", "wrong type", "wrong boundary", "missed" and "spurious".
    of_true, of_pred : ndarray of shape (n_matches,)
        Index of the true and of the predicted segment, -1 for none.
    segment : ndarray of shape (n_matches,)
        Index of the true segment, else of the predicted one after all true ones.
    start : ndarray of shape (n_matches,)
        The first token of that segment.
    """

    true: Segments
    pred: Segments
    kind: np.ndarray
    of_true: np.ndarray
    of_pred: np.ndarray
    segment: np.ndarray
    start: np.ndarray


@of_segments
def segment_errors(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "IOB2",
    reading: str = "conlleval",
    sample_weight: Any = None,
) -> SegmentErrors:
    """Count correct segments, and wrong segments by kind of error.

    Each true segment is matched with at most one predicted segment: the one with the same start
    and end, else an overlapping one of the same type. So, over all types, the true segments are
    the correct, wrong-type, wrong-boundary and missed ones; the predicted segments are the first
    three kinds and the spurious ones.

    Parameters
    ----------
    {y_true, y_pred}
    {scheme}
    {reading}
    sample_weight : array-like of shape (n_samples,), optional
        One weight per sequence (per token if ``y_true`` is one-dimensional: then a segment
        weighs what its first token does). A pair weighs what its true segment does.

    Returns
    -------
    SegmentErrors

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from sklearn_crcrf.metrics import segment_errors
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC", "O"]]
    >>> y_pred = [["B-PER", "O", "O", "B-PER", "B-LOC"]]
    >>> errors = segment_errors(y_true, y_pred)
    >>> errors.types, errors.wrong_type, errors.wrong_boundary, errors.spurious
    (['LOC', 'PER'], array([1., 0.]), array([0., 1.]), array([1., 0.]))
    """
    pair = flatten(y_true, y_pred, sample_weight)
    match = match_segments(pair, scheme, reading)
    types, number = factorize(np.concatenate([match.true.type, match.pred.type]))
    cell = match.kind * len(types) + number[match.segment]
    counts = np.bincount(cell, pair.weight[match.start], len(KINDS) * len(types))
    return SegmentErrors(types, *counts.reshape(len(KINDS), -1))


def match_segments(pair: Pair, scheme: str, reading: str) -> SegmentMatch:
    """Match true and predicted segments one to one, see :func:`segment_errors`."""
    true, pred = segments_of(pair, scheme, reading)
    n_true, offsets = len(true.type), pair.true.offsets
    every = Segments(*map(np.concatenate, zip(true, pred, strict=True)))
    start, end = (offsets[every.sequence] + bound for bound in (every.start, every.end))
    _, type_of = factorize(every.type)
    partner, kind = np.full(n_true, -1), np.full(n_true, MISSED)
    _, i, j = np.intersect1d(
        start[:n_true], start[n_true:], assume_unique=True, return_indices=True
    )
    same = end[i] == end[n_true + j]
    i, j = i[same], j[same]
    partner[i], kind[i] = j, np.where(type_of[i] == type_of[n_true + j], CORRECT, WRONG_TYPE)
    free = np.append(partner < 0, ~np.isin(np.arange(len(pred.type)), partner))
    for a, b in _overlapping(start, end, type_of, np.flatnonzero(free), n_true):
        partner[a], kind[a] = b - n_true, WRONG_BOUNDARY
    spurious = np.setdiff1d(np.arange(len(pred.type)), partner)
    of_true = np.append(np.arange(n_true), np.full(len(spurious), -1))
    of_pred = np.append(partner, spurious)
    segment = np.where(of_true < 0, n_true + of_pred, of_true)
    order = np.argsort(start[segment], kind="stable")
    kinds = np.append(kind, np.full(len(spurious), SPURIOUS))
    parts = (part[order] for part in (kinds, of_true, of_pred, segment, start[segment]))
    return SegmentMatch(true, pred, *parts)


def _overlapping(
    start: np.ndarray, end: np.ndarray, type_of: np.ndarray, free: np.ndarray, n_true: int
) -> Iterator[tuple[int, int]]:
    """Yield pairs of segments of one type that overlap, as many as there can be."""
    by_type: dict[int, tuple[list[int], list[int]]] = {}
    for k in free[::-1].tolist():
        by_type.setdefault(type_of[k], ([], []))[k >= n_true].append(k)
    for true, pred in by_type.values():
        while true and pred:
            a, b = true[-1], pred[-1]
            if start[a] < end[b] and start[b] < end[a]:
                yield true.pop(), pred.pop()
            elif end[a] <= end[b]:
                true.pop()
            else:
                pred.pop()
