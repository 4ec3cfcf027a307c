"""The order in which recursions go through the nodes of trees."""

from typing import NamedTuple

import numpy as np

from ..._kernels.tree.messages import level_order

__all__ = ["TreeOrder"]


class TreeOrder(NamedTuple):
    """Nodes in rows, level by level from the roots down, in blocks of trees of similar depth.

    The children of a node have consecutive rows.

    Parameters
    ----------
    level_start : ndarray of shape (n_levels + 1,), int64
        Where the rows of each level of each block begin.
    block_level : ndarray of shape (n_blocks + 1,), int64
        The first level of each block.
    token, unit : ndarray of shape (n_tokens,), int64
        The token and the unit of each row.
    parent_row, first_child, n_children : ndarray of shape (n_tokens,), int64
        The rows of the parent, -1 for a root, and of the first child, and the number of children.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.tree.order import TreeOrder
    >>> order = TreeOrder.of(np.array([0, 4]), np.array([1, -1, 1, 2]))
    >>> order.token, order.level_start
    (array([1, 0, 2, 3]), array([0, 1, 3, 4]))
    """

    level_start: np.ndarray
    block_level: np.ndarray
    token: np.ndarray
    unit: np.ndarray
    parent_row: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray, parent: np.ndarray) -> "TreeOrder":
        """The order of the nodes of trees.

        Parameters
        ----------
        offsets : ndarray of shape (n_units + 1,), int64
        parent : ndarray of shape (n_tokens,), int64
            Of the same unit; -1 for a root.

        Returns
        -------
        TreeOrder

        Raises
        ------
        ValueError
            If parents make a cycle.
        """
        rows = np.empty((5, len(parent)), dtype=np.int64)
        level_start, block_level, cycle = level_order(offsets, parent, *rows)
        if cycle >= 0:
            raise ValueError(f"the parents of unit {cycle} make a cycle")
        return cls(level_start, block_level, *rows)
