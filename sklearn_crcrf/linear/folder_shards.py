"""The shards of a corpus folder, one of which is mapped into memory at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from ..criteria import Criterion
from ..out_of_core import CorpusFolder
from .parts import ModelShape, OwnColumns, Part, Survey, read_part
from .sharded_batches import ShardedBatches
from .shards import BatchShard, Shard, ShardedObjective, own_corpus
from .spool import Spool

__all__ = ["FolderShards"]


class FolderShards:
    """Makes the objectives of one model from a corpus folder.

    The shards are made when they are first asked for, and kept in files that vanish at the end of
    this context.

    Parameters
    ----------
    corpus : CorpusFolder
        With labels.
    estimator : LinearChainClassifier
        Says how the parts are read and shown: ``edge_columns``, ``dtype`` and ``verbose``.
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

    def __init__(self, corpus: CorpusFolder, estimator: Any, **shape: Any):
        self._corpus, self._estimator = corpus, estimator
        self._spools: dict[str, Spool] = {}
        self._fitted: dict[str, Any] = {}
        self.dtype = np.dtype(float)
        survey = Survey.unite(self._survey(part) for part in self._parts("reading"))
        self.shape: ModelShape = survey.shape(**shape)
        self.weight = survey.weight

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for spool in self._spools.values():
            spool.close()

    def set_fitted(self, estimator: Any) -> None:
        """Set what a classifier learns of the data besides weights."""
        self.shape.set_fitted(estimator, self._fitted)

    def objective(self, criterion: Criterion, sigma: float, n_threads: int) -> ShardedObjective:
        """The objective over all sequences."""
        shards = self._shards(Shard, criterion)

        def evaluate(own_weights: Iterator[np.ndarray]) -> Iterator[tuple[float, np.ndarray]]:
            for shard, own in zip(shards, own_weights, strict=True):
                yield shard.evaluate(own, n_threads)

        return ShardedObjective(_Columns(shards), sigma=sigma, evaluate=evaluate)

    def batches(self, criterion: Criterion, sigma: float, batch_size: int) -> ShardedBatches:
        """The objective for stochastic descent."""
        shards = self._shards(BatchShard, criterion)
        return ShardedBatches(
            shards,
            [shard.sizes(batch_size) for shard in shards],
            n_node_weights=self.shape.terms().n_node_weights,
            precision=sigma**-2.0,
            batch_size=batch_size,
        )

    def corpora(self) -> Spool:
        """The corpus of each shard, an OwnCorpus."""
        return self._spool("corpora", lambda part: own_corpus(part, self.shape, self.dtype))

    def _shards(self, kind: type[Shard], criterion: Criterion) -> "_Stored":
        """All shards of a kind."""

        def make(part: Part) -> Shard:
            return kind.of(part, self.shape, criterion, self.dtype)

        return _Stored(self._spool(kind.__name__, make), criterion)

    def _spool(self, name: str, make: Callable[[Part], Any]) -> Spool:
        """What is made of each part, once."""
        if name not in self._spools:
            spool = self._spools[name] = Spool(self._corpus.folder)
            for part in self._parts("preparing"):
                spool.append(make(part))
        return self._spools[name]

    def _parts(self, what: str) -> Iterator[Part]:
        parts = self._corpus.labelled_parts(what, self._estimator.verbose)
        for number, (X, y) in enumerate(parts):
            try:
                yield read_part(self._estimator, X, y)
            except ValueError as error:
                raise ValueError(f"part {number} of the corpus: {error}") from error

    def _survey(self, part: Part) -> Survey:
        self._fitted, self.dtype = part.fitted, part.corpus.X.dtype
        return Survey.of(part)


class _Stored(Sequence[Any]):
    """The shards in a spool, read whenever they are asked for."""

    def __init__(self, spool: Spool, criterion: Criterion):
        self._spool, self._criterion = spool, criterion

    def __len__(self) -> int:
        return len(self._spool)

    def __getitem__(self, number: Any) -> Any:
        return self._spool[number].with_criterion(self._criterion)


class _Columns:
    """Where the weights of each shard stand."""

    def __init__(self, shards: _Stored):
        self._shards = shards

    def __iter__(self) -> Iterator[OwnColumns]:
        return (shard.columns for shard in self._shards)
