"""Margins of spans: scores of the best paths with given labels minus the best without them."""

import numpy as np

from ..._kernels.chain import viterbi
from ..._kernels.chain.paths import ChainMaxima, add_span_counts, span_margins
from ..._kernels.chain.scores import BatchScores
from ...data.ragged import longest_first
from ..scores import AddTo, ScoreGradient, Scores, add_with_ends, ends, with_ends
from ..spans import check_spans

__all__ = ["Maxima", "SpanMargins"]


class Maxima:
    """The best prefixes up to each label of each token, and the best suffixes from it on.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    scores : Scores

    Attributes
    ----------
    state : ndarray of shape (n_tokens, n_labels)
        State scores of the labels, with begin and end scores.
    until, since : ndarray of shape (n_tokens, n_labels)
        Scores of the best prefix that ends with a label, and of the best suffix that begins with
        it, both including the state score of the label.
    """

    def __init__(self, offsets: np.ndarray, scores: Scores):
        self.state = with_ends(scores, ends(offsets))
        self.until = _best_prefixes(offsets, scores)
        backwards = offsets[-1] - offsets[::-1]
        self.since = np.ascontiguousarray(_best_prefixes(backwards, scores.reversed())[::-1])


def _best_prefixes(offsets: np.ndarray, scores: Scores) -> np.ndarray:
    prefixes = np.empty(scores.state.shape)
    path, value = np.empty(len(prefixes), dtype=np.int32), np.empty(len(offsets) - 1)
    batch, order = BatchScores(offsets, scores), longest_first(offsets)
    viterbi.viterbi(batch, order, scores.state, prefixes, path, value)
    return prefixes


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
