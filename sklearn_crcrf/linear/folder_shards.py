"""The shards of a corpus folder, which are mapped into memory only while they are used."""

import mmap
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from ..criteria import Criterion
from ..out_of_core import CorpusFolder
from .objective import AddParts, Shard, here
from .parts import ModelShape, Part, Survey, read_part

ALIGNMENT = 64


class Spool:
    """A list of objects on disk that only this process reads, and that vanishes with it.

    Parameters
    ----------
    folder : str or path-like
        Where there is room. The file has no name there once it is open, where the system can do
        that, so nothing is left of it even if the process is killed.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> from sklearn_crcrf.linear.folder_shards import Spool
    >>> with tempfile.TemporaryDirectory() as folder, Spool(folder) as spool:
    ...     spool.append({"x": np.arange(3)})
    ...     len(spool), spool[0]
    (1, {'x': array([0, 1, 2])})
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115, the spool closes it
        # Where each object starts, its size, and the slices in it of its state and its arrays.
        self._places: list[tuple[int, int, list[slice]]] = []

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove all objects; arrays that are in use stay."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def append(self, item: Any) -> None:
        """Write an object."""
        buffers: list[pickle.PickleBuffer] = []
        state = pickle.dumps(item, protocol=5, buffer_callback=buffers.append)
        start = _up(self._file.seek(0, os.SEEK_END), mmap.ALLOCATIONGRANULARITY)
        slices, place = [], 0
        for data in (memoryview(state), *(buffer.raw() for buffer in buffers)):
            self._file.seek(start + place)
            self._file.write(data)
            slices.append(slice(place, place + len(data)))
            place = _up(place + len(data), ALIGNMENT)
        self._file.truncate(start + place)
        self._file.flush()
        self._places.append((start, place, slices))

    def __getitem__(self, number: int) -> Any:
        """Read an object; its arrays cannot be written to."""
        start, size, slices = self._places[number]
        mapped = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
        if hasattr(mmap, "MADV_WILLNEED"):
            mapped.madvise(mmap.MADV_WILLNEED)
        state, *arrays = (memoryview(mapped)[piece] for piece in slices)
        return pickle.loads(state, buffers=arrays)


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


class FolderShards:
    """Makes the shards of one model from a corpus folder.

    The shards are made when they are first asked for, and kept in files that vanish at the end of
    this context.

    Parameters
    ----------
    corpus : CorpusFolder
        With labels.
    estimator : classifier
        Says how the parts are read and shown: ``edge_columns``, ``dtype`` and ``verbose``.
    read : callable, default=read_part
        Takes the estimator, X and y, and returns a Part.
    **shape
        The parameters of :meth:`~sklearn_crcrf.linear.parts.Survey.shape`.

    Attributes
    ----------
    shape : ModelShape
    """

    def __init__(
        self,
        corpus: CorpusFolder,
        estimator: Any,
        read: Callable[..., Part] = read_part,
        **shape: Any,
    ):
        self._corpus, self._estimator, self._read = corpus, estimator, read
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
        """Return the shards, each of which is read whenever it is asked for."""
        spool = self._spool(
            "batches" if in_batches else "shards",
            lambda part: self.shape.shard(part, criterion, self.shape.dtype, in_batches),
        )
        return StoredShards(spool, criterion)

    def corpora(self) -> Spool:
        """Return the corpus of each shard, an OwnCorpus."""
        return self._spool("corpora", lambda part: self.shape.own_corpus(part, self.shape.dtype))

    def spool(self) -> Spool:
        """Return an empty spool in the folder, which its user closes."""
        return Spool(self._corpus.folder)

    def _spool(self, name: str, make: Callable[[Part], Any]) -> Spool:
        """Return what is made of each part, once."""
        if name not in self._spools:
            spool = self._spools[name] = self.spool()
            for part in self._parts("preparing"):
                spool.append(make(part))
        return self._spools[name]

    def _parts(self, what: str) -> Iterator[Part]:
        parts = self._corpus.labelled_parts(what, getattr(self._estimator, "verbose", 0))
        for number, (X, y) in enumerate(parts):
            try:
                yield self._read(self._estimator, X, y)
            except ValueError as error:
                raise ValueError(f"part {number} of the corpus: {error}") from error


class StoredShards(Sequence[Shard]):
    """The shards in a spool, read whenever they are asked for."""

    def __init__(self, spool: Spool, criterion: Criterion):
        self._spool, self._criterion = spool, criterion

    def __len__(self) -> int:
        return len(self._spool)

    def __getitem__(self, number: Any) -> Any:
        return self._spool[number].with_criterion(self._criterion)
