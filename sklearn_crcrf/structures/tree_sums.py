"""Sums over all labellings of trees, and the expected counts that are their derivatives."""

from typing import TYPE_CHECKING

import numpy as np

from .._kernels.vectorized import trees
from .scaled_sums import ScaledSums
from .scores import ScoreGradient

if TYPE_CHECKING:
    from .forest import Forest

__all__ = ["TreeSums"]


class TreeSums(ScaledSums):
    """Sums over the labellings of trees: the nodes of a level of a block are summed together."""

    _structure: "Forest"

    def _work_of(self, n_tokens: int) -> tuple[np.ndarray, ...]:
        """b and m."""
        n_labels, dtype = self._given.state.shape[1], self._given.state.dtype
        return tuple(trees.empty_rows(n_tokens, n_labels, dtype) for _ in range(2))

    def _largest_block(self) -> int:
        return self._structure.order.largest_block

    def _sum(self, work: tuple[np.ndarray, ...]) -> None:
        trees.sum_up(*self._structure.order, *self._scores, *work, self.log_z)

    def _add_counts(
        self,
        work: tuple[np.ndarray, ...],
        log_z: np.ndarray | None,
        weight: np.ndarray,
        adds: bool,
        gradient: ScoreGradient,
    ) -> None:
        where = self._structure.order
        trees.sum_down(*where, *self._scores, *work, log_z, weight, adds, *gradient)

    def _add_covariances(
        self, left_out: np.ndarray, values: np.ndarray, out: ScoreGradient
    ) -> None:
        where, (state, transition, _, _, edges) = self._structure.order, out
        trees.tree_covariances(
            *where, *self._scores, *self._work, left_out, values, state, transition, edges
        )
