"""The tokens of a corpus folder, which are mapped into memory part by part."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...criteria import Criterion
from ...linear.folder_shards import FolderShards, Spool, StoredShards
from ...linear.objective import AddParts, here


class FolderTokens:
    """The tokens of a corpus folder as :class:`~.in_parts.TokensInParts`.

    Parameters
    ----------
    folder : FolderShards
        Keeps the encoded parts.
    """

    at_once = False

    def __init__(self, folder: FolderShards):
        self._folder, self.shape, self._corpora = folder, folder.shape, folder.corpora()
        self.n_units = [own.corpus.structure.n_units for own in self._parts()]

    def collect(
        self, function: Callable, merge: Callable, folds: Sequence[np.ndarray], common: Any
    ) -> Any:
        """Merge the results of one part after another."""
        results = (function(own, it, common) for own, it in zip(self._parts(), folds, strict=True))
        total = next(results)
        for result in results:
            total = merge([total, result])
        return total

    @contextmanager
    def shards(
        self, make: Callable, folds: Sequence[np.ndarray], common: Any, dtype: np.dtype
    ) -> Iterator["_OnDisk"]:
        """Keep shards in a file that vanishes at the end of this context."""
        with self._folder.spool() as spool:
            for own, fold in zip(self._parts(), folds, strict=True):
                shard = make(own, fold, common)
                if shard is not None:
                    spool.append(shard)
            yield _OnDisk(spool)

    def _parts(self) -> Iterator[Any]:
        return (self._corpora[number] for number in range(len(self._corpora)))


class _OnDisk:
    """Shards as the parts of a Problem."""

    def __init__(self, spool: Spool):
        self._spool = spool

    def evaluation(self, criterion: Criterion, n_threads: int) -> AddParts:
        return here(StoredShards(self._spool, criterion), n_threads)
