"""Forests: trees of labels, in which the parent of a token is the token before it."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._kernels.chain.scores import BatchScores
from ..._kernels.tree import sums as trees
from ..._kernels.tree.messages import TreeRows, level_order
from ...data.ragged import joined_ranges
from ..chain.chain import Chain
from ..pieces import Pieces
from ..rooted import Rooted
from ..scores import Pullback, Scores
from .covariance import TreeMeans
from .excluding import TreesExcluding, best_excluding
from .messages import TreeMessages
from .sums import TreeSums

__all__ = ["Forest", "TreeOrder"]


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
    >>> from sklearn_crcrf.structures.tree.forest import TreeOrder
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


class Forest(Rooted):
    """Trees of labels over the tokens of a batch: each token has at most one parent.

    A unit may have several roots. A link is from a parent to its child: roots have begin scores,
    leaves have end scores, and the transition scores of a token are for the link from its parent.
    All recursions of chains hold, from the leaves to the roots and back (Pearl 1988); a path is a
    chain.

    A forest has all capabilities but spans and the k best labellings. Each method is documented
    where it is declared, in :class:`~sklearn_crcrf.structures.Structure` or
    :class:`~sklearn_crcrf.structures.capabilities.Capabilities`.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
    parent : ndarray of shape (n_tokens,), int64
        The number of the parent among all tokens, -1 for a root.

    Raises
    ------
    ValueError
        If a parent is not a token of the same unit, or the parents make a cycle.

    References
    ----------
    Pearl, *Probabilistic Reasoning in Intelligent Systems*, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Forest, Scores
    >>> forest = Forest(np.array([0, 3]), np.array([1, -1, 1]))
    >>> scores = Scores.of(np.array([[0.0, 0.5], [1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    >>> forest.maximum(scores)
    (array([3.]), array([0, 0, 0], dtype=int32))
    >>> log_z, marginals = forest.marginals(scores)
    >>> np.round(marginals, 3)
    array([[0.461, 0.539],
           [0.633, 0.367],
           [0.461, 0.539]])
    """

    def __init__(self, offsets: np.ndarray, parent: np.ndarray):
        super().__init__(offsets)
        self.parent = np.ascontiguousarray(parent, dtype=np.int64)
        _check_parents(self.offsets, self.parent)
        self.order = TreeOrder.of(self.offsets, self.parent)

    @classmethod
    def _of(cls, offsets: np.ndarray, parent: np.ndarray) -> "Forest":
        """Of parents that are known to make trees."""
        forest = cls.__new__(cls)
        forest.offsets, forest.parent = offsets, parent
        return forest

    @cached_property
    def order(self) -> TreeOrder:
        """The order in which recursions go through the tokens."""
        return TreeOrder.of(self.offsets, self.parent)

    @cached_property
    def rows(self) -> TreeRows:
        """The same order, as one argument of kernels."""
        return TreeRows(*self.order)

    @property
    def before(self) -> np.ndarray:
        return self.parent

    def take(self, units: slice | np.ndarray) -> "Forest":
        if isinstance(units, slice):
            start, stop, _ = units.indices(self.n_units)
            offsets = self.offsets[start : stop + 1]
            parent, origin = self.parent[offsets[0] : offsets[-1]], offsets[0]
            return Forest._of(offsets - origin, np.where(parent < 0, -1, parent - origin))
        starts, lengths = self.offsets[units], self.offsets[units + 1] - self.offsets[units]
        offsets = np.append(0, np.cumsum(lengths))
        parent = self.parent[joined_ranges(starts, lengths)]
        moved = parent + np.repeat(offsets[:-1] - starts, lengths)
        return Forest._of(offsets, np.where(parent < 0, -1, moved))

    def sums(self, scores: Scores) -> TreeSums:
        return TreeSums(self, self.rows, scores)

    def messages(self, scores: Scores) -> TreeMessages:
        return TreeMessages(self, self.rows, scores)

    def means(
        self,
        messages: TreeMessages,
        v_state: np.ndarray,
        v_transition: np.ndarray,
        v_edges: np.ndarray,
    ) -> TreeMeans:
        return TreeMeans(messages, v_state, v_transition, v_edges)

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; of ties, the lowest labels of the nodes next to a root."""
        return self._maximum(scores, None)

    def _maximum(self, scores: Scores, best: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        value, y = np.empty(self.n_units), np.empty(self.n_tokens, dtype=np.int32)
        batch = BatchScores(self.offsets, scores)
        trees.max_trees(self.rows, batch, scores.state, best, y, value)
        return value, y

    def best_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best = np.empty(scores.state.shape)
        value, _ = self._maximum(scores, best)
        labels, is_possible = best_excluding(self, self.rows, scores, y, best)
        differing = np.where(is_possible, self.score(scores, labels)[0], -np.inf)
        return np.where(np.isnan(value), value, differing), labels

    def log_partition_excluding(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.log_partition_excluding`.

        It is exact even where the given labelling outweighs all others so much that
        log(Z - exp(its score)) would be lost to rounding.
        """
        others = TreesExcluding(self, scores, y)
        return others.value, others.pullback

    def pieces(self, scores: Scores, with_tokens: bool = False) -> Pieces:
        return Pieces(self, scores, with_tokens, Chain)

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        return self.messages(scores).sample(n_samples, rng)


def _check_parents(offsets: np.ndarray, parent: np.ndarray) -> None:
    """Raise ValueError if a parent is not a token of the same unit."""
    if len(parent) != offsets[-1]:
        raise ValueError(f"parent has {len(parent)} elements, but there are {offsets[-1]} tokens")
    lengths = np.diff(offsets)
    start, stop = (np.repeat(ends, lengths) for ends in (offsets[:-1], offsets[1:]))
    wrong = (parent != -1) & ((parent < start) | (parent >= stop))
    if wrong.any():
        token = int(wrong.argmax())
        unit = int(np.searchsorted(offsets, token, side="right")) - 1
        raise ValueError(
            f"parent: token {token - start[token]} of unit {unit} has the parent {parent[token]}, "
            "which is no token of the unit"
        )
