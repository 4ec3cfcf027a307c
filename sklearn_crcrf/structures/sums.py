"""Sums over all paths of chains, and the expected counts that are their derivatives."""

import numpy as np

from .._kernels._forward_backward import forward_backward
from .._kernels.vectorized import lock_step
from .._ragged import joined_ranges
from .covariance import PathMeans
from .messages import Messages
from .parts import PartCounts, Parts

__all__ = ["PathSums"]

# Exponentials of the scores are kept for the derivatives if there are no more than these.
KEPT = 2**24
# Products of probabilities with larger values could overflow.
LARGEST = 1e20


class PathSums:
    """The log-partition of each sequence, and what is needed for its derivative.

    Probabilities are scaled and sequences of similar length go in lock step. Where a probability
    could underflow, a sequence is summed again in logarithms.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    order : ndarray of shape (n_sequences,), int64
        The sequences, the longest first.
    parts : Parts

    Attributes
    ----------
    log_z : ndarray of shape (n_sequences,)
        -inf where no path is possible, 0 for an empty sequence.
    """

    def __init__(self, offsets: np.ndarray, order: np.ndarray, parts: Parts):
        self._offsets, self._order, self._parts = offsets, order, parts
        n_tokens, n_labels = parts.state.shape
        dtype = parts.state.dtype
        self._scores = (parts.state, parts.begin, parts.end, *_potentials(parts))
        width = lock_step.width_of(n_labels, dtype)
        alpha = np.empty((n_tokens, width), dtype=dtype)
        n_kept = n_tokens if n_tokens * width <= KEPT else 0
        v = np.empty((max(n_kept, lock_step.WORK_ROWS), width), dtype=dtype)
        self._work = v, alpha, np.empty((n_tokens, 2))
        self.log_z = np.empty(len(order))
        lock_step.forward(offsets, order, *self._scores, *self._work, self.log_z)
        self._in_logarithms = np.flatnonzero(np.isnan(self.log_z))
        if len(self._in_logarithms):
            nothing = PartCounts.zeros(parts)
            self._sum_in_logarithms(np.zeros(len(order)), nothing)

    def pullback(self, weight: np.ndarray, out: PartCounts | None = None) -> PartCounts:
        """Expected counts, those of each sequence times its weight, added to ``out``.

        Parameters
        ----------
        weight : ndarray of shape (n_sequences,)
        out : PartCounts, optional

        Returns
        -------
        PartCounts
        """
        counts = PartCounts.zeros(self._parts) if out is None else out
        in_probabilities = np.array(weight, dtype=float)
        in_probabilities[self._in_logarithms] = 0.0
        lock_step.backward(
            self._offsets,
            self._order,
            *self._scores,
            *self._work,
            in_probabilities,
            *counts,
        )
        if len(self._in_logarithms):
            self._sum_in_logarithms(np.asarray(weight, dtype=float), counts)
        return counts

    def add_covariances(self, values: np.ndarray, out: PartCounts) -> None:
        """Add the covariances of what paths use with the sums of the values of their labels.

        Nothing is added to the counts of begin and end. The scores are in double precision.

        Parameters
        ----------
        values : ndarray of shape (n_tokens, n_labels)
            Zero in the mean at every token.
        out : PartCounts
        """
        left_out, lengths = np.zeros(len(self.log_z), dtype=bool), np.diff(self._offsets)
        left_out[self._in_logarithms] = True
        huge = np.flatnonzero(np.abs(values).max(axis=1, initial=0.0) > LARGEST)
        left_out[np.repeat(np.arange(len(lengths)), lengths)[huge]] = True
        lock_step.covariances(
            self._offsets,
            self._order,
            *self._scores,
            *self._work,
            left_out.view(np.uint8),
            values,
            out.state,
            out.transition,
            out.edges,
        )
        which = np.flatnonzero(left_out)
        if len(which):
            offsets, tokens, parts = self._take(which)
            direction = PartCounts.zeros(parts, values[tokens])
            means = PathMeans(Messages(offsets, parts), *direction[:2], direction.edges)
            counts = PartCounts.zeros(parts)._replace(transition=out.transition, edges=out.edges)
            out.state[tokens] += means.pullback(np.ones(len(which)), counts).state

    def _sum_in_logarithms(self, weight: np.ndarray, counts: PartCounts) -> None:
        """Set log_z, and add to the counts, of the sequences that underflow."""
        which = self._in_logarithms
        offsets, tokens, parts = self._take(which)
        log_z, weight = np.empty(len(which)), weight[which]
        marginals = parts.state.copy()
        forward_backward(
            offsets, marginals, *parts[1:4], *parts.edges, log_z, weight, *counts[1::3]
        )
        lengths = np.diff(offsets)
        marginals *= np.repeat(weight, lengths)[:, None]
        counts.state[tokens] += marginals
        filled = lengths > 0
        counts.begin[:] += marginals[offsets[:-1][filled]].sum(axis=0)
        counts.end[:] += marginals[offsets[1:][filled] - 1].sum(axis=0)
        self.log_z[which] = log_z

    def _take(self, sequences: np.ndarray) -> tuple[np.ndarray, np.ndarray, Parts]:
        """Offsets, tokens and parts of some of the sequences, in double precision."""
        start, stop = self._offsets[sequences], self._offsets[sequences + 1]
        tokens = joined_ranges(start, stop - start)
        return np.append(0, np.cumsum(stop - start)), tokens, self._parts.tokens(tokens)


def _potentials(parts: Parts) -> tuple:
    """exp(transition - top), top, how far the scores reach down from it, and the edges."""
    potential = np.empty(parts.transition.shape)
    top, lowest, forbids = lock_step.potentials(parts.transition, potential)
    edges, highest = parts.edges, top
    raised = edges.score
    if len(raised):
        highest = max(top, raised.max())
        lowest = min(lowest, raised.min(initial=top, where=raised > -np.inf))
        # An edge of a huge score overflows; its sequence is found by its probabilities.
        with np.errstate(over="ignore"):
            raised = np.exp(raised - top)
    return potential, top, highest - lowest, forbids, *edges[:4], raised
