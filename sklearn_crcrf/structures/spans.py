"""Probabilities that runs of tokens have given labels."""

import numpy as np
from scipy.special import logsumexp

from ..data.ragged import joined_ranges
from .messages import Messages
from .scores import Scores

__all__ = ["check_spans", "span_log_probability"]


def span_log_probability(
    offsets: np.ndarray,
    scores: Scores,
    start: np.ndarray,
    stop: np.ndarray,
    labels: np.ndarray,
    following: np.ndarray | None = None,
    preceding: np.ndarray | None = None,
) -> np.ndarray:
    """Log-probabilities of spans; see :meth:`Capabilities.span_log_probability`."""
    start, stop, labels = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
    n_labels = len(scores.transition)
    sequence = check_spans(offsets, start, stop, labels, n_labels)
    messages = Messages(offsets, scores)
    if len(start) == 0:
        return np.empty(0)
    begins = np.cumsum(stop - start) - (stop - start)
    last = labels[np.append(begins[1:], len(labels)) - 1]
    # Where no path of a sequence is possible, -inf - -inf is NaN.
    with np.errstate(invalid="ignore"):
        after = messages.backward[stop - 1, last]
        if following is not None:
            goes_on = np.flatnonzero(stop < offsets[sequence + 1])
            allowed = np.broadcast_to(following, (len(start), n_labels))[goes_on]
            after[goes_on] = _next_label(messages, scores, stop[goes_on], last[goes_on], allowed)
        each = _labels(messages, scores, start, stop, labels)
        if preceding is not None:
            comes_after = np.flatnonzero(start > offsets[sequence])
            allowed = np.broadcast_to(preceding, (len(start), n_labels))[comes_after]
            first = begins[comes_after]
            each[first] = _previous_label(
                messages, scores, start[comes_after], labels[first], allowed
            )
        within = np.add.reduceat(each, begins)
        value = np.minimum(within + after, 0.0)
    return np.where(np.isneginf(messages.log_z[sequence]), np.nan, value)


def _labels(messages: Messages, scores: Scores, start, stop, labels) -> np.ndarray:
    """What each label adds to the log-probability of its span."""
    begins, token = np.cumsum(stop - start) - (stop - start), joined_ranges(start, stop - start)
    value = messages.state[token, labels] - messages.increment[token]
    value[1:] += scores.of_transitions(token[1:], labels[:-1], labels[1:])
    value[begins] = messages.forward[start, labels[begins]]
    return value


def _next_label(messages: Messages, scores: Scores, token, previous, allowed) -> np.ndarray:
    """The logarithm of the sum over the labels allowed at the token after a span."""
    n_spans, n_labels = allowed.shape
    into = scores.of_transitions(
        np.repeat(token, n_labels),
        np.repeat(previous, n_labels),
        np.tile(np.arange(n_labels), n_spans),
    ).reshape(n_spans, n_labels)
    value = into + messages.state[token] + messages.backward[token]
    value -= messages.increment[token][:, None]
    return logsumexp(np.where(allowed, value, -np.inf), axis=1)


def _previous_label(messages: Messages, scores: Scores, token, label, allowed) -> np.ndarray:
    """What the first label adds, summed over the labels allowed at the token before a span."""
    n_spans, n_labels = allowed.shape
    into = scores.of_transitions(
        np.repeat(token, n_labels),
        np.tile(np.arange(n_labels), n_spans),
        np.repeat(label, n_labels),
    ).reshape(n_spans, n_labels)
    value = messages.forward[token - 1] + into
    value += (messages.state[token, label] - messages.increment[token])[:, None]
    return logsumexp(np.where(allowed, value, -np.inf), axis=1)


def check_spans(offsets: np.ndarray, start, stop, labels, n_labels: int) -> np.ndarray:
    """The sequence of each span; ValueError unless every span is a part of one sequence."""
    if start.shape != stop.shape or labels.shape != ((stop - start).sum(),):
        raise ValueError(
            f"start, stop and labels do not belong together: they have the shapes {start.shape}, "
            f"{stop.shape} and {labels.shape}"
        )
    sequence = np.searchsorted(offsets, start, side="right") - 1
    within = (start >= 0) & (start < stop) & (start < offsets[-1])
    within[within] &= stop[within] <= offsets[sequence[within] + 1]
    if not within.all():
        span = np.flatnonzero(~within)[0]
        raise ValueError(
            f"span {span} is not a part of one sequence: it begins at token {start[span]} and "
            f"stops before token {stop[span]}"
        )
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError(f"labels must be in [0, {n_labels - 1}]")
    return sequence
