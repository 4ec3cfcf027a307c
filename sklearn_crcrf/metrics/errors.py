"""Wrong segments, by kind of error."""

from typing import Any, NamedTuple

import numpy as np

from ..labels.segments.label_sequences import factorize
from ..labels.segments.segments import Segments
from .docstrings import of_segments
from .flatten import Pair, flatten
from .segments import segments_of

__all__ = ["SEGMENT_ERRORS", "SegmentErrors", "SegmentMatch", "match_segments", "segment_errors"]

SEGMENT_ERRORS = ("wrong type", "wrong boundary", "missed", "spurious")
KINDS = ("correct", *SEGMENT_ERRORS)
CORRECT, WRONG_TYPE, WRONG_BOUNDARY, MISSED, SPURIOUS = range(5)


class SegmentErrors(NamedTuple):
    """Numbers of segments by type and kind of error.

    Attributes
    ----------
    types : list of n_types str
    correct : ndarray of shape (n_types,)
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
    """

    true: Segments
    pred: Segments
    kind: np.ndarray
    of_true: np.ndarray
    of_pred: np.ndarray


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
    weight = pair.weight[_first_tokens(match, pair.true.offsets)]
    types, kind_of_type = factorize(np.concatenate([match.true.type, match.pred.type]))
    n_true = len(match.true.type)
    segment = np.where(match.of_true < 0, n_true + match.of_pred, match.of_true)
    cell = match.kind * len(types) + kind_of_type[segment]
    counts = np.bincount(cell, weight, len(KINDS) * len(types))
    return SegmentErrors(types, *counts.reshape(len(KINDS), -1))


def match_segments(pair: Pair, scheme: str, reading: str) -> SegmentMatch:
    """Match true and predicted segments one to one, see :func:`segment_errors`."""
    true, pred = segments_of(pair, scheme, reading)
    places = [
        list(zip(s.sequence.tolist(), s.start.tolist(), s.end.tolist(), strict=True))
        for s in (true, pred)
    ]
    place_of_pred = {place: j for j, place in enumerate(places[1])}
    partner = np.array([place_of_pred.get(place, -1) for place in places[0]], dtype=np.int64)
    same_type = np.array(
        [j >= 0 and true.type[i] == pred.type[j] for i, j in enumerate(partner)], dtype=bool
    )
    kind = np.select([same_type, partner >= 0], [CORRECT, WRONG_TYPE], MISSED)
    free_true = np.flatnonzero(partner < 0)
    free_pred = np.setdiff1d(np.arange(len(places[1])), partner)
    for i, j in _overlapping(places, true.type, pred.type, free_true, free_pred):
        partner[i], kind[i] = j, WRONG_BOUNDARY
    spurious = np.setdiff1d(free_pred, partner)
    return _in_order(
        SegmentMatch(
            true,
            pred,
            np.append(kind, np.full(len(spurious), SPURIOUS)),
            np.append(np.arange(len(partner)), np.full(len(spurious), -1)),
            np.append(partner, spurious),
        ),
        pair.true.offsets,
    )


def _overlapping(places, type_of_true, type_of_pred, free_true, free_pred):
    """Pairs of segments of one type that overlap, as many as there can be."""
    by_type: dict[int, tuple[list[int], list[int]]] = {}
    for which, (free, types) in enumerate(((free_true, type_of_true), (free_pred, type_of_pred))):
        for k in free.tolist():
            by_type.setdefault(types[k], ([], []))[which].append(k)
    for true, pred in by_type.values():
        true, pred = true[::-1], pred[::-1]
        while true and pred:
            a, b = places[0][true[-1]], places[1][pred[-1]]
            if a[0] == b[0] and a[1] < b[2] and b[1] < a[2]:
                yield true.pop(), pred.pop()
            elif (a[0], a[2]) <= (b[0], b[2]):
                true.pop()
            else:
                pred.pop()


def _first_tokens(match: SegmentMatch, offsets: np.ndarray) -> np.ndarray:
    """The first token of the true segment of each match, else of its predicted segment."""
    true, pred = (offsets[s.sequence] + s.start for s in (match.true, match.pred))
    both = np.concatenate([true, pred])
    return both[np.where(match.of_true < 0, len(true) + match.of_pred, match.of_true)]


def _in_order(match: SegmentMatch, offsets: np.ndarray) -> SegmentMatch:
    order = np.argsort(_first_tokens(match, offsets), kind="stable")
    return match._replace(
        kind=match.kind[order], of_true=match.of_true[order], of_pred=match.of_pred[order]
    )
