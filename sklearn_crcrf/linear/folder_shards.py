"""The shards of a corpus folder, one of which is mapped into memory at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from ..criteria import Criterion
from ..out_of_core import CorpusFolder
from .objective import AddParts, Shard, here
from .parts import ModelShape, Part, Survey, read_part
from .spool import Spool

__all__ = ["FolderShards"]


class FolderShards:
    """Makes the shards of one model from a corpus folder.

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
    """

    def __init__(self, corpus: CorpusFolder, estimator: Any, **shape: Any):
        self._corpus, self._estimator = corpus, estimator
        self._spools: dict[str, Spool] = {}
        survey = Survey.unite(Survey.of(part) for part in self._parts("reading"))
        self.shape: ModelShape = survey.shape(**shape)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for spool in self._spools.values():
            spool.close()

    def evaluation(self, criterion: Criterion, n_threads: int) -> AddParts:
        """How an objective evaluates the shards."""
        return here(self.shards(criterion), n_threads)

    def shards(self, criterion: Criterion, in_batches: bool = False) -> Sequence[Shard]:
        """The shards, each of which is read whenever it is asked for."""

        def make(part: Part) -> Shard:
            return self.shape.shard(part, criterion, self.shape.dtype, in_batches)

        return _Stored(self._spool("batches" if in_batches else "shards", make), criterion)

    def corpora(self) -> Spool:
        """The corpus of each shard, an OwnCorpus."""
        return self._spool("corpora", lambda part: self.shape.own_corpus(part, self.shape.dtype))

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


class _Stored(Sequence[Shard]):
    """The shards in a spool, read whenever they are asked for."""

    def __init__(self, spool: Spool, criterion: Criterion):
        self._spool, self._criterion = spool, criterion

    def __len__(self) -> int:
        return len(self._spool)

    def __getitem__(self, number: Any) -> Any:
        return self._spool[number].with_criterion(self._criterion)
