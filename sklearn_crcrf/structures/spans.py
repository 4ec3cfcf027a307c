"""Probabilities that runs of tokens have given labels."""

from abc import abstractmethod
from typing import Any

import numpy as np

from ..data.ragged import joined_ranges
from .base import Structure

# The number of tokens of the sequences of spans whose sums are computed at once.
BLOCK = 20_000
# Of sequences with more tokens than this, only those around a span are summed over.
LONG = 200


class HasSpans(Structure):
    """Structures of sequences in which runs of tokens have given labels with some probability."""

    def part(self, units: np.ndarray, scores: Any) -> tuple[Any, Any]:
        """Return some of the sequences, and their scores, in double precision."""
        tokens = joined_ranges(self.offsets[units], np.diff(self.offsets)[units])
        return self.take(units), scores.tokens(tokens)

    def n_labels_of(self, scores: Any) -> int:
        """Return the number of labels."""
        return scores.state.shape[1]

    def span_log_probability(
        self,
        scores: Any,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        following: np.ndarray | None = None,
        preceding: np.ndarray | None = None,
    ) -> np.ndarray:
        """As :meth:`Capabilities.span_log_probability`; -inf for labels that are left out."""
        start, stop, labels = (np.asarray(ids, dtype=np.int64) for ids in (start, stop, labels))
        n_labels, n_tokens = self.n_labels_of(scores), stop - start
        unit = check_spans(self.offsets, start, stop, labels, n_labels)
        neighbours = [
            None if allowed is None else np.broadcast_to(allowed, (len(start), n_labels))
            for allowed in (following, preceding)
        ]
        is_long, value = np.diff(self.offsets)[unit] > LONG, np.empty(len(start))
        for which, log_probability in (
            (~is_long, self._by_sums),
            (is_long, self.long_log_probability),
        ):
            if which.any():
                value[which] = log_probability(
                    scores,
                    start[which],
                    stop[which],
                    labels[np.repeat(which, n_tokens)],
                    *(allowed if allowed is None else allowed[which] for allowed in neighbours),
                )
        return value

    @abstractmethod
    def long_log_probability(
        self, scores: Any, start: np.ndarray, stop: np.ndarray, labels: np.ndarray, *neighbours: Any
    ) -> np.ndarray:
        """As :meth:`span_log_probability`, in time proportional to the tokens of long sequences."""

    def _by_sums(
        self,
        scores: Any,
        start: np.ndarray,
        stop: np.ndarray,
        labels: np.ndarray,
        after: np.ndarray | None,
        before: np.ndarray | None,
    ) -> np.ndarray:
        """Sum over the paths of sequences.

        The sum over the paths that have the labels of a span is the sum over all paths where no
        other labels of these tokens are allowed.
        """
        offsets, n_labels, unit = self.offsets, self.n_labels_of(scores), self.units_of(start)
        whole, exact = self, scores
        if scores.state.dtype != float:
            whole, exact = self.part(np.arange(self.n_units), scores)
        log_z, value = whole.log_partition(exact)[0], np.empty(len(start))
        n_tokens, begins = np.diff(offsets), np.append(0, np.cumsum(stop - start))
        block = np.cumsum(n_tokens[unit]) // BLOCK
        for number in np.unique(block):
            which = np.flatnonzero(block == number)
            own, own_scores = self.part(unit[which], scores)
            shift = own.offsets[:-1] - offsets[unit[which]]
            first, end = start[which] + shift, stop[which] + shift
            allowed = np.ones((own.n_tokens, n_labels), dtype=bool)
            inside = joined_ranges(first, end - first)
            allowed[inside] = False
            allowed[inside, labels[begins[which[0]] : begins[which[-1] + 1]]] = True
            if after is not None:
                goes_on = end < own.offsets[1:]
                allowed[end[goes_on]] = after[which[goes_on]]
            if before is not None:
                comes_after = first > own.offsets[:-1]
                allowed[first[comes_after] - 1] = before[which[comes_after]]
            value[which] = own.log_partition(own_scores.allow(allowed))[0]
        with np.errstate(invalid="ignore"):  # where no path is possible, -inf - -inf is NaN
            return np.minimum(value - log_z[unit], 0.0)


class HasWindows(HasSpans):
    """Such structures, of which a few tokens can be cut out with their probabilities."""

    @abstractmethod
    def windows(
        self, scores: Any, unit: np.ndarray, start: np.ndarray, stop: np.ndarray
    ) -> tuple["HasWindows", Any, np.ndarray]:
        """Cut out each span and its neighbours; also return how far their tokens are moved.

        The scores of a window hold the sums over all that is before and after it, so that the
        probabilities of its paths are those in the whole sequence.
        """

    def long_log_probability(
        self, scores: Any, start: np.ndarray, stop: np.ndarray, labels: np.ndarray, *neighbours: Any
    ) -> np.ndarray:
        """As ``HasSpans.long_log_probability``."""
        unit = self.units_of(start)
        numbers, own = np.unique(unit, return_inverse=True)
        part, scores = self.part(numbers, scores)
        moved = part.offsets[own] - self.offsets[unit]
        windows, cut, shift = part.windows(scores, own, start + moved, stop + moved)
        shift += moved
        return windows._by_sums(cut, start + shift, stop + shift, labels, *neighbours)


def check_spans(offsets: np.ndarray, start, stop, labels, n_labels: int) -> np.ndarray:
    """Return the sequence of each span; ValueError unless every span is a part of one sequence."""
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
