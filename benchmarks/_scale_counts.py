"""What counting in parts costs: against one fit, and for a long text."""

import pickle
import resource
import time
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from _common import cpu_seconds, in_fresh_process  # before numpy

# isort: split
from _repeated_brown import repeated_brown

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.counts import count, finish, merge
from sklearn_crcrf.datasets import fetch_brown

__all__ = ["InParts", "LongText", "in_parts", "long_text"]


class InParts(NamedTuple):
    """CPU seconds of one fit and of each step of the same fit in parts, and bytes.

    Parameters
    ----------
    one_fit, counting, merging, estimating : float
        CPU seconds.
    parts, merged : int
        Bytes of all pickled parts, and of the pickled result.
    compressed_parts, compressed_merged : int
        The same, compressed by zlib at its fastest.
    is_equal : bool
        Whether one fit has the same counts.
    """

    one_fit: float
    counting: float
    merging: float
    estimating: float
    parts: int
    merged: int
    compressed_parts: int
    compressed_merged: int
    is_equal: bool

    @property
    def ratio(self) -> float:
        """CPU of all steps over the CPU of one fit."""
        return (self.counting + self.merging + self.estimating) / self.one_fit


def in_parts(n_parts: int = 20, runs: int = 3) -> InParts:
    """Fit to Brown at once and in parts that know nothing of each other."""
    X, y = fetch_brown(return_X_y=True)
    cuts = [len(X) * k // n_parts for k in range(n_parts + 1)]
    pieces = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    crf = EmpiricalCRF()
    one_fit, fitted = cpu_seconds(lambda: EmpiricalCRF().fit(X, y), runs)
    counting, parts = cpu_seconds(lambda: [count(crf, *piece) for piece in pieces], runs)
    merging, whole = cpu_seconds(lambda: merge(*parts), runs)
    estimating, _ = cpu_seconds(lambda: finish(crf, whole), runs)
    stored = [pickle.dumps(part, 5) for part in parts]
    merged = pickle.dumps(whole, 5)
    sizes = sum(map(len, stored)), len(merged)
    compressed = sum(len(zlib.compress(part, 1)) for part in stored), len(zlib.compress(merged, 1))
    seconds = one_fit, counting, merging, estimating
    return InParts(*seconds, *sizes, *compressed, whole.counts == fitted.counts_)


class LongText(NamedTuple):
    """The cost of ``fit_parts`` for a long text.

    Parameters
    ----------
    n_tokens, n_events : int
    seconds : float
        CPU seconds of counting and estimating, without reading the text.
    counting_peak, peak : int
        The most memory that the process had while it counted, and at all, in bytes.
    """

    n_tokens: int
    n_events: int
    seconds: float
    counting_peak: int
    peak: int


def long_text(n_tokens: int = 10_000_000, **params: Any) -> LongText:
    """Fit to a long text part by part; to be called in a fresh process.

    Parameters
    ----------
    n_tokens : int
    **params
        Parameters of EmpiricalCRF.

    Returns
    -------
    LongText
    """
    with TemporaryDirectory() as folder:
        in_fresh_process(_write, folder, n_tokens)
        reader = _Reader(Path(folder))
        start = time.process_time()
        crf = EmpiricalCRF(**params).fit_parts(reader)
        seconds = time.process_time() - start - reader.seconds
    return LongText(n_tokens, crf.counts_.n_events, seconds, reader.peak, _peak())


def _write(folder: str, n_tokens: int) -> None:
    """Write the parts of the text, so that the process that counts them has none of it."""
    for number, part in enumerate(repeated_brown(n_tokens)):
        with open(Path(folder, f"{number:06d}"), "wb") as file:
            pickle.dump(part, file, 5)


class _Reader:
    """Reads the parts, and has the CPU time of this, and the peak of memory when all are read."""

    def __init__(self, folder: Path):
        self._folder, self.seconds, self.peak = folder, 0.0, 0

    def __iter__(self) -> Iterator:
        for path in sorted(self._folder.iterdir()):
            start = time.process_time()
            part = pickle.loads(path.read_bytes())
            self.seconds += time.process_time() - start
            yield part
            self.peak = _peak()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
