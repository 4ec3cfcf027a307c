"""Sums over all labellings of trees, and the expected counts that are their derivatives."""

import numpy as np

from ..._kernels.chain.scores import BatchCounts
from ..._kernels.tree import sums as trees
from ..._kernels.tree.messages import TreeRows
from ..base import Structure
from ..scaled_sums import ScaledSums
from ..scores import ScoreGradient, Scores

__all__ = ["TreeSums"]


class TreeSums(ScaledSums):
    """Sums over the labellings of trees: the nodes of a level of a block are summed together.

    Parameters
    ----------
    structure : Structure
    rows : TreeRows
        The order in which the recursions go through the tokens.
    scores : Scores
    """

    def __init__(self, structure: Structure, rows: TreeRows, scores: Scores):
        super().__init__(structure, scores)
        self._rows = rows

    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, ...]:
        """b and m."""
        n_labels, dtype = self._given.state.shape[1], self._given.state.dtype
        return tuple(trees.empty_rows(n_tokens, n_labels, dtype) for _ in range(2))

    def _largest_block(self) -> int:
        return self._rows.largest_block

    def _sum(self, work: tuple[np.ndarray, ...]) -> None:
        given = self._rows, self._potentials, self._given.state
        trees.sum_up(*given, *work, self.log_z)

    def _add_counts(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        adds: bool,
        gradient: ScoreGradient,
    ) -> None:
        given = self._rows, self._potentials, self._given.state
        counts = gradient.state, BatchCounts(gradient)
        trees.sum_down(*given, *work, log_z, weight, adds, *counts)

    def _add_covariances(
        self, left_out: np.ndarray, values: np.ndarray, out: ScoreGradient
    ) -> None:
        given = self._rows, self._potentials
        trees.tree_covariances(*given, *self._work, left_out, values, out.state, BatchCounts(out))
