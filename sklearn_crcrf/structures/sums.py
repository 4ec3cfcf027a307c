"""Sums over all paths of chains, and the expected counts that are their derivatives."""

import numpy as np

from .._kernels.vectorized import lock_step
from ..data.ragged import joined_ranges
from .covariance import PathMeans
from .messages import Messages, ends
from .scores import AddTo, ScoreGradient, Scores

__all__ = ["PathSums"]

# Exponentials of the scores are kept for the derivatives if their number is at most this.
KEPT = 2**24
# Products of probabilities with larger values could overflow.
LARGEST = 1e20


class PathSums:
    """The log-partition of each sequence, and what is needed for its derivative.

    Probabilities are scaled, and sequences of similar length are summed in lock step. A sequence
    in which a probability could underflow is summed again in logarithms. Either
    :meth:`sum_forward` sums all sequences forward, and :meth:`pullback` goes backward when it is
    called; or, if the weights are known, :meth:`counts` goes forward and backward block by block:
    then it keeps few probabilities, which are still in the cache when they are needed.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    order : ndarray of shape (n_sequences,), int64
        The sequences, the longest first.
    scores : Scores

    Attributes
    ----------
    log_z : ndarray of shape (n_sequences,)
        -inf where no path is possible, 0 for an empty sequence.
    """

    def __init__(self, offsets: np.ndarray, order: np.ndarray, scores: Scores):
        self._offsets, self._order, self._given = offsets, order, scores
        self._scores = (scores.state, scores.begin, scores.end, *_potentials(scores))
        self.log_z = np.empty(len(order))

    def sum_forward(self) -> np.ndarray:
        """Compute the log-partitions, and keep what the pullback needs."""
        self._work = self._work_of(len(self._given.state))
        lock_step.sum_forward(self._offsets, self._order, *self._scores, *self._work, self.log_z)
        self._sum_in_logarithms()
        return self.log_z

    def counts(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """Compute the log-partitions, and return their score gradient, at once."""
        largest = self._order[: lock_step.BLOCK_SIZE]
        n_tokens = int((self._offsets[largest + 1] - self._offsets[largest]).sum())
        return self._sum_backward(self._work_of(n_tokens), self.log_z, weight, out)

    def pullback(self, weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the log-partitions times their weights, added to ``out``.

        Parameters
        ----------
        weight : ndarray of shape (n_sequences,)
        out : ScoreGradient or ndarray, optional

        Returns
        -------
        ScoreGradient
        """
        return self._sum_backward(self._work, None, weight, out)

    def add_covariances(self, values: np.ndarray, out: ScoreGradient) -> None:
        """Add the covariances of two functions of paths to a score gradient.

        The first function is how often a path uses each score, the second is the sum of the values
        of its labels. Nothing is added to ``begin`` and ``end``. The scores must be in double
        precision.

        Parameters
        ----------
        values : ndarray of shape (n_tokens, n_labels)
            With a mean of zero at every token.
        out : ScoreGradient
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
            out.token_transitions,
        )
        which = np.flatnonzero(left_out)
        if len(which):
            offsets, tokens, scores = self._take(which)
            direction = ScoreGradient.zeros(scores, values[tokens])
            means = PathMeans(
                Messages(offsets, scores), *direction[:2], direction.token_transitions
            )
            gradient = ScoreGradient.zeros(scores)._replace(
                transition=out.transition, token_transitions=out.token_transitions
            )
            out.state[tokens] += means.pullback(np.ones(len(which)), gradient).state

    def _sum_backward(
        self, work: tuple, log_z: np.ndarray | None, weight: np.ndarray, out: AddTo
    ) -> ScoreGradient:
        """The score gradient; and the log-partitions, written to ``log_z`` if it is given."""
        adds = isinstance(out, ScoreGradient)
        if isinstance(out, ScoreGradient):
            gradient = out
        else:
            state = np.empty_like(self._given.state) if out is None else out
            gradient = ScoreGradient.zeros(self._given, state)
        in_probabilities = np.array(weight, dtype=float)
        if log_z is None:
            in_probabilities[self._in_logarithms] = 0.0
        where = self._offsets, self._order
        lock_step.sum_backward(
            *where, *self._scores, *work, log_z, in_probabilities, adds, *gradient
        )
        if log_z is not None:
            self._sum_in_logarithms()
        if len(self._in_logarithms):
            self._add_in_logarithms(np.asarray(weight, dtype=float), gradient)
        return gradient

    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays for sums over ``n_tokens`` tokens: v, alpha and their scaling."""
        n_labels, dtype = self._given.state.shape[1], self._given.state.dtype
        alpha = lock_step.empty_rows(n_tokens, n_labels, dtype)
        n_kept = n_tokens if alpha.size <= KEPT else 0
        n_rows = max(n_kept, lock_step.BLOCK_SIZE) + lock_step.SPARE_ROWS
        return np.empty((n_rows, n_labels), dtype=dtype), alpha, np.empty((n_tokens, 2))

    def _sum_in_logarithms(self) -> None:
        """Sum the sequences again, in logarithms, whose log-partition is NaN."""
        self._in_logarithms = np.flatnonzero(np.isnan(self.log_z))
        if len(self._in_logarithms):
            below, self._tokens, scores = self._take(self._in_logarithms)
            self._messages = Messages(below, scores)
            self.log_z[self._in_logarithms] = self._messages.log_z

    def _add_in_logarithms(self, weight: np.ndarray, counts: ScoreGradient) -> None:
        """Add the expected counts of the sequences that are summed in logarithms."""
        weight = weight[self._in_logarithms]
        marginals = self._messages.add_expected(weight, counts.transition, counts.token_transitions)
        first, last = ends(self._messages.offsets)
        counts.state[self._tokens] += marginals
        counts.begin[:] += marginals[first].sum(axis=0)
        counts.end[:] += marginals[last].sum(axis=0)

    def _take(self, sequences: np.ndarray) -> tuple[np.ndarray, np.ndarray, Scores]:
        """Offsets, tokens and scores of some of the sequences, in double precision."""
        start, stop = self._offsets[sequences], self._offsets[sequences + 1]
        tokens = joined_ranges(start, stop - start)
        return np.append(0, np.cumsum(stop - start)), tokens, self._given.tokens(tokens)


def _potentials(scores: Scores) -> tuple:
    """exp(transition - top), top, the range of scores, if any is -inf, and token transitions."""
    potential = np.empty(scores.transition.shape)
    top, lowest, forbids = lock_step.potentials(scores.transition, potential)
    edges, highest = scores.token_transitions, top
    raised = edges.score
    if len(raised):
        highest = max(top, raised.max())
        lowest = min(lowest, raised.min(initial=top, where=raised > -np.inf))
        # A huge score overflows; the probabilities of its sequence show that later.
        with np.errstate(over="ignore"):
            raised = np.exp(raised - top)
    return potential, top, highest - lowest, forbids, *edges[:4], raised
