"""The shards of data in parts, on the workers of Dask."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..criteria import Criterion
from ..estimators.crf import CRF
from ..linear.parts import ModelShape, OwnColumns, Part, Survey, read_part
from ..linear.shards import Shard, ShardedObjective
from .computing import compute, persist, persist_evenly, task, tree
from .gradients import GradientTree, Types
from .parts import concrete, has_tokens, naming_part

__all__ = ["DaskShards"]


class DaskShards:
    """Makes the objectives of one model from data in parts, which stays on the workers.

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
    weight : float
        The sum of the weights of all sequences.
    dtype : dtype
        The type of the weights.
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
        self.weight = survey.weight
        described = compute([task(_described, part) for part in self._parts], client)
        numbers = [number for number, found in enumerate(described) if found is not None]
        self._parts = [self._parts[number] for number in numbers]
        self._numbers = numbers
        self.dtype = np.result_type(*(described[number][0] for number in numbers))
        self._fitted: dict[str, Any] = described[numbers[0]][1]

    def set_fitted(self, estimator: Any) -> None:
        """Set what a classifier learns of the data besides weights."""
        self.shape.set_fitted(estimator, self._fitted)

    def objective(self, criterion: Criterion, sigma: float, n_threads: int) -> ShardedObjective:
        """The objective over all sequences."""
        # As bytes, so that the scheduler does not unpack it; it travels once to each worker.
        shape = task(pickle.loads, pickle.dumps(self.shape, protocol=5))
        pairs = zip(self._numbers, self._parts, strict=True)
        made = [task(_shard, number, part, shape, criterion, self.dtype) for number, part in pairs]
        shards = persist(made, self._client)
        columns = compute([task(_columns, shard) for shard in shards], self._client)
        types = Types(self.dtype, np.dtype(self._wire_dtype or self.dtype))
        gradients = GradientTree(shards, columns, n_threads, types, self._client)
        return ShardedObjective(gradients.columns, sigma=sigma, evaluate=gradients)


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


def _described(part: Part | None) -> tuple[np.dtype, dict[str, Any]] | None:
    """The type of the attributes of a part, and what validation found in its X."""
    return None if part is None else (part.corpus.X.dtype, part.fitted)


def _shard(
    number: int, part: Part, shape: ModelShape, criterion: Criterion, dtype: np.dtype
) -> Shard:
    with naming_part(number):
        return Shard.of(part, shape, criterion, dtype)


def _columns(shard: Shard) -> OwnColumns:
    return shard.columns
