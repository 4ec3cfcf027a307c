"""Sums over all paths of chains, and the expected counts that are their derivatives."""

import numpy as np

from ..._kernels.chain import lock_step
from ..._kernels.chain.scores import BatchCounts
from ..scaled_sums import ScaledSums, TreeSums
from ..scores import ScoreGradient

# Exponentials of the scores are kept for the derivatives if their number is at most this.
KEPT = 2**24


class PathSums(ScaledSums):
    """Sums over the paths of chains: sequences of similar length are summed in lock step.

    Parameters
    ----------
    structure : Chain
    scores : Scores
    """

    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, ...]:
        """v, alpha and their scaling."""
        n_labels, dtype = self._given.state.shape[1], self._given.state.dtype
        alpha = lock_step.empty_rows(n_tokens, n_labels, dtype)
        n_kept = n_tokens if n_tokens * n_labels <= KEPT else 0
        n_rows = max(n_kept, lock_step.BLOCK_SIZE) + lock_step.SPARE_ROWS
        return np.empty((n_rows, n_labels), dtype=dtype), alpha, np.empty((n_tokens, 2))

    def _largest_block(self) -> int:
        chain = self._structure
        largest = chain.longest_first[: lock_step.BLOCK_SIZE]
        return int((chain.offsets[largest + 1] - chain.offsets[largest]).sum())

    def _sum(self, work: tuple[np.ndarray, ...]) -> None:
        given = self._potentials, self._structure.longest_first, self._given.state
        lock_step.sum_forward(*given, *work, self.log_z)

    def _add_counts(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        adds: bool,
        gradient: ScoreGradient,
    ) -> None:
        given = self._potentials, self._structure.longest_first, self._given.state
        counts = gradient.state, BatchCounts(gradient)
        lock_step.sum_backward(*given, *work, log_z, weight, adds, *counts)

    def marginals(self) -> np.ndarray:
        given = self._given
        gradient = ScoreGradient.zeros(given, np.zeros_like(given.state))
        # Transitions are counted only where probabilities could underflow.
        uncounted = gradient._replace(transition=np.empty((0, 0)))
        weight = np.ones(self._structure.n_units)
        self._add_counts(self._work_of(self._largest_block()), self.log_z, weight, False, uncounted)
        self._sum_again()
        self._add_again(np.ones_like(self.log_z), gradient)
        return gradient.state

    def covariances(self, values: np.ndarray, out: ScoreGradient) -> np.ndarray:
        sums = TreeSums(self._structure, self._given)
        sums.log_partition()
        return sums.covariances(values, out)
