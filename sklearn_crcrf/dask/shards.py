"""The shards of data in parts, on the workers of Dask."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..criteria import Criterion
from ..estimators.crf import CRF
from ..linear.columns import OwnColumns
from ..linear.objective import AddParts, Shard, elsewhere
from ..linear.parts import ModelShape, Part, Survey, read_part
from .computing import compute, persist, persist_evenly, task, tree
from .gradients import GradientTree, Types
from .parts import concrete, has_tokens, naming_part

__all__ = ["DaskShards"]


class DaskShards:
    """Makes the shards of one model from data in parts, which stays on the workers.

    Parameters
    ----------
    parts : list of (X, y, sample_weight)
        Delayed objects.
    local : CRF
        Says how the parts are read.
    client : distributed.Client or None
    wire_dtype : dtype or None
        The type in which weights and derivatives travel; by default their own.
    **shape
        The parameters of :meth:`~sklearn_crcrf.linear.parts.Survey.shape`.

    Attributes
    ----------
    shape : ModelShape
    """

    def __init__(
        self, parts: Sequence[tuple], local: CRF, client: Any, wire_dtype: Any, **shape: Any
    ):
        self._client, self._wire_dtype = client, wire_dtype
        read = [task(_read, local, number, *part) for number, part in enumerate(parts)]
        self._parts = persist_evenly(read, client)
        survey = compute(tree(_unite, [task(_survey, part) for part in self._parts]), client)
        if survey is None:
            raise ValueError("X has no tokens: at least one sequence must not be empty")
        self.shape: ModelShape = survey.shape(**shape)

    def evaluation(self, criterion: Criterion, n_threads: int) -> AddParts:
        """How an objective evaluates the shards."""
        # As bytes, so that the scheduler does not unpack it; it travels once to each worker.
        shape = task(pickle.loads, pickle.dumps(self.shape, protocol=5))
        parts = enumerate(self._parts)
        made = [task(_shard, number, part, shape, criterion) for number, part in parts]
        shards = persist(made, self._client)
        columns = compute([task(_columns, shard) for shard in shards], self._client)
        there = [number for number, own in enumerate(columns) if own is not None]
        shards, columns = ([of_all[number] for number in there] for of_all in (shards, columns))
        types = Types(self.shape.dtype, np.dtype(self._wire_dtype or self.shape.dtype))
        gradients = GradientTree(shards, columns, n_threads, types, self._client)
        return elsewhere(gradients.columns, gradients)


def _read(local: CRF, number: int, X: Any, y: Any, sample_weight: Any) -> Part | None:
    """An encoded part; None if it has no tokens."""
    X, y = concrete(X), concrete(y)
    if not has_tokens(X) and not has_tokens(y):
        return None
    weights = None if sample_weight is None else concrete(sample_weight)
    with naming_part(number):
        return read_part(local, X, y, weights)


def _survey(part: Part | None) -> Survey | None:
    return None if part is None else Survey.of(part)


def _unite(surveys: list[Survey | None]) -> Survey | None:
    """The survey of neighbouring parts; None if they have no tokens."""
    there = [survey for survey in surveys if survey is not None]
    return Survey.unite(there) if there else None


def _shard(number: int, part: Part | None, shape: ModelShape, criterion: Criterion) -> Shard | None:
    if part is None:
        return None
    with naming_part(number):
        return shape.shard(part, criterion, shape.dtype)


def _columns(shard: Shard | None) -> OwnColumns | None:
    return None if shard is None else shard.columns
