"""The gradient of a sum over shards, added up in a tree of a fixed shape."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..linear.parts import OwnColumns
from ..linear.shards import Shard
from .computing import persist, task

__all__ = ["Branch", "Leaf", "branches"]

FAN_IN = 8
"""How many gradients are added at once, and at most on the machine of the solver."""


class Leaf(NamedTuple):
    """A shard on a worker.

    Parameters
    ----------
    shard : Delayed
    columns : OwnColumns
        Where its weights stand in the vector of all weights.
    n_threads : int
    """

    shard: Any
    columns: OwnColumns
    n_threads: int

    def derivatives(self, own: Any) -> Any:
        """The loss and its gradient, given the own weights, as a Delayed object."""
        return task(_evaluate, self.shard, own, self.n_threads)


class Branch:
    """Several shards, whose weights are sent to a worker and whose gradients are added there.

    Parameters
    ----------
    children : list of Leaf or Branch
    client : distributed.Client or None

    Attributes
    ----------
    columns : OwnColumns
        Where the weights of all children stand in the vector of all weights.
    """

    def __init__(self, children: Sequence[Any], client: Any):
        self._children = list(children)
        self.columns = _union([child.columns for child in children])
        within = [_within(child.columns, self.columns) for child in children]
        (self._within,) = persist([task(_same, within)], client)

    def derivatives(self, own: Any) -> Any:
        """As :meth:`Leaf.derivatives`."""
        once = task(_same, own)
        results = [
            child.derivatives(task(_take, self._within, number, once))
            for number, child in enumerate(self._children)
        ]
        return task(_add, self._within, _n_weights(self.columns), results)


def branches(leaves: Sequence[Any], client: Any) -> list[Any]:
    """The roots of trees over leaves, in order; the shape depends on the number of leaves alone.

    Parameters
    ----------
    leaves : list of Leaf
    client : distributed.Client or None

    Returns
    -------
    list of Leaf or Branch
        At most ``FAN_IN``.
    """
    level = list(leaves)
    while len(level) > FAN_IN:
        groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
        level = [Branch(group, client) if len(group) > 1 else group[0] for group in groups]
    return level


def _evaluate(shard: Shard, own: np.ndarray, n_threads: int) -> tuple[float, np.ndarray]:
    return shard.evaluate(own, n_threads)


def _same(value: Any) -> Any:
    return value


def _take(within: list[OwnColumns], number: int, own: np.ndarray) -> np.ndarray:
    """The weights of one child among the weights of a branch."""
    return within[number].take(own)


def _add(
    within: list[OwnColumns], n_weights: int, results: list[tuple[float, np.ndarray]]
) -> tuple[float, np.ndarray]:
    """The losses and gradients of all children, added in their order."""
    total = np.zeros(n_weights, dtype=np.result_type(*(own for _, own in results)))
    for columns, (_, own) in zip(within, results, strict=True):
        columns.add(own, total)
    return sum(loss for loss, _ in results), total


def _union(columns: Sequence[OwnColumns]) -> OwnColumns:
    """The weights that any of several shards has."""
    node = np.unique(np.concatenate([own.node for own in columns]))
    shared = np.unique(np.concatenate([own.shared for own in columns]))
    return columns[0]._replace(node=node, shared=shared)


def _within(own: OwnColumns, union: OwnColumns) -> OwnColumns:
    """Where the weights of a shard stand among the weights of several."""
    shared = union.n_own_node + np.searchsorted(union.shared, own.shared)
    node = np.searchsorted(union.node, own.node)
    return OwnColumns(node, own.width, union.n_own_node, shared)


def _n_weights(own: OwnColumns) -> int:
    return own.n_own_node + len(own.shared)
