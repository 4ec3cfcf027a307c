"""Margins of spans: scores of the best paths with given labels minus the best without them."""

import numpy as np

from ..._kernels.chain.paths import ChainMaxima, add_span_counts, span_margins
from ..._kernels.chain.scores import BatchScores
from ..ends import add_with_ends, ends
from ..scores import AddTo, ScoreGradient, Scores
from ..spans import check_spans
from .maxima import Maxima

__all__ = ["SpanMargins"]


class SpanMargins:
    """The margins of spans, and their best paths; see :meth:`Capabilities.span_margin`.

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
        transposed = np.ascontiguousarray(scores.transition.T)
        self._maxima = ChainMaxima(
            BatchScores(offsets, scores), transposed, best.state, best.until, best.since
        )
        self._spans = (
            np.column_stack([start, stop, offsets[sequence], offsets[sequence + 1]]),
            np.cumsum(stop - start) - (stop - start),
            labels.astype(np.int32),
        )
        allowed = (_mask(labels, (len(start), n_labels)) for labels in (preceding, following))
        self._scores, self._paths = np.empty((len(start), 2)), np.empty((len(start), 2, 3), int)
        span_margins(self._maxima, *self._spans, *allowed, self._scores, self._paths)
        # Where no path is possible, -inf - -inf is NaN.
        with np.errstate(invalid="ignore"):
            self.value = self._scores[:, 0] - self._scores[:, 1]

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the sum of margins times their weights, added to ``out``."""
        gradient = ScoreGradient.of(out, self._given)
        weight, state = np.asarray(weight, dtype=float), np.zeros(self._given.state.shape)
        add_span_counts(
            self._maxima,
            *self._spans,
            self._paths,
            weight,
            state,
            gradient.transition,
            gradient.token_transitions,
        )
        add_with_ends(gradient, state, ends(self._offsets))
        return gradient


def _mask(allowed: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    """Which labels are allowed before or after each span, as bytes."""
    allowed = np.broadcast_to(True if allowed is None else allowed, shape)
    return np.ascontiguousarray(allowed, dtype=bool).view(np.uint8)
