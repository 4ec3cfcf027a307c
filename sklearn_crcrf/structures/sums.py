"""Sums over all paths of chains, and the expected counts that are their derivatives."""

from typing import TYPE_CHECKING

import numpy as np

from .._kernels.vectorized import lock_step
from .covariance import PathMeans
from .messages import Messages
from .scaled_sums import ScaledSums
from .scores import ScoreGradient, Scores

if TYPE_CHECKING:
    from .chain import Chain

__all__ = ["PathSums"]

# Exponentials of the scores are kept for the derivatives if their number is at most this.
KEPT = 2**24
# Products of probabilities with larger values could overflow.
LARGEST = 1e20


class PathSums(ScaledSums):
    """Sums over the paths of chains: sequences of similar length are summed in lock step."""

    _structure: "Chain"

    def add_covariances(self, values: np.ndarray, out: ScoreGradient) -> None:
        offsets, order = self._where
        left_out, lengths = np.zeros(len(self.log_z), dtype=bool), np.diff(offsets)
        left_out[self._in_logarithms] = True
        huge = np.flatnonzero(np.abs(values).max(axis=1, initial=0.0) > LARGEST)
        left_out[np.repeat(np.arange(len(lengths)), lengths)[huge]] = True
        lock_step.covariances(
            offsets,
            order,
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
            chain, tokens, scores = self._take(which)
            direction = ScoreGradient.zeros(scores, values[tokens])
            means = PathMeans(
                self._messages(chain, scores), *direction[:2], direction.token_transitions
            )
            gradient = ScoreGradient.zeros(scores)._replace(
                transition=out.transition, token_transitions=out.token_transitions
            )
            out.state[tokens] += means.pullback(np.ones(len(which)), gradient).state

    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, ...]:
        """v, alpha and their scaling."""
        n_labels, dtype = self._given.state.shape[1], self._given.state.dtype
        alpha = lock_step.empty_rows(n_tokens, n_labels, dtype)
        n_kept = n_tokens if alpha.size <= KEPT else 0
        n_rows = max(n_kept, lock_step.BLOCK_SIZE) + lock_step.SPARE_ROWS
        return np.empty((n_rows, n_labels), dtype=dtype), alpha, np.empty((n_tokens, 2))

    def _largest_block(self) -> int:
        offsets, order = self._where
        largest = order[: lock_step.BLOCK_SIZE]
        return int((offsets[largest + 1] - offsets[largest]).sum())

    def _sum(self, work: tuple[np.ndarray, ...]) -> None:
        lock_step.sum_forward(*self._where, *self._scores, *work, self.log_z)

    def _add_counts(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        adds: bool,
        gradient: ScoreGradient,
    ) -> None:
        lock_step.sum_backward(*self._where, *self._scores, *work, log_z, weight, adds, *gradient)

    @property
    def _where(self) -> tuple[np.ndarray, np.ndarray]:
        return self._structure.offsets, self._structure.longest_first

    def _messages(self, structure: "Chain", scores: Scores) -> Messages:
        return Messages(structure.offsets, scores)
