"""How much better the best paths with runs of labelled tokens are than the best without."""

import numpy as np

from .._kernels._span_margins import add_span_counts, span_margins
from .maxima import Maxima
from .messages import ends
from .scores import AddTo, ScoreGradient, Scores
from .spans import check_spans

__all__ = ["SpanMargins"]


class SpanMargins:
    """The margins of spans, and their best paths; see :meth:`Chain.span_margin`.

    Attributes
    ----------
    value : ndarray of shape (n_spans,)
    """

    def __init__(
        self,
        offsets: np.ndarray,
        scores: Scores,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ):
        start, stop, labels = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
        n_labels = len(scores.transition)
        sequence = check_spans(offsets, start, stop, labels, n_labels)
        self._offsets, self._given = offsets, scores
        best = Maxima(offsets, scores)
        transition = np.ascontiguousarray(scores.transition, dtype=float)
        transposed = np.ascontiguousarray(transition.T)
        self._lattice = (
            best.state,
            best.until,
            best.since,
            transition,
            transposed,
            *scores.token_transitions,
        )
        self._spans = (
            np.column_stack([start, stop, offsets[sequence], offsets[sequence + 1]]),
            np.cumsum(stop - start) - (stop - start),
            labels.astype(np.int32),
        )
        allowed = (_mask(labels, (len(start), n_labels)) for labels in (preceding, following))
        self._scores, self._paths = np.empty((len(start), 2)), np.empty((len(start), 2, 3), int)
        span_margins(*self._lattice, *self._spans, *allowed, self._scores, self._paths)
        # Nothing is better than nothing by any number.
        with np.errstate(invalid="ignore"):
            self.value = self._scores[:, 0] - self._scores[:, 1]

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """Counts of the best paths with each span, less those without it, times its weight."""
        counts = ScoreGradient.of(out, self._given)
        weight, state = np.asarray(weight, dtype=float), np.zeros(self._given.state.shape)
        add_span_counts(
            self._offsets,
            *self._lattice,
            *self._spans,
            self._paths,
            weight,
            state,
            counts.transition,
            counts.token_transitions,
        )
        first, last = ends(self._offsets)
        counts.state[:] += state
        counts.begin[:] += state[first].sum(axis=0)
        counts.end[:] += state[last].sum(axis=0)
        return counts


def _mask(allowed: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    """Which labels are allowed next to each span, as bytes."""
    allowed = np.broadcast_to(True if allowed is None else allowed, shape)
    return np.ascontiguousarray(allowed, dtype=bool).view(np.uint8)
