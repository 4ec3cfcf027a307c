"""The gradient of a sum over shards, added up in a tree of a fixed shape."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..linear.columns import OwnColumns
from ..linear.objective import Shard
from .computing import Calls, call

__all__ = ["GradientTree", "Types"]

FAN_IN = 8
"""How many gradients are added at once, and at most on the machine of the solver."""


class Types(NamedTuple):
    """The types of weights and derivatives.

    Parameters
    ----------
    sums : dtype
        In which derivatives are added.
    wire : dtype
        In which weights and derivatives travel.
    """

    sums: np.dtype
    wire: np.dtype


class GradientTree:
    """Shards on workers, whose gradients are added on workers until few are left.

    The shape of the tree depends on the number of shards alone.

    Parameters
    ----------
    shards : list of distributed.Future or of Delayed
    columns : list of OwnColumns
        Where the weights of each shard stand in the vector of all weights.
    n_threads : int
        Of the evaluation of a shard.
    types : Types
    client : distributed.Client or None

    Attributes
    ----------
    columns : list of OwnColumns
        The same of each root, of which there are at most ``FAN_IN``.
    """

    def __init__(
        self,
        shards: Sequence[Any],
        columns: Sequence[OwnColumns],
        n_threads: int,
        types: Types,
        client: Any,
    ):
        self._shards = list(shards)
        self._how = [n_threads] * len(shards), [types.wire] * len(shards)
        self._types, self._client = types, client
        self._levels: list[_Level] = []
        self.columns = list(columns)
        while len(self.columns) > FAN_IN:
            level = _Level(self.columns, client)
            self._levels.append(level)
            self.columns = level.columns

    def __call__(self, own_weights: Iterable[np.ndarray]) -> list[tuple[float, np.ndarray]]:
        """The loss and the gradient of each root by its own weights.

        Parameters
        ----------
        own_weights : iterable of ndarray
            One for each root.

        Returns
        -------
        list of (loss, gradient)
        """
        own = [weights.astype(self._types.wire, copy=False) for weights in own_weights]
        with Calls(self._client) as calls:
            if self._levels:
                own = calls.begin(_same, own)  # each travels once to a worker
            for level in reversed(self._levels[1:]):
                own = calls.begin(_take, *level.columns_of_children(own))
            if self._levels:
                where = self._levels[0].columns_of_children(own)
                results = calls.begin(_take_and_evaluate, *where, self._shards, *self._how)
            else:
                results = calls.begin(_evaluate, own, self._shards, *self._how)
            for level in self._levels:
                groups = level.groups_of(results)
                types = [self._types] * len(groups)
                results = calls.begin(_add, level.within, level.n_weights, types, groups)
            return calls.results(results)


class _Level:
    """The branches of a tree at one height.

    Parameters
    ----------
    columns : list of OwnColumns
        Of the children of all branches.
    client : distributed.Client or None

    Attributes
    ----------
    columns : list of OwnColumns
        Of the branches: the weights that any of their children has.
    n_weights : list of int
        The number of weights of each branch.
    within : list of distributed.Future or of Delayed
        For each branch a list: where the weights of its children stand among its own.
    """

    def __init__(self, columns: Sequence[OwnColumns], client: Any):
        groups = self.groups_of(columns)
        self.columns = [_union(group) for group in groups]
        self.n_weights = [_n_weights(union) for union in self.columns]
        pairs = zip(groups, self.columns, strict=True)
        within = [[_within(child, union) for child in group] for group, union in pairs]
        self.within = call(_same, within, client=client)
        self._children = [
            (k, number) for k, group in enumerate(groups) for number in range(len(group))
        ]

    def groups_of(self, children: Sequence[Any]) -> list[Sequence[Any]]:
        """What belongs to the children of each branch."""
        return [children[start : start + FAN_IN] for start in range(0, len(children), FAN_IN)]

    def columns_of_children(self, own: Sequence[Any]) -> tuple[list[Any], list[int], list[Any]]:
        """The first arguments of :func:`_take` for all children, given the weights of branches."""
        within = [self.within[k] for k, _ in self._children]
        return within, [number for _, number in self._children], [own[k] for k, _ in self._children]


def _evaluate(
    own: np.ndarray, shard: Shard, n_threads: int, wire: np.dtype
) -> tuple[float, np.ndarray]:
    loss, gradient = shard.evaluate(own, n_threads)
    return loss, gradient.astype(wire, copy=False)


def _take_and_evaluate(
    within: list[OwnColumns],
    number: int,
    own: np.ndarray,
    shard: Shard,
    n_threads: int,
    wire: np.dtype,
) -> tuple[float, np.ndarray]:
    return _evaluate(_take(within, number, own), shard, n_threads, wire)


def _same(value: Any) -> Any:
    return value


def _take(within: list[OwnColumns], number: int, own: np.ndarray) -> np.ndarray:
    """The weights of one child among the weights of a branch."""
    return within[number].take(own)


def _add(
    within: list[OwnColumns],
    n_weights: int,
    types: Types,
    results: list[tuple[float, np.ndarray]],
) -> tuple[float, np.ndarray]:
    """The losses and gradients of all children, added in their order."""
    total = np.zeros(n_weights, dtype=types.sums)
    for columns, (_, own) in zip(within, results, strict=True):
        columns.add(own, total)
    return sum(loss for loss, _ in results), total.astype(types.wire, copy=False)


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
