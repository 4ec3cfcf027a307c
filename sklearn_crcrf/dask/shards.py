"""The shards of data in parts, on the workers of Dask, and the sum of their gradients."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..criteria import Criterion
from ..linear.objective import AddParts, OwnColumns, Shard, elsewhere
from ..linear.parts import ModelShape, Part, Survey, read_part
from .computing import FAN_IN, Calls, call, compute, persist, persist_evenly, sent, task, tree
from .parts import concrete, has_tokens, naming_part


class DaskParts:
    """Training data in parts, which are read on the workers and stay there.

    Parameters
    ----------
    parts : list of (X, y, sample_weight)
        Delayed objects.
    local : classifier
        Says how the parts are read.
    client : distributed.Client or None
    read : callable
        Takes the classifier and a part, and returns a Part.
    **shape
        The parameters of :meth:`~sklearn_crcrf.linear.parts.Survey.shape`.

    Attributes
    ----------
    parts : list of distributed.Future or of Delayed
        A Part, or the number of sequences, if they have no tokens.
    shape : ModelShape
    """

    def __init__(
        self,
        parts: Sequence[tuple],
        local: Any,
        client: Any,
        read: Callable[..., Part] = read_part,
        **shape: Any,
    ):
        begun = [task(_read, read, local, number, *part) for number, part in enumerate(parts)]
        self.parts = persist_evenly(begun, client)
        survey = compute(tree(_unite, [task(_survey, part) for part in self.parts]), client)
        if survey is None:
            raise ValueError("X has no tokens: at least one sequence must not be empty")
        self.shape: ModelShape = survey.shape(**shape)


class DaskShards:
    """Makes the shards of one model from data in parts, which stays on the workers.

    Parameters
    ----------
    data : DaskParts
    client : distributed.Client or None
    wire_dtype : dtype or None
        The type in which weights and derivatives travel; by default their own.

    Attributes
    ----------
    shape : ModelShape
    """

    def __init__(self, data: DaskParts, client: Any, wire_dtype: Any):
        self._parts, self.shape = data.parts, data.shape
        self._client, self._wire_dtype = client, wire_dtype

    def evaluation(self, criterion: Criterion, n_threads: int) -> AddParts:
        """How an objective evaluates the shards."""
        gradients = self.gradients(criterion, n_threads)
        return elsewhere(gradients.columns, gradients)

    def gradients(self, criterion: Criterion, n_threads: int) -> "GradientTree":
        """Make the shards, and the tree that adds their gradients."""
        shape, parts = sent(self.shape), enumerate(self._parts)
        made = [task(_shard, number, part, shape, criterion) for number, part in parts]
        wire = np.dtype(self._wire_dtype or self.shape.dtype)
        return gradient_tree(made, n_threads, self.shape.dtype, wire, self._client)


def gradient_tree(
    made: Sequence[Any], n_threads: int, dtype: np.dtype, wire: np.dtype, client: Any
) -> "GradientTree":
    """Make shards on the workers, and the tree that adds their gradients.

    Parameters
    ----------
    made : list of Delayed
        Shards, or None where there is none.
    n_threads, dtype, wire, client : as of :class:`GradientTree`
    """
    shards = persist(made, client)
    columns = compute([task(_columns, shard) for shard in shards], client)
    there = [number for number, own in enumerate(columns) if own is not None]
    shards, columns = ([of_all[number] for number in there] for of_all in (shards, columns))
    return GradientTree(shards, columns, n_threads, dtype, wire, client)


class _Level(NamedTuple):
    """The branches of a tree at one height.

    Parameters
    ----------
    within : list of distributed.Future or of Delayed
        For each child: where its weights stand among the weights of its branch.
    n_weights : list of int
        The number of weights of each branch.
    """

    within: list[Any]
    n_weights: list[int]


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
    dtype : dtype
        In which derivatives are added.
    wire : dtype
        In which weights and derivatives travel.
    client : distributed.Client or None

    Attributes
    ----------
    columns : list of OwnColumns
        The same of each root, of which there are at most ``FAN_IN``.
    """

    def __init__(
        self,
        shards: list[Any],
        columns: list[OwnColumns],
        n_threads: int,
        dtype: np.dtype,
        wire: np.dtype,
        client: Any,
    ):
        self._shards, self._n_threads, self._dtype, self._wire = shards, n_threads, dtype, wire
        self._client, self.columns = client, columns
        self._levels: list[_Level] = []
        while len(self.columns) > FAN_IN:
            unions = [_union(group) for group in _groups(self.columns)]
            children = enumerate(self.columns)
            within = [_within(child, unions[number // FAN_IN]) for number, child in children]
            sizes = [union.n_own_node + len(union.shared) for union in unions]
            self._levels.append(_Level(call(_same, within, client=client), sizes))
            self.columns = unions

    def __call__(self, own_weights: Iterable[np.ndarray]) -> list[tuple[float, np.ndarray]]:
        """Evaluate all shards.

        Parameters
        ----------
        own_weights : iterable of ndarray
            One for each root.

        Returns
        -------
        list of (loss, gradient)
            Of each root by its own weights.
        """
        own: list[Any] = [weights.astype(self._wire, copy=False) for weights in own_weights]
        n = len(self._shards)
        within: list[Any] = [None] * n
        with Calls(self._client) as calls:
            if self._levels:
                own = calls.begin(_same, own)  # each travels once to a worker
            for level in reversed(self._levels[1:]):
                own = calls.begin(_take, level.within, _of_branches(own, level))
            if self._levels:
                within, own = self._levels[0].within, _of_branches(own, self._levels[0])
            how = [self._n_threads] * n, [self._wire] * n
            results = calls.begin(_evaluate, within, own, self._shards, *how)
            for within, sizes in self._levels:
                types = [self._dtype] * len(sizes), [self._wire] * len(sizes)
                results = calls.begin(_add, _groups(within), _groups(results), sizes, *types)
            return calls.results(results)


def _groups(children: Sequence[Any]) -> list[Sequence[Any]]:
    """Return what belongs to the children of each branch."""
    return [children[start : start + FAN_IN] for start in range(0, len(children), FAN_IN)]


def _of_branches(values: Sequence[Any], level: _Level) -> list[Any]:
    """Return for each child the value of its branch."""
    return [values[number // FAN_IN] for number in range(len(level.within))]


def _union(columns: Sequence[OwnColumns]) -> OwnColumns:
    """Return the weights that any of several shards has."""
    node = np.unique(np.concatenate([own.node for own in columns]))
    shared = np.unique(np.concatenate([own.shared for own in columns]))
    return columns[0]._replace(node=node, shared=shared)


def _within(own: OwnColumns, union: OwnColumns) -> OwnColumns:
    """Return where the weights of a shard stand among the weights of several."""
    shared = union.n_own_node + np.searchsorted(union.shared, own.shared)
    return OwnColumns(np.searchsorted(union.node, own.node), own.width, union.n_own_node, shared)


# What workers do:


def _read(
    read: Callable[..., Part], local: Any, number: int, X: Any, y: Any, sample_weight: Any
) -> Part | int:
    """Encode a part; return the number of its sequences if they have no tokens."""
    X, y = concrete(X), concrete(y)
    if not has_tokens(X) and not has_tokens(y):
        return len(X)
    with naming_part(number):
        return read(local, X, y, concrete(sample_weight))


def _survey(part: Part | int) -> Survey | None:
    return None if isinstance(part, int) else Survey.of(part)


def _unite(surveys: list[Survey | None]) -> Survey | None:
    """Survey neighbouring parts; None if they have no tokens."""
    there = [survey for survey in surveys if survey is not None]
    return Survey.unite(there) if there else None


def _shard(number: int, part: Part | int, shape: ModelShape, criterion: Criterion) -> Shard | None:
    if isinstance(part, int):
        return None
    with naming_part(number):
        return shape.shard(part, criterion, shape.dtype)


def _columns(shard: Shard | None) -> OwnColumns | None:
    return None if shard is None else shard.columns


def _same(value: Any) -> Any:
    return value


def _take(within: OwnColumns, own: np.ndarray) -> np.ndarray:
    """Return the weights of a child among the weights of its branch."""
    return within.take(own)


def _evaluate(
    within: OwnColumns | None, own: np.ndarray, shard: Shard, n_threads: int, wire: np.dtype
) -> tuple[float, np.ndarray]:
    """Evaluate a shard, given its own weights, or the weights of its branch."""
    loss, gradient = shard.evaluate(own if within is None else within.take(own), n_threads)
    return loss, gradient.astype(wire, copy=False)


def _add(
    within: list[OwnColumns],
    results: list[tuple[float, np.ndarray]],
    n_weights: int,
    dtype: np.dtype,
    wire: np.dtype,
) -> tuple[float, np.ndarray]:
    """Add the losses and gradients of all children in their order."""
    total = np.zeros(n_weights, dtype=dtype)
    for columns, (_, own) in zip(within, results, strict=True):
        columns.add(own, total)
    return sum(loss for loss, _ in results), total.astype(wire, copy=False)
