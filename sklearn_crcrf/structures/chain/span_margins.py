"""Margins of spans: scores of the best paths with given labels minus the best without them."""

import numpy as np

from ..._kernels.chain import viterbi
from ..._kernels.chain.paths import ChainMaxima, add_span_counts, span_margins
from ..._kernels.chain.scores import BatchScores
from ...data.ragged import longest_first
from ..scores import AddTo, Pullback, ScoreGradient, Scores, add_with_ends, ends, with_ends
from ..spans import check_spans


def margins_of_spans(
    offsets: np.ndarray,
    scores: Scores,
    start: np.ndarray,
    stop: np.ndarray,
    labels: np.ndarray,
    following: np.ndarray | None = None,
    preceding: np.ndarray | None = None,
) -> tuple[np.ndarray, Pullback]:
    """Return the margins of spans, and their pullback; see :meth:`Capabilities.span_margin`."""
    start, stop, labels = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
    shape = len(start), len(scores.transition)
    sequence = check_spans(offsets, start, stop, labels, shape[1])
    transposed = np.ascontiguousarray(scores.transition.T)
    backwards = best_prefixes(offsets[-1] - offsets[::-1], scores.reversed())
    maxima = ChainMaxima(
        BatchScores(offsets, scores),
        transposed,
        with_ends(scores, ends(offsets)),
        best_prefixes(offsets, scores),
        np.ascontiguousarray(backwards[::-1]),
    )
    spans = (
        np.column_stack([start, stop, offsets[sequence], offsets[sequence + 1]]),
        np.cumsum(stop - start) - (stop - start),
        labels.astype(np.int32),
    )
    allowed = (_mask(labels, shape) for labels in (preceding, following))
    best, paths = np.empty((len(start), 2)), np.empty((len(start), 2, 3), dtype=np.int64)
    span_margins(maxima, *spans, *allowed, best, paths)

    def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        gradient = ScoreGradient.of(out, scores)
        weight, state = np.asarray(weight, dtype=float), np.zeros(scores.state.shape)
        others = gradient.transition, gradient.token_transitions
        add_span_counts(maxima, *spans, paths, weight, state, *others)
        add_with_ends(gradient, state, ends(offsets))
        return gradient

    # Where no path is possible, -inf - -inf is NaN.
    with np.errstate(invalid="ignore"):
        return best[:, 0] - best[:, 1], pullback


def best_prefixes(offsets: np.ndarray, scores: Scores) -> np.ndarray:
    """Return the scores of the best paths up to each label of each token."""
    prefixes = np.empty(scores.state.shape)
    path, value = np.empty(len(prefixes), dtype=np.int32), np.empty(len(offsets) - 1)
    batch, order = BatchScores(offsets, scores), longest_first(offsets)
    viterbi.viterbi(batch, order, scores.state, prefixes, path, value)
    return prefixes


def _mask(allowed: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    """Which labels are allowed before or after each span, as bytes."""
    allowed = np.broadcast_to(True if allowed is None else allowed, shape)
    return np.ascontiguousarray(allowed, dtype=bool).view(np.uint8)
